/* noise_clip.c - --noise measured: sigma of signal/spread.h, over the outputs that counted.h lets count.
 *
 * Blocks of the filtered series come to the host and are counted (noise_count.h). The ranks' counts are added up, and the sigmas of
 * their pieces gathered. Neither ranks nor memory change a count: memory bounds the channels that are counted at a time, and the
 * filters of a pass depend on shapes alone. */
#include "stream/search/noise_pass.h"

#include "base/integers.h"
#include "base/memory.h"
#include "signal/spread.h"
#include "stream/search/noise.h"
#include "stream/search/noise_count.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A block has at most so many values of all its channels and filters, where it can have fewer channels or filters; where
 * time is slow, more channels, which are together in the file. */
enum { BLOCK_VALUES = 1 << 22, BLOCK_VALUES_SLOW = 1 << 24 };

/* Outputs of a channel and a filter that 32 bits count. */
#define MOST_OUTPUTS ((int64_t)1 << 31)

/* A piece is a block of a signal, which is at least so many times as long as its filters; of an image a square of so many pixels,
 * or so many times the kernel's length, about. */
enum { PIECE_TAPS = 64, LONGEST_PIECE = 1 << 16, PIECE_SIDE = 64, PIECE_KERNELS = 4 };

/* Sigma of all counts where it differs by less than this from the median of the pieces, and where there are few. */
#define VARIES 0.1
enum { LEAST_PIECES = 16 };

/* Doubles of the counts that ranks add up at a time: several channels and filters in single precision, one in double. */
enum { SUMMED = 1 << 17 };

struct clip {
    struct lw_noise_pass pass;
    struct lw_noise_count count;
    int first_filter;           /* of those of the pass */
    int64_t stretch;            /* of the axis that is being measured */
    double *sums, *work;        /* [summed_of] */
};

static int64_t n_filters(const struct clip *clip) { return lw_op_filters(&clip->pass.spec); }

/* ---- which outputs ------------------------------------------------------------------------------------------------- */

/* Where some blocks of the axis are enough, so many of `all` are taken. @param outputs  of a block, of a channel and a filter */
static int64_t count_blocks(const struct lw_job *job, int64_t all, int64_t outputs)
{
    const int64_t an_eighth = lw_divide_up(all, LW_NOISE_BOUND), pairs = job->op.n_channels * lw_op_filters(&job->op);
    const int64_t bound = lw_max64(an_eighth, LW_NOISE_VALUES / pairs / outputs), even = lw_min64(LW_NOISE_BLOCKS, an_eighth);
    const int64_t wanted = lw_max64(lw_min64(lw_divide_up(LW_NOISE_OUTPUTS, outputs), bound), even);
    return lw_min64(all, lw_max64(1, lw_min64(wanted, MOST_OUTPUTS / outputs)));
}

/* Side of a piece of an image. */
static int64_t side_of(const struct lw_conv2d_spec *c)
{
    return lw_max64(PIECE_SIDE, PIECE_KERNELS * lw_max64(c->kernel_rows, c->kernel_columns));
}

static int64_t n_stretches(const struct clip *clip) { return lw_search_stretches(lw_op_search(&clip->pass.job->op)); }

/* Outputs [begin, end) that count, of all or of a stretch; the blocks hold them, and may hold some beside them. */
static struct lw_noise_blocks choose_blocks(const struct lw_job *job, int64_t unit, int64_t begin, int64_t end)
{
    const struct lw_search *const search = lw_op_search(&job->op);
    const int64_t of_signal =
        lw_op_has_pixels(&job->op) ? 0 : lw_min64(lw_max64(LW_NOISE_LENGTH, PIECE_TAPS * job->op.ols.n_taps), LONGEST_PIECE);
    const int64_t wanted = lw_op_has_pixels(&job->op) ? lw_min64(side_of(&job->op.conv2d), LONGEST_PIECE) : of_signal;
    const int64_t longest = search->stretch > 0 ? lw_round_up(lw_min64(search->stretch, job->n_outputs), unit) + unit : INT64_MAX;
    const int64_t length = lw_min64(lw_round_up(wanted, unit), longest), first = begin / unit * unit,
                  all = lw_divide_up(end - first, length);
    const int64_t outputs = lw_min64(length, job->n_outputs) * lw_op_width(&job->op);
    const int64_t of_stretch = lw_max64(1, lw_min64(lw_divide_up(LW_NOISE_OF_STRETCH, outputs), MOST_OUTPUTS / outputs));
    const int64_t count = search->stretch > 0 ? lw_min64(all, of_stretch) : count_blocks(job, all, outputs);
    return (struct lw_noise_blocks){.begin = first, .length = length, .all = all, .count = count};
}

static void choose_stretch(struct clip *clip, int64_t stretch)
{
    const struct lw_job *const job = clip->pass.job;
    clip->stretch = stretch;
    lw_search_stretch_range(lw_op_search(&job->op), job->n_outputs, stretch, &clip->count.begin, &clip->count.end);
    clip->pass.blocks = choose_blocks(job, clip->pass.plan.op.unit, clip->count.begin, clip->count.end);
}

/* As many blocks as any stretch has. */
static void choose_longest(struct clip *clip)
{
    const struct lw_job *const job = clip->pass.job;
    const struct lw_search *const search = lw_op_search(&job->op);
    const int64_t unit = clip->pass.plan.op.unit, n = job->n_outputs;
    const bool is_parted = search->stretch > 0 && search->stretch < n / 2;
    clip->pass.blocks = choose_blocks(job, unit, 0, is_parted ? lw_min64(n, 2 * search->stretch + unit) : n);
}

/* Place of a channel's sigma behind a filter of the pass, of the stretch. */
static int64_t place_of(const struct clip *clip, int64_t channel, int64_t filter)
{
    const struct lw_job *const job = clip->pass.job;
    return (clip->stretch * job->op.n_channels + channel) * lw_op_filters(&job->op) + clip->first_filter + filter;
}

/* Parts of about `wanted`. */
static int64_t parts_of(int64_t length, int64_t wanted) { return lw_max64(1, (length + wanted / 2) / wanted); }

static struct lw_noise_cells choose_cells(const struct lw_job *job, int64_t length)
{
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    if (!lw_op_has_pixels(&job->op))
        return length >= PIECE_TAPS * job->op.ols.n_taps ? (struct lw_noise_cells){1, 1} : (struct lw_noise_cells){0};
    return (struct lw_noise_cells){parts_of(lw_min64(length, job->n_outputs), side_of(c)), parts_of(c->output_columns, side_of(c))};
}

/* Filters [first, first + n) of the job, as a series of the computing precision. */
static void take_filters(const struct lw_job *job, int first, int n, struct lw_op_spec *spec)
{
    *spec = job->op;
    lw_noise_plain_series(spec);
    if (lw_op_has_pixels(&job->op))
        return;
    spec->ols.taps += first * spec->ols.n_taps * (spec->ols.taps_complex ? 2 : 1);
    spec->ols.n_filters = n;
}

/* The values of a block of the fewest channels. */
static int64_t least_values(const struct clip *clip)
{
    const struct lw_noise_pass *const pass = &clip->pass;
    return lw_min64(pass->blocks.length, pass->job->n_outputs) * lw_op_width(&pass->job->op) * pass->plan.op.channel_unit;
}

static int plan_filters(struct clip *clip, int first, int n, struct lw_error *err)
{
    struct lw_noise_pass *const pass = &clip->pass;
    take_filters(pass->job, first, n, &pass->spec);
    const int rc = pass->engine->ops->op_plan(pass->engine, &pass->spec, &pass->plan.op, err);
    if (rc)
        return rc;
    choose_longest(clip);
    pass->group = lw_min64(pass->plan.op.channel_unit, pass->job->op.n_channels);
    clip->count.pass = pass;
    clip->count.cells = choose_cells(pass->job, pass->blocks.length);
    pass->pieces = clip->count.cells.rows * clip->count.cells.columns;
    clip->first_filter = first;
    return LW_OK;
}

/* As many of the filters from `first` on as a block has room for, parted evenly; and the fewest channels. */
static int plan_clip(struct clip *clip, int first, struct lw_error *err)
{
    const int all = lw_op_filters(&clip->pass.job->op);
    const int rc = plan_filters(clip, 0, all, err);
    if (rc)
        return rc;
    const int64_t most = lw_max64(1, BLOCK_VALUES / least_values(clip)), n = lw_divide_up(all, lw_divide_up(all, most));
    return n == all ? LW_OK : plan_filters(clip, first, (int)lw_min64(n, all - first), err);
}

static struct clip clip_of(const struct lw_job *job, const struct lw_engine *engine, const struct lw_plan *plan, int n_ranks,
                           int n_threads)
{
    struct clip clip = {.pass = lw_noise_pass_of(job, engine, plan, n_ranks), .count.n_threads = n_threads > 0 ? n_threads : 1};
    if (job->op.layout == LW_TIME_SLOW)     /* more channels at a time are worth more than a third block on its way */
        clip.pass.depth = (int)lw_min64(clip.pass.depth, 2);
    clip.count.bins = lw_spread_bins(job->op.precision);
    return clip;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* Room for some channels' and filters' counts, and for the sigmas of one. */
static int64_t summed_of(const struct clip *clip)
{
    return lw_max64(lw_max64(clip->count.bins, SUMMED), clip->pass.n_ranks * lw_noise_pass_rows(&clip->pass));
}

static struct lw_bytes bytes_of(const struct clip *clip, const struct lw_reader *reader, const struct lw_mask *mask,
                                const struct lw_plan *run)
{
    const struct lw_job *const job = clip->pass.job;
    const int64_t all = n_stretches(clip) * job->op.n_channels * lw_op_filters(&job->op);
    struct lw_bytes bytes = lw_noise_pass_bytes(&clip->pass, reader, mask, run);
    bytes.host += lw_noise_count_bytes(&clip->count) + (2 * summed_of(clip) + all) * (int64_t)sizeof(double);
    return bytes;
}

struct lw_bytes lw_noise_clip_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan)
{
    struct clip clip = clip_of(spec->job, spec->engine, plan, lw_comm_size(spec->comm), spec->n_io_threads);
    return plan_clip(&clip, 0, NULL) ? (struct lw_bytes){0} : bytes_of(&clip, spec->reader, spec->mask, plan);
}

static bool fits(const struct clip *clip, const struct lw_setup *setup, const struct lw_plan *plan)
{
    const struct lw_bytes bytes = bytes_of(clip, setup->reader, setup->mask, plan);
    return bytes.host <= plan->bytes.engine && bytes.pinned <= plan->bytes.pinned && bytes.device <= plan->bytes.device;
}

/* As many channels at a time as fit what the run will take anyway. Every rank finds its own number, and the least counts. */
static void choose_group(struct clip *clip, struct lw_setup *setup, const struct lw_plan *plan)
{
    const int64_t unit = clip->pass.plan.op.channel_unit, least = clip->pass.group;
    const int64_t values = least_values(clip) / unit * n_filters(clip);
    const int64_t most = (clip->pass.spec.layout == LW_TIME_SLOW ? BLOCK_VALUES_SLOW : BLOCK_VALUES) / values;
    int64_t group = lw_min64(plan->rounds.group, most) / unit * unit;
    do {
        clip->pass.group = lw_max64(least, group);
        group = group / 2 / unit * unit;
    } while (clip->pass.group > least && !fits(clip, setup, plan));
    clip->pass.group = lw_comm_min(setup->comm, clip->pass.group);
}

/* ---- sigma --------------------------------------------------------------------------------------------------------- */

/* Bins [first, end) that some rank has counted in, and one more, so that the sums over all of them have a place. */
struct range {
    int64_t first, end;
};

static struct range find_range(const struct clip *clip, struct lw_comm *comm, int64_t n_pairs)
{
    struct range range = {clip->count.bins, 0};
    for (int64_t i = 0; i < n_pairs; i++) {
        int64_t first, end;
        lw_spread_range(clip->count.counts + i * clip->count.bins, clip->count.bins, &first, &end);
        if (first < end)
            range = (struct range){lw_min64(range.first, first), lw_max64(range.end, end)};
    }
    range = (struct range){lw_comm_min(comm, range.first), lw_comm_max(comm, range.end)};
    return (struct range){lw_min64(range.first, range.end), lw_min64(range.end + 1, clip->count.bins)};
}

static void find_sigmas(struct clip *clip, struct lw_setup *setup, int64_t channel, int64_t n_channels, struct lw_noise_said *said)
{
    const struct lw_op_spec *const spec = &clip->pass.spec;
    const int64_t its = n_filters(clip), n_pairs = n_channels * its;
    const struct range range = find_range(clip, setup->comm, n_pairs);
    const int64_t n = range.end - range.first, together = summed_of(clip) / lw_max64(n, 1);
    for (int64_t first = 0; first < n_pairs; first += together) {
        const int64_t end = lw_min64(first + together, n_pairs);
        for (int64_t i = first; i < end; i++)
            for (int64_t bin = 0; bin < n; bin++)
                clip->sums[(i - first) * n + bin] = clip->count.counts[i * clip->count.bins + range.first + bin];
        lw_comm_collect(setup->comm, clip->sums, (end - first) * n, 0);
        for (int64_t i = first; i < end && lw_comm_rank(setup->comm) == 0; i++) {
            const int64_t at = place_of(clip, channel + i / its, i % its);
            setup->job.noise[at] = lw_spread_sigma(spec->precision, spec->output.is_complex, range.first,
                                                   clip->sums + (i - first) * n, n, clip->work, &said->n_finite[at]);
        }
    }
}

/* On rank 0: where noise varies, that of half of the pieces is less and of half more. */
static void take_medians(const struct clip *clip, struct lw_setup *setup, int64_t channel, int64_t n_channels)
{
    const int64_t its = n_filters(clip);
    int64_t n;
    for (int64_t i = 0; i < n_channels * its; i++) {
        double *const noise = &setup->job.noise[place_of(clip, channel + i / its, i % its)];
        const double median = lw_noise_pass_median(&clip->pass, n_channels, i, clip->work, &n);
        if (n >= LEAST_PIECES && fabs(median - *noise) > VARIES * *noise)
            *noise = median;
    }
}

static int measure_group(struct clip *clip, struct lw_setup *setup, int64_t channel, int64_t n_channels, struct lw_noise_said *said,
                         struct lw_error *err)
{
    lw_noise_count_begin(&clip->count, n_channels);
    const int rc = lw_noise_pass_go(&clip->pass, setup, channel, n_channels, lw_noise_count_block, &clip->count, err);
    if (rc)
        return rc;
    find_sigmas(clip, setup, channel, n_channels, said);
    if (lw_comm_rank(setup->comm) == 0)
        take_medians(clip, setup, channel, n_channels);
    return LW_OK;
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */

/* Ranks on different processors (--engine allow-mixed) must still part alike. */
static int agree_on_blocks(const struct clip *clip, struct lw_comm *comm, struct lw_error *err)
{
    char text[160];
    snprintf(text, sizeof text, "blocks of %" PRId64 ", %" PRId64 " filters, channels by %" PRId64, clip->pass.blocks.length,
             n_filters(clip), clip->pass.plan.op.channel_unit);
    return lw_comm_same(comm, "how the engine measures the noise", text, err);
}

static int open_clip(struct clip *clip, struct lw_setup *setup, struct lw_error *err)
{
    clip->count.counted = lw_counted_of(&setup->job, &clip->pass.plan.op, setup->mask, setup->reader);
    int rc = lw_noise_count_open(&clip->count, err);
    if (rc)
        return rc;
    if (!(clip->sums = lw_alloc_array(summed_of(clip), sizeof *clip->sums, "the sums of counts", err)) ||
        !(clip->work = lw_alloc_array(summed_of(clip), sizeof *clip->work, "the sums of counts", err)))
        return LW_ESYSTEM;
    return lw_noise_pass_open(&clip->pass, setup, err);
}

static void close_clip(struct clip *clip)
{
    lw_noise_pass_close(&clip->pass);
    lw_noise_count_close(&clip->count);
    lw_free(clip->sums);
    lw_free(clip->work);
}

/* "262144 outputs of each channel and filter in each of 12 stretches of 1800000 outputs (1800 s)" */
static void tell(const struct clip *clip, struct lw_noise_said *said)
{
    const struct lw_job *const job = clip->pass.job;
    const struct lw_noise_blocks *const blocks = &clip->pass.blocks;
    const struct lw_search *const search = lw_op_search(&job->op);
    const double rate_hz = job->inputs[0].axis.sample_rate_hz;
    char stretches[96] = "", seconds[32] = "";
    if (search->stretch > 0 && rate_hz > 0)
        snprintf(seconds, sizeof seconds, " (%.6g s)", (double)search->stretch / rate_hz);
    if (search->stretch > 0)
        snprintf(stretches, sizeof stretches, " in each of %" PRId64 " stretches of %" PRId64 " outputs%s", search->n_stretches,
                 search->stretch, seconds);
    snprintf(said->text, sizeof said->text, "%" PRId64 " outputs of each %s and filter%s",
             lw_min64(blocks->count * blocks->length, clip->count.end - clip->count.begin) * lw_op_width(&job->op),
             job->ops->channel, stretches);
}

static int measure_stretches(struct clip *clip, struct lw_setup *setup, struct lw_noise_said *said, struct lw_error *err)
{
    const int64_t all = setup->job.op.n_channels, group = clip->pass.group;
    int rc = LW_OK;
    for (int64_t channel = 0; channel < all && rc == LW_OK; channel += group)
        for (int64_t stretch = 0; stretch < n_stretches(clip) && rc == LW_OK; stretch++) {
            choose_stretch(clip, stretch);
            rc = measure_group(clip, setup, channel, lw_min64(group, all - channel), said, err);
        }
    choose_stretch(clip, 0);
    return rc;
}

/* The filters from `first` on that are measured together. @param n  set: how many they are */
static int measure_filters(struct lw_setup *setup, const struct lw_plan *plan, int first, int *n, struct lw_noise_said *said,
                           struct lw_error *err)
{
    struct clip clip = clip_of(&setup->job, setup->engine, plan, lw_comm_size(setup->comm),
                               setup->pool ? lw_pool_threads(setup->pool) : 1);
    clip.count.pool = setup->pool;
    int rc = lw_comm_agree(setup->comm, plan_clip(&clip, first, err), err);
    if (rc || (rc = agree_on_blocks(&clip, setup->comm, err)))
        return rc;
    choose_group(&clip, setup, plan);
    rc = lw_comm_agree(setup->comm, open_clip(&clip, setup, err), err);
    rc = rc ? rc : measure_stretches(&clip, setup, said, err);
    *n = (int)n_filters(&clip);
    tell(&clip, said);
    close_clip(&clip);
    return rc;
}

int lw_noise_clip(struct lw_setup *setup, const struct lw_plan *plan, struct lw_noise_said *said, struct lw_error *err)
{
    const int64_t stretches = lw_search_stretches(lw_op_search(&setup->job.op));
    const int64_t pairs = stretches * setup->job.op.n_channels * lw_op_filters(&setup->job.op);
    said->n_finite = lw_alloc_array(pairs, sizeof *said->n_finite, "the outputs that count for the noise", err);
    int n = 0, rc = lw_comm_agree(setup->comm, said->n_finite ? LW_OK : LW_ESYSTEM, err);
    for (int first = 0; rc == LW_OK && first < lw_op_filters(&setup->job.op); first += n)
        rc = measure_filters(setup, plan, first, &n, said, err);
    return rc;
}
