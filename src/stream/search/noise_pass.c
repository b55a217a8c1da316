#include "stream/search/noise_pass.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/select.h"
#include "resume/stop.h"
#include "stream/search/mask.h"

#include <math.h>

/* Most blocks in progress at a time. */
enum { MOST_DEPTH = 4 };

struct lw_noise_pass lw_noise_pass_of(const struct lw_job *job, const struct lw_engine *engine, const struct lw_plan *plan,
                                      int n_ranks)
{
    return (struct lw_noise_pass){
        .job = job, .engine = engine, .n_ranks = n_ranks, .run = plan, .plan = *plan,
        .depth = (int)lw_min64(MOST_DEPTH, plan->depth),
    };
}

void lw_noise_plain_series(struct lw_noise_pass *pass)
{
    const struct lw_search series = {.products = LW_FILTERED};
    struct lw_op_spec *const spec = &pass->spec;
    *spec = pass->job->op;
    spec->output = (struct lw_type){
        .scalar = lw_computed_scalar(spec->precision), .is_complex = lw_op_is_complex(spec),
    };
    spec->output_scale = 0;
    switch (spec->kind) {
    case LW_OP_OLS:
        spec->ols.post = (struct lw_post){.kind = LW_POST_NONE};
        spec->ols.search = series;
        spec->ols.shape = &pass->run->op.beams;
        break;
    case LW_OP_CONV2D:
        spec->conv2d.every = 1;
        spec->conv2d.search = series;
        break;
    case LW_OP_SFFT:
    case LW_OP_ACCEL:
        break;
    }
}

int64_t lw_noise_pass_rows(const struct lw_noise_pass *pass)
{
    return lw_divide_up(pass->blocks.count, pass->n_ranks) * pass->pieces;
}

int64_t lw_noise_pass_pairs(const struct lw_noise_pass *pass, int64_t n_channels)
{
    return n_channels * lw_op_filters(&pass->spec);
}

static int64_t n_values(const struct lw_noise_pass *pass, int64_t n_channels)
{
    return lw_noise_pass_rows(pass) * lw_noise_pass_pairs(pass, n_channels);
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* Return the run's plan with room for the pass: blocks may be longer than slices, with more channels if the engine pairs them. */
static struct lw_plan plan_of(const struct lw_noise_pass *pass)
{
    struct lw_plan plan = pass->plan;
    plan.rounds.slice = lw_max64(plan.rounds.slice, pass->blocks.length);
    plan.rounds.group = lw_max64(plan.rounds.group, pass->group);
    return plan;
}

static struct lw_view_spec view_of(const struct lw_noise_pass *pass, const struct lw_plan *plan)
{
    struct lw_view_spec view = lw_plan_view(plan, pass->job);
    view.max_axis = lw_max64(view.max_axis, pass->plan.op.halo + pass->blocks.length);
    return view;
}

static int64_t largest_block(const struct lw_noise_pass *pass) { return lw_min64(pass->blocks.length, pass->job->n_outputs); }

struct lw_bytes lw_noise_pass_bytes(const struct lw_noise_pass *pass, const struct lw_reader *reader, const struct lw_reader *map,
                                    const struct lw_mask *mask, const struct lw_plan *run)
{
    const struct lw_plan plan = plan_of(pass);
    const struct lw_view_spec view = view_of(pass, &plan), its = lw_plan_view(run, pass->job);
    struct lw_bytes bytes = pass->engine->ops->op_bytes(pass->engine, &pass->spec, &pass->plan.op, largest_block(pass), pass->group,
                                                        pass->depth);
    bytes.host += (1 + pass->n_ranks) * n_values(pass, pass->group) * (int64_t)sizeof(double);
    bytes.host += lw_max64(0, lw_reader_bytes(reader, &view) - lw_reader_bytes(reader, &its));
    bytes.host += lw_max64(0, lw_mask_bytes(mask, pass->job, &plan) - lw_mask_bytes(mask, pass->job, run));
    bytes.host += lw_max64(0, lw_map_bytes(map, pass->job, &plan) - lw_map_bytes(map, pass->job, run));
    return bytes;
}

/* ---- lifecycle ----------------------------------------------------------------------------------------------------- */

int lw_noise_pass_take(struct lw_noise_pass *pass, struct lw_setup *setup, int64_t first, struct lw_error *err)
{
    struct lw_ols_spec *const ols = &pass->spec.ols;
    if (pass->spec.kind == LW_OP_OLS && pass->job->op.ols.stacks) {    /* the pass numbers its filters from 0 */
        const struct lw_shifts *const all = pass->job->op.ols.stacks;
        const int64_t skipped = first * all->n_inputs;
        pass->stacks = *all;
        pass->stacks.n -= first;
        pass->stacks.delays += skipped;
        pass->stacks.weights = all->weights ? all->weights + skipped : NULL;
        ols->stacks = &pass->stacks;
    }
    return pass->spec.kind == LW_OP_OLS ? lw_job_take_filters(&setup->job, first, ols->n_filters, &ols->taps, err) : LW_OK;
}

int lw_noise_pass_open(struct lw_noise_pass *pass, struct lw_setup *setup, struct lw_error *err)
{
    const struct lw_plan plan = plan_of(pass);
    const struct lw_view_spec view = view_of(pass, &plan);
    const struct lw_window_spec window = lw_plan_window(&plan, pass->job, setup->reader);
    const int64_t n = n_values(pass, pass->group);
    int rc;
    if (!(pass->mine = lw_alloc_array(n, sizeof *pass->mine, "the noise of pieces", err)) ||
        (lw_comm_rank(setup->comm) == 0 &&
         !(pass->all = lw_alloc_array(pass->n_ranks * n, sizeof *pass->all, "the noise of pieces", err))))
        return LW_ESYSTEM;
    if ((rc = lw_reader_select(setup->reader, &view, err)) || (rc = lw_window_create(&window, &pass->window, err)) ||
        (rc = lw_map_create(setup->map, pass->job, &plan, &pass->map, err)) ||
        (rc = setup->mask ? lw_mask_start(setup->mask, pass->job, &plan, err) : LW_OK))
        return rc;
    return lw_pipeline_create(setup->engine, &pass->spec, &pass->plan.op, largest_block(pass), pass->group, pass->depth,
                              &pass->pipeline, err);
}

void lw_noise_pass_close(struct lw_noise_pass *pass)
{
    lw_map_destroy(pass->map);
    lw_pipeline_destroy(pass->pipeline);
    lw_window_destroy(pass->window);
    lw_free(pass->mine);
    lw_free(pass->all);
    pass->pipeline = NULL;
    pass->window = NULL;
    pass->map = NULL;
    pass->mine = pass->all = NULL;
}

/* ---- blocks -------------------------------------------------------------------------------------------------------- */

struct reading {
    struct lw_slot *slot;
    struct lw_block block;
    struct lw_window_part part;
};

static int begin_block(struct lw_noise_pass *pass, int64_t k, int64_t channel, int64_t n_channels, struct reading *reading,
                       struct lw_error *err)
{
    const struct lw_job *const job = pass->job;
    const struct lw_op_plan *const op = &pass->plan.op;
    const struct lw_noise_blocks *const b = &pass->blocks;
    const int64_t place = b->step > 0 ? b->first + k * b->step : (2 * k + 1) * b->all / (2 * b->count);
    const int64_t first = b->begin + place * b->length, count = lw_min64(b->length, job->n_outputs - first);
    const int64_t ahead = job->look_ahead + op->after, halo = op->halo;
    reading->block = (struct lw_block){.first = first, .count = count, .channel = channel, .n_channels = n_channels};
    reading->slot = lw_pipeline_acquire(pass->pipeline);
    reading->part = (struct lw_window_part){.begin = first + ahead - halo, .end = first + count + ahead,
                                            .into = reading->slot->input, .into_axis = halo + count};
    lw_window_take_channels(&job->op, &reading->block, &reading->part);
    const int rc = lw_window_begin(pass->window, &reading->part, err);
    return rc ? rc : lw_map_begin(pass->map, &reading->part, reading->slot->map, err);
}

static int collect_block(struct lw_noise_pass *pass, lw_noise_take_fn *take, void *context, struct lw_error *err)
{
    struct lw_slot *slot;
    int rc = lw_pipeline_collect(pass->pipeline, &slot, err);
    if (rc)
        return rc;
    rc = take(context, slot, lw_pipeline_number(pass->pipeline, slot), err);
    lw_pipeline_release(pass->pipeline, slot);
    return rc;
}

static int make_blocks(struct lw_noise_pass *pass, struct lw_setup *setup, int64_t channel, int64_t n_channels,
                       lw_noise_take_fn *take, void *context, struct lw_error *err)
{
    struct reading reading;
    int rc = LW_OK;
    for (int64_t k = lw_comm_rank(setup->comm); rc == LW_OK && k < pass->blocks.count; k += pass->n_ranks) {
        if (lw_pipeline_is_full(pass->pipeline))
            rc = collect_block(pass, take, context, err);
        rc = rc ? rc : lw_stop_check(err);
        rc = rc ? rc : begin_block(pass, k, channel, n_channels, &reading, err);
        if (rc == LW_OK && lw_pipeline_submitted(pass->pipeline) > 0 && lw_pipeline_is_full(pass->pipeline))
            rc = collect_block(pass, take, context, err);
        rc = rc ? rc : lw_window_end(pass->window, err);
        rc = rc ? rc : lw_map_end(pass->map, err);
        if (rc == LW_OK && setup->mask)
            rc = lw_mask_apply(setup->mask, lw_pipeline_number(pass->pipeline, reading.slot), &reading.part, err);
        rc = rc ? rc : lw_pipeline_submit(pass->pipeline, reading.slot, &reading.block, err);
    }
    while (rc == LW_OK && lw_pipeline_submitted(pass->pipeline) > 0)
        rc = collect_block(pass, take, context, err);
    return rc;
}

int lw_noise_pass_go(struct lw_noise_pass *pass, struct lw_setup *setup, int64_t channel, int64_t n_channels,
                     lw_noise_take_fn *take, void *context, struct lw_error *err)
{
    const int64_t n = n_values(pass, n_channels);
    for (int64_t i = 0; i < n; i++)
        pass->mine[i] = -1;
    const int rc = lw_comm_agree(setup->comm, make_blocks(pass, setup, channel, n_channels, take, context, err), err);
    if (rc == LW_OK)
        lw_comm_gather(setup->comm, pass->mine, (int)n, pass->all);
    return rc;
}

/* ---- medians ------------------------------------------------------------------------------------------------------- */

double lw_noise_pass_median(const struct lw_noise_pass *pass, int64_t n_channels, int64_t pair, double *values, int64_t *n)
{
    const int64_t pairs = lw_noise_pass_pairs(pass, n_channels), rows = pass->n_ranks * lw_noise_pass_rows(pass);
    *n = 0;
    for (int64_t row = 0; row < rows; row++) {
        const double value = pass->all[row * pairs + pair];
        if (value >= 0 && isfinite(value))
            values[(*n)++] = value;
    }
    return *n > 0 ? (lw_select(values, *n, (*n - 1) / 2) + lw_select(values, *n, *n / 2)) / 2 : 0;
}
