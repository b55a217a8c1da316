#include "run/search/noise.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "run/pipeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- which segments ------------------------------------------------------------------------------------------------ */

/* Segments `first`, `first + step`, ... of the grid. */
struct sample {
    int64_t unit;               /* outputs of one; fewer where the axis is shorter */
    int64_t first, step, count;
};

static struct sample choose_segments(const struct lw_job *job, int64_t unit)
{
    const int64_t values = job->op.n_channels * job->op.ols.n_filters, all = job->n_outputs / unit;
    const int64_t most = min64(LW_NOISE_MOST, max64(LW_NOISE_LEAST, LW_NOISE_VALUES / values));
    if (all <= LW_NOISE_ONE_IN / 2)
        return (struct sample){min64(unit, job->n_outputs), all / 2, 1, 1};
    const int64_t few = (all - LW_NOISE_ONE_IN / 2 - 1) / LW_NOISE_ONE_IN + 1;
    const int64_t step = LW_NOISE_ONE_IN * divide_up(few, most);
    return (struct sample){unit, LW_NOISE_ONE_IN / 2, step, (all - LW_NOISE_ONE_IN / 2 - 1) / step + 1};
}

/* Segments that one rank takes at most: every n_ranks-th. */
static int64_t most_of_rank(const struct sample *sample, int n_ranks) { return divide_up(sample->count, n_ranks); }

/* ---- the pass ------------------------------------------------------------------------------------------------------ */

struct pass {
    struct lw_setup *setup;
    struct lw_op_spec spec;     /* the job's, but that it makes root mean squares of segments */
    struct lw_op_plan op;
    struct sample sample;
    int64_t group;              /* channels at a time, at most */
    struct lw_window *window;
    struct lw_pipeline *pipeline;
    double *mine;               /* [most_of_rank][group x filters]; -1: no value */
    double *all;                /* rank 0: those of all ranks */
};

bool lw_noise_is_measured(const struct lw_job *job)
{
    return job->noise && job->search.noise == LW_NOISE_MEASURED;
}

int64_t lw_noise_bytes(const struct lw_job *job, const struct lw_op_plan *op, int64_t n_channels, int n_ranks)
{
    if (!lw_noise_is_measured(job))
        return 0;
    const struct sample sample = choose_segments(job, op->unit);
    return (1 + n_ranks) * most_of_rank(&sample, n_ranks) * n_channels * job->op.ols.n_filters * (int64_t)sizeof(double);
}

static int64_t n_values(const struct pass *pass, int64_t n_channels) { return n_channels * pass->spec.ols.n_filters; }

static int plan_pass(struct pass *pass, const struct lw_plan *plan, struct lw_error *err)
{
    const struct lw_engine *const engine = pass->setup->engine;
    pass->spec = pass->setup->job.op;
    pass->spec.output = (struct lw_type){
        .scalar = pass->spec.precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64,
        .is_complex = pass->spec.input.is_complex || pass->spec.ols.taps_complex,
    };
    pass->spec.output_scale = 0;
    pass->spec.ols.post = (struct lw_post){.kind = LW_POST_NONE};
    pass->spec.ols.search = (struct lw_search){.products = LW_BLOCKS, .every = plan->op.unit, .values = LW_BLOCK_RMS};
    pass->sample = choose_segments(&pass->setup->job, plan->op.unit);
    pass->group = plan->rounds.group;
    return engine->ops->op_plan(engine, &pass->spec, &pass->op, err);
}

static int open_pass(struct pass *pass, const struct lw_plan *plan, struct lw_error *err)
{
    struct lw_setup *const setup = pass->setup;
    int rc = plan_pass(pass, plan, err);
    if (rc)
        return rc;
    const int64_t values = n_values(pass, pass->group), each = most_of_rank(&pass->sample, lw_comm_size(setup->comm));
    struct lw_plan its = *plan;         /* the same rounds, and another operation */
    its.op = pass->op;
    struct lw_view_spec view = lw_plan_view(&its, &setup->job);
    view.max_axis = max64(view.max_axis, pass->op.halo + pass->sample.unit);
    const struct lw_window_spec window = lw_plan_window(&its, &setup->job, setup->reader);
    if (!(pass->mine = lw_alloc_array(each * values, sizeof *pass->mine, "the noise of segments", err)) ||
        (lw_comm_rank(setup->comm) == 0 &&
         !(pass->all = lw_alloc_array(lw_comm_size(setup->comm) * each * values, sizeof *pass->all, "the noise of segments", err))))
        return LW_ESYSTEM;
    if ((rc = lw_reader_select(setup->reader, &view, err)) || (rc = lw_window_create(&window, &pass->window, err)) ||
        (rc = setup->mask ? lw_mask_start(setup->mask, &setup->job, &its, err) : LW_OK))
        return rc;
    return lw_pipeline_create(setup->engine, &pass->spec, &pass->op, pass->sample.unit, pass->group, 1, &pass->pipeline, err);
}

static void close_pass(struct pass *pass)
{
    lw_pipeline_destroy(pass->pipeline);
    lw_window_destroy(pass->window);
    lw_free(pass->mine);
    lw_free(pass->all);
}

/* Value number i of a product [filter][channel] of one output. */
static double value_of(const struct lw_slot *slot, struct lw_type type, int64_t filter, int64_t channel)
{
    return lw_type_number(type, slot->products[0].data, filter * slot->block.n_channels + channel);
}

/* One segment of some channels: their root mean squares, [channel][filter]. */
static int take_segment(struct pass *pass, int64_t segment, int64_t channel, int64_t n_channels, double *values,
                        struct lw_error *err)
{
    const struct lw_job *const job = &pass->setup->job;
    const int64_t first = segment * pass->sample.unit, end = first + pass->sample.unit;
    const int64_t ahead = job->look_ahead + pass->op.after, halo = pass->op.halo;
    const struct lw_block block = {.first = first, .count = end - first, .channel = channel, .n_channels = n_channels};
    struct lw_slot *slot = lw_pipeline_acquire(pass->pipeline);
    const struct lw_window_part part = {
        .begin = first + ahead - halo, .end = end + ahead, .channel = channel, .n_channels = n_channels,
        .into = slot->input, .into_axis = halo + block.count,
    };
    int rc;
    if ((rc = lw_window_read(pass->window, &part, err)) ||
        (rc = pass->setup->mask ? lw_mask_apply(pass->setup->mask, 0, &part, err) : LW_OK) ||
        (rc = lw_pipeline_submit(pass->pipeline, slot, &block, err)) ||
        (rc = lw_pipeline_collect(pass->pipeline, &slot, err)))
        return rc;
    for (int64_t c = 0; c < n_channels; c++)
        for (int64_t f = 0; f < pass->spec.ols.n_filters; f++)
            values[n_values(pass, c) + f] = value_of(slot, pass->op.products[0].type, f, c);
    lw_pipeline_release(pass->pipeline, slot);
    return LW_OK;
}

static int take_own(struct pass *pass, int64_t channel, int64_t n_channels, struct lw_error *err)
{
    struct lw_comm *const comm = pass->setup->comm;
    const int64_t values = n_values(pass, n_channels), each = most_of_rank(&pass->sample, lw_comm_size(comm));
    int rc = LW_OK;
    for (int64_t i = 0; i < each * values; i++)
        pass->mine[i] = -1;
    for (int64_t i = 0; i < each && rc == LW_OK; i++) {
        const int64_t number = i * lw_comm_size(comm) + lw_comm_rank(comm);
        if (number < pass->sample.count)
            rc = take_segment(pass, pass->sample.first + number * pass->sample.step, channel, n_channels,
                              pass->mine + i * values, err);
    }
    return rc;
}

/* ---- medians ------------------------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, int64_t n)
{
    if (n == 0)
        return 0;
    qsort(values, (size_t)n, sizeof *values, compare);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* On rank 0, of the group's channels and all filters. */
static void find_medians(struct pass *pass, int64_t channel, int64_t n_channels)
{
    const int64_t values = n_values(pass, n_channels);
    const int64_t rows = lw_comm_size(pass->setup->comm) * most_of_rank(&pass->sample, lw_comm_size(pass->setup->comm));
    double *const noise = pass->setup->job.noise + n_values(pass, channel);
    double sorted[LW_NOISE_MOST];
    for (int64_t i = 0; i < values; i++) {
        int64_t n = 0;
        for (int64_t row = 0; row < rows; row++) {
            const double value = pass->all[row * values + i];
            if (value >= 0 && isfinite(value))
                sorted[n++] = value;
        }
        noise[i] = median(sorted, n);
    }
}

static int measure_group(struct pass *pass, int64_t channel, int64_t n_channels, struct lw_error *err)
{
    struct lw_comm *const comm = pass->setup->comm;
    const int64_t each = most_of_rank(&pass->sample, lw_comm_size(comm)) * n_values(pass, n_channels);
    const int rc = lw_comm_agree(comm, take_own(pass, channel, n_channels, err), err);
    if (rc)
        return rc;
    lw_comm_gather(comm, pass->mine, (int)each, pass->all);
    if (lw_comm_rank(comm) == 0)
        find_medians(pass, channel, n_channels);
    return LW_OK;
}

/* ---- all ------------------------------------------------------------------------------------------------------------ */

static void tell(const struct pass *pass, double seconds)
{
    const struct lw_job *const job = &pass->setup->job;
    const int64_t n = n_values(pass, job->op.n_channels);
    double least = job->noise[0], most = job->noise[0];
    for (int64_t i = 0; i < n; i++) {
        least = fmin(least, job->noise[i]);
        most = fmax(most, job->noise[i]);
    }
    lw_log_info("the noise is %.6g to %.6g, measured in %" PRId64 " segment%s of %" PRId64 " outputs in %.3g s", least, most,
                pass->sample.count, pass->sample.count == 1 ? "" : "s", pass->sample.unit, seconds);
}

int lw_noise_measure(struct lw_setup *setup, const struct lw_plan *plan, struct lw_error *err)
{
    struct pass pass = {.setup = setup};
    struct lw_job *const job = &setup->job;
    const double start = lw_now();
    int rc = lw_comm_agree(setup->comm, open_pass(&pass, plan, err), err);
    for (int64_t channel = 0; channel < job->op.n_channels && rc == LW_OK; channel += pass.group)
        rc = measure_group(&pass, channel, min64(pass.group, job->op.n_channels - channel), err);
    if (rc == LW_OK) {
        lw_comm_broadcast(setup->comm, job->noise, n_values(&pass, job->op.n_channels) * (int64_t)sizeof *job->noise);
        tell(&pass, lw_now() - start);
    }
    close_pass(&pass);
    return rc;
}
