/* noise_rms.c - --noise rms: the median of the root mean squares of |y| in segments.
 *
 * A segment is a grid unit of outputs. One in 16 of the whole segments is used: number 8, 24, 40, ... With fewer than 9 whole
 * segments only the middle one is used; with none, the partial segment.
 *
 * A long signal is used in runs of RUN consecutive segments: runs 8, 24, 40, ... A signal is long if it has at least ONE_IN RUN^2
 * segments, and a segment has at most RUN_OUTPUTS outputs of all filters.
 *
 * At most MOST segments are used, and so few that all channels and filters have at most MOST_VALUES root mean squares, but at
 * least LEAST segments. If need be, they are further apart. Segments with non-finite outputs do not count.
 *
 * Segments of an image are whole rows. Each is cut into at most MOST_PIECES pieces of at least COLUMNS columns; left-over columns
 * do not count. The median is then over the pieces. */
#include "stream/search/noise_pass.h"

#include "base/integers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { ONE_IN = 16, RUN = 8, RUN_OUTPUTS = 1 << 20, LEAST = 16, MOST = 1024, MOST_VALUES = 1 << 22 };
enum { COLUMNS = 64, MOST_PIECES = 256 };

/* Most outputs of a block that an engine may have to hold, of all filters and channels. */
#define MOST_OUTPUTS ((int64_t)1 << 25)

/* A measurement. A block is a segment or a run; a piece of it is a segment, or columns of an image's segment. */
struct rms {
    struct lw_noise_pass pass;
    int64_t columns;            /* columns of a piece of an image */
    double *next;               /* place of the next block's values in pass.mine */
};

/* ---- which segments ------------------------------------------------------------------------------------------------ */

static struct lw_noise_blocks choose_blocks(const struct lw_job *job, int64_t length, int64_t pieces, int64_t least)
{
    enum { MIDDLE = ONE_IN / 2 };
    const int64_t all = job->n_outputs / length, values = job->op.n_channels * lw_op_filters(&job->op) * pieces;
    const int64_t most = lw_min64(MOST / pieces, lw_max64(least, MOST_VALUES / values));
    if (all <= MIDDLE)
        return (struct lw_noise_blocks){
            .length = lw_min64(length, job->n_outputs), .all = all, .first = all / 2, .step = 1, .count = 1};
    const int64_t few = (all - MIDDLE - 1) / ONE_IN + 1, step = ONE_IN * lw_divide_up(few, most);
    return (struct lw_noise_blocks){
        .length = length, .all = all, .first = MIDDLE, .step = step, .count = (all - MIDDLE - 1) / step + 1};
}

static void choose_segments(struct rms *rms, int64_t unit)
{
    const struct lw_job *const job = rms->pass.job;
    const bool is_long = job->n_outputs / unit >= (int64_t)ONE_IN * RUN * RUN;
    const int64_t run = !lw_op_has_pixels(&job->op) && is_long && unit * lw_op_filters(&job->op) <= RUN_OUTPUTS ? RUN : 1;
    rms->pass.pieces = run;
    if (lw_op_has_pixels(&job->op)) {
        const int64_t width = job->op.conv2d.output_columns;
        rms->columns = lw_max64(COLUMNS, lw_divide_up(width, MOST_PIECES));
        rms->pass.pieces = lw_max64(1, width / rms->columns);
    }
    rms->pass.blocks = choose_blocks(job, run * unit, rms->pass.pieces, LEAST / run);
}

/* Plan a pass of as many filters, from number `first` on, as the run holds, by the method for all. */
static int plan_rms(const struct lw_job *job, const struct lw_engine *engine, const struct lw_plan *plan, int n_ranks,
                    int64_t first, struct rms *rms, struct lw_error *err)
{
    *rms = (struct rms){.pass = lw_noise_pass_of(job, engine, plan, n_ranks)};
    struct lw_noise_pass *const pass = &rms->pass;
    lw_noise_plain_series(pass);
    if (!lw_op_has_pixels(&pass->spec)) {
        pass->spec.ols.search = (struct lw_search){.products = LW_BLOCKS, .every = plan->op.unit, .values = LW_BLOCK_RMS};
        pass->spec.ols.n_bank = job->op.ols.n_filters;
        pass->spec.ols.n_filters = (int)lw_min64(plan->rounds.held, job->op.ols.n_filters - first);
    }
    choose_segments(rms, plan->op.unit);
    const int64_t most = MOST_OUTPUTS / (pass->blocks.length * lw_op_filters(&pass->spec)) / plan->op.channel_unit;
    pass->group = lw_min64(plan->rounds.group, lw_op_has_pixels(&job->op) ? 1 : lw_max64(1, most) * plan->op.channel_unit);
    pass->depth = (int)lw_min64(pass->depth, lw_max64(1, plan->rounds.slice / pass->blocks.length));
    return engine->ops->op_plan(engine, &pass->spec, &pass->plan.op, err);
}

struct lw_bytes lw_noise_rms_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan)
{
    struct rms rms;
    if (plan_rms(spec->job, spec->engine, plan, lw_comm_size(spec->comm), 0, &rms, NULL))
        return (struct lw_bytes){0};
    return lw_noise_pass_bytes(&rms.pass, spec->reader, spec->map, spec->mask, plan);
}

/* ---- values -------------------------------------------------------------------------------------------------------- */

/* Return the root mean square of columns [first, end) of an output image in a slot. Columns and `width` count real numbers. */
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

/* Store the root mean squares of a block as [piece][image][kernel] or [piece][channel][filter]. Those of a signal come from the
 * engine, as [filter][channel][piece] or, if channels vary fastest, [filter][piece][channel]. */
static int take_block(void *context, struct lw_slot *slot, int number, struct lw_error *err)
{
    struct rms *const rms = context;
    (void)number;
    (void)err;
    if (lw_op_has_pixels(&rms->pass.job->op)) {
        const struct lw_type type = rms->pass.plan.op.products[0].type;
        const int64_t parts = type.is_complex ? 2 : 1, width = rms->pass.spec.conv2d.output_columns * parts;
        const int64_t columns = lw_min64(rms->columns * parts, width);
        double *values = rms->next;
        for (int64_t piece = 0; piece < rms->pass.pieces; piece++)
            for (int64_t image = 0; image < slot->block.n_channels; image++)
                for (int64_t kernel = 0; kernel < rms->pass.spec.conv2d.n_kernels; kernel++)
                    *values++ = piece_rms(slot, type, kernel * slot->block.n_channels + image, width, piece * columns,
                                          (piece + 1) * columns);
    } else {
        const int64_t n_channels = slot->block.n_channels, n_filters = lw_op_filters(&rms->pass.spec), pieces = rms->pass.pieces;
        const bool is_slow = lw_op_output_layout(&rms->pass.spec) == LW_TIME_SLOW;
        const int64_t channel_step = is_slow ? 1 : pieces, piece_step = is_slow ? n_channels : 1;
        double *values = rms->next;
        for (int64_t piece = 0; piece < pieces; piece++)
            for (int64_t c = 0; c < n_channels; c++)
                for (int64_t f = 0; f < n_filters; f++)
                    *values++ = lw_type_number(rms->pass.plan.op.products[0].type, slot->products[0].data,
                                               f * n_channels * pieces + c * channel_step + piece * piece_step);
    }
    rms->next += rms->pass.pieces * lw_noise_pass_pairs(&rms->pass, slot->block.n_channels);
    return LW_OK;
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */

/* Measure filters from number `first` on. @param n  set to their number */
static int measure_filters(struct lw_setup *setup, const struct lw_plan *plan, int64_t first, int64_t *n,
                           struct lw_noise_said *said, struct lw_error *err)
{
    struct rms rms;
    const bool is_first = lw_comm_rank(setup->comm) == 0;
    const int64_t all = setup->job.op.n_channels;
    double values[MOST];
    int rc = plan_rms(&setup->job, setup->engine, plan, lw_comm_size(setup->comm), first, &rms, err);
    rc = rc ? rc : lw_noise_pass_take(&rms.pass, setup, first, err);
    rc = lw_comm_agree(setup->comm, rc ? rc : lw_noise_pass_open(&rms.pass, setup, err), err);
    *n = lw_op_filters(&rms.pass.spec);
    for (int64_t channel = 0; channel < all && rc == LW_OK; channel += rms.pass.group) {
        const int64_t n_channels = lw_min64(rms.pass.group, all - channel), pairs = lw_noise_pass_pairs(&rms.pass, n_channels);
        double *const noise = setup->job.noise + channel * lw_op_filters(&setup->job.op) + first;
        rms.next = rms.pass.mine;
        rc = lw_noise_pass_go(&rms.pass, setup, channel, n_channels, take_block, &rms, err);
        for (int64_t i = 0, count; rc == LW_OK && is_first && i < pairs; i++)
            noise[i / *n * lw_op_filters(&setup->job.op) + i % *n] = lw_noise_pass_median(&rms.pass, n_channels, i, values, &count);
    }
    const int64_t run = lw_op_has_pixels(&rms.pass.job->op) ? 1 : rms.pass.pieces, segments = rms.pass.blocks.count * run;
    snprintf(said->text, sizeof said->text, "%" PRId64 " segment%s of %" PRId64 " outputs", segments, segments == 1 ? "" : "s",
             rms.pass.blocks.length / run);
    lw_noise_pass_close(&rms.pass);
    return rc;
}

int lw_noise_rms(struct lw_setup *setup, const struct lw_plan *plan, struct lw_noise_said *said, struct lw_error *err)
{
    int rc = LW_OK;
    for (int64_t first = 0, n = 0; rc == LW_OK && first < lw_op_filters(&setup->job.op); first += n)
        rc = measure_filters(setup, plan, first, &n, said, err);
    return rc;
}
