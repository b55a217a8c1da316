#include "run/search/noise.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "run/pipeline.h"
#include "run/resume/stop.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Blocks on their way at a time, at most: together no more than a slice of the run. */
enum { MOST_DEPTH = 4 };

/* Outputs of one, of all filters and channels, that an engine may have to keep. */
#define MOST_OUTPUTS ((int64_t)1 << 25)

/* ---- which segments ------------------------------------------------------------------------------------------------ */

/* Blocks `first`, `first + step`, ... of the axis: segments of the grid, or runs of them. */
struct sample {
    int64_t unit;               /* outputs of one; fewer where the axis is shorter */
    int64_t first, step, count;
    int64_t pieces;             /* with a root mean square of its own: segments, or parts of an image's rows */
    int64_t columns;            /* of such a part */
};

static bool has_pixels(const struct lw_job *job) { return job->op.kind == LW_OP_CONV2D; }

/* Segments of a run. Long ones keep an engine busy one by one. */
static int64_t run_of(const struct lw_job *job, int64_t unit)
{
    const bool is_long = job->n_outputs / unit >= (int64_t)LW_NOISE_ONE_IN * LW_NOISE_RUN * LW_NOISE_RUN;
    return !has_pixels(job) && is_long && unit * lw_op_filters(&job->op) <= LW_NOISE_RUN_OUTPUTS ? LW_NOISE_RUN : 1;
}

static void choose_blocks(const struct lw_job *job, int64_t least, struct sample *sample)
{
    enum { MIDDLE = LW_NOISE_ONE_IN / 2 };
    const int64_t all = job->n_outputs / sample->unit, values = job->op.n_channels * lw_op_filters(&job->op) * sample->pieces;
    const int64_t most = min64(LW_NOISE_MOST / sample->pieces, max64(least, LW_NOISE_VALUES / values));
    if (all > MIDDLE) {
        const int64_t few = (all - MIDDLE - 1) / LW_NOISE_ONE_IN + 1;
        sample->first = MIDDLE;
        sample->step = LW_NOISE_ONE_IN * divide_up(few, most);
        sample->count = (all - MIDDLE - 1) / sample->step + 1;
    } else {
        sample->unit = min64(sample->unit, job->n_outputs);
        sample->first = all / 2;
        sample->step = sample->count = 1;
    }
}

static struct sample choose_segments(const struct lw_job *job, int64_t unit)
{
    const int64_t run = run_of(job, unit);
    struct sample sample = {.unit = run * unit, .pieces = run};
    if (has_pixels(job)) {
        const int64_t width = job->op.conv2d.output_columns;
        sample.columns = max64(LW_NOISE_COLUMNS, divide_up(width, LW_NOISE_PIECES));
        sample.pieces = max64(1, width / sample.columns);
    }
    choose_blocks(job, LW_NOISE_LEAST / run, &sample);
    return sample;
}

/* Blocks that one rank takes at most: every n_ranks-th. */
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
    double *mine;               /* [most_of_rank][pieces][group x filters]; -1: no value */
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
    return (1 + n_ranks) * most_of_rank(&sample, n_ranks) * sample.pieces * n_channels * lw_op_filters(&job->op) * (int64_t)sizeof(double);
}

static int64_t n_values(const struct pass *pass, int64_t n_channels) { return n_channels * lw_op_filters(&pass->spec); }

/* Values of each kind that a rank has at most. */
static int64_t rows_of_rank(const struct pass *pass)
{
    return most_of_rank(&pass->sample, lw_comm_size(pass->setup->comm)) * pass->sample.pieces;
}

static bool is_image(const struct pass *pass) { return has_pixels(&pass->setup->job); }

/* Segments of a signal come as their root mean squares, those of an image as they are. */
static void make_segments(struct pass *pass, int64_t unit)
{
    struct lw_op_spec *const spec = &pass->spec;
    spec->output = (struct lw_type){
        .scalar = spec->precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64,
        .is_complex = spec->input.is_complex || (is_image(pass) ? spec->conv2d.kernel_complex : spec->ols.taps_complex),
    };
    spec->output_scale = 0;
    if (is_image(pass)) {
        spec->conv2d.every = 1;
        spec->conv2d.search = (struct lw_search){.products = LW_FILTERED};
    } else {
        spec->ols.post = (struct lw_post){.kind = LW_POST_NONE};
        spec->ols.search = (struct lw_search){.products = LW_BLOCKS, .every = unit, .values = LW_BLOCK_RMS};
    }
}

static int plan_pass(struct pass *pass, const struct lw_plan *plan, struct lw_error *err)
{
    const struct lw_engine *const engine = pass->setup->engine;
    pass->spec = pass->setup->job.op;
    make_segments(pass, plan->op.unit);
    pass->sample = choose_segments(&pass->setup->job, plan->op.unit);
    const int64_t most = MOST_OUTPUTS / (pass->sample.unit * lw_op_filters(&pass->spec)) / plan->op.channel_unit;
    pass->group = min64(plan->rounds.group, is_image(pass) ? 1 : max64(1, most) * plan->op.channel_unit);
    return engine->ops->op_plan(engine, &pass->spec, &pass->op, err);
}

static int open_pass(struct pass *pass, const struct lw_plan *plan, struct lw_error *err)
{
    struct lw_setup *const setup = pass->setup;
    int rc = plan_pass(pass, plan, err);
    if (rc)
        return rc;
    const int64_t values = n_values(pass, pass->group), each = rows_of_rank(pass);
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
    const int64_t depth = min64(min64(MOST_DEPTH, plan->depth), max64(1, plan->rounds.slice / pass->sample.unit));
    return lw_pipeline_create(setup->engine, &pass->spec, &pass->op, pass->sample.unit, pass->group, (int)depth, &pass->pipeline, err);
}

static void close_pass(struct pass *pass)
{
    lw_pipeline_destroy(pass->pipeline);
    lw_window_destroy(pass->window);
    lw_free(pass->mine);
    lw_free(pass->all);
}

/* [piece][channel][filter] of the block's product, [filter][channel][piece] or, time slow, [filter][piece][channel]. */
static void take_values(const struct pass *pass, const struct lw_slot *slot, double *values)
{
    const int64_t n_channels = slot->block.n_channels, n_filters = lw_op_filters(&pass->spec), pieces = pass->sample.pieces;
    const bool is_slow = pass->spec.layout == LW_TIME_SLOW;
    const int64_t channel_step = is_slow ? 1 : pieces, piece_step = is_slow ? n_channels : 1;
    for (int64_t piece = 0; piece < pieces; piece++)
        for (int64_t c = 0; c < n_channels; c++)
            for (int64_t f = 0; f < n_filters; f++)
                *values++ = lw_type_number(pass->op.products[0].type, slot->products[0].data,
                                           f * n_channels * pieces + c * channel_step + piece * piece_step);
}

/* Of the slot's image, rows of which have `width` numbers: columns `first` to before `end`. */
static double piece_rms(const struct lw_slot *slot, struct lw_type type, int64_t image, int64_t width, int64_t first, int64_t end)
{
    const int64_t rows = slot->block.count;
    double sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t at = (image * rows + row) * width;
        for (int64_t i = at + first; i < at + end; i++) {
            const double value = lw_type_number(type, slot->products[0].data, i);
            sum += value * value;
        }
    }
    const int64_t numbers = rows * (end - first);
    return sqrt(sum / (double)(type.is_complex ? numbers / 2 : numbers));
}

/* [piece][image] */
static void take_pieces(const struct pass *pass, const struct lw_slot *slot, double *values)
{
    const struct lw_type type = pass->op.products[0].type;
    const int64_t parts = type.is_complex ? 2 : 1, width = pass->spec.conv2d.output_columns * parts;
    const int64_t columns = min64(pass->sample.columns * parts, width);
    for (int64_t piece = 0; piece < pass->sample.pieces; piece++)
        for (int64_t image = 0; image < slot->block.n_channels; image++)
            values[piece * slot->block.n_channels + image] = piece_rms(slot, type, image, width, piece * columns, (piece + 1) * columns);
}

/* Segment number i of those that this rank takes; the grid may have fewer. */
static int64_t number_of(const struct pass *pass, int64_t i)
{
    return i * lw_comm_size(pass->setup->comm) + lw_comm_rank(pass->setup->comm);
}

/* A segment that is being read. */
struct reading {
    struct lw_slot *slot;
    struct lw_block block;
    struct lw_window_part part;
};

static int begin_segment(struct pass *pass, int64_t i, int64_t channel, int64_t n_channels, struct reading *reading, struct lw_error *err)
{
    const int64_t first = (pass->sample.first + number_of(pass, i) * pass->sample.step) * pass->sample.unit;
    const int64_t ahead = pass->setup->job.look_ahead + pass->op.after, halo = pass->op.halo;
    reading->block = (struct lw_block){.first = first, .count = pass->sample.unit, .channel = channel, .n_channels = n_channels};
    reading->slot = lw_pipeline_acquire(pass->pipeline);
    reading->part = (struct lw_window_part){
        .begin = first + ahead - halo, .end = first + pass->sample.unit + ahead, .channel = channel, .n_channels = n_channels,
        .into = reading->slot->input, .into_axis = halo + pass->sample.unit,
    };
    return lw_window_begin(pass->window, &reading->part, err);
}

static int submit_segment(struct pass *pass, struct reading *reading, struct lw_error *err)
{
    struct lw_mask *const mask = pass->setup->mask;
    int rc;
    if ((rc = lw_window_end(pass->window, err)) ||
        (rc = mask ? lw_mask_apply(mask, lw_pipeline_number(pass->pipeline, reading->slot), &reading->part, err) : LW_OK))
        return rc;
    return lw_pipeline_submit(pass->pipeline, reading->slot, &reading->block, err);
}

/* The root mean squares of the oldest segment's pieces, [piece][channel][filter], to *next, which moves on by `each`. */
static int collect_segment(struct pass *pass, double **next, int64_t each, struct lw_error *err)
{
    struct lw_slot *slot;
    const int rc = lw_pipeline_collect(pass->pipeline, &slot, err);
    if (rc)
        return rc;
    if (is_image(pass))
        take_pieces(pass, slot, *next);
    else
        take_values(pass, slot, *next);
    *next += each;
    lw_pipeline_release(pass->pipeline, slot);
    return LW_OK;
}

/* A segment is read while those before it are computed. */
static int take_own(struct pass *pass, int64_t channel, int64_t n_channels, struct lw_error *err)
{
    const int64_t values = n_values(pass, n_channels), each = pass->sample.pieces * values;
    double *next = pass->mine;
    struct reading reading;
    int rc = LW_OK;
    for (int64_t i = 0; i < rows_of_rank(pass) * values; i++)
        pass->mine[i] = -1;
    for (int64_t i = 0; rc == LW_OK && number_of(pass, i) < pass->sample.count; i++) {
        if ((rc = lw_stop_check(err)) ||
            (lw_pipeline_is_full(pass->pipeline) && (rc = collect_segment(pass, &next, each, err))))
            return rc;
        rc = begin_segment(pass, i, channel, n_channels, &reading, err);
        if (rc == LW_OK && lw_pipeline_submitted(pass->pipeline) > 0 && lw_pipeline_is_full(pass->pipeline))
            rc = collect_segment(pass, &next, each, err);
        rc = rc ? rc : submit_segment(pass, &reading, err);
    }
    while (rc == LW_OK && lw_pipeline_submitted(pass->pipeline) > 0)
        rc = collect_segment(pass, &next, each, err);
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
    const int64_t rows = lw_comm_size(pass->setup->comm) * rows_of_rank(pass);
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
    const int64_t each = rows_of_rank(pass) * n_values(pass, n_channels);
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
    const int64_t n = n_values(pass, job->op.n_channels), run = is_image(pass) ? 1 : pass->sample.pieces;
    const int64_t n_segments = pass->sample.count * run;
    double least = job->noise[0], most = job->noise[0];
    for (int64_t i = 0; i < n; i++) {
        least = fmin(least, job->noise[i]);
        most = fmax(most, job->noise[i]);
    }
    lw_log_info("the noise is %.6g to %.6g, measured in %" PRId64 " segment%s of %" PRId64 " outputs in %.3g s", least, most,
                n_segments, n_segments == 1 ? "" : "s", pass->sample.unit / run, seconds);
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
