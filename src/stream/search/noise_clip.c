/* noise_clip.c - --noise measured: sigma by signal/spread.h, over the outputs that count (counted.h).
 *
 * The engine computes blocks of the filtered signal. Their values are counted in histograms ("counts"), by an engine that can, or
 * else by the host: one for each piece of a block, channel and filter, which gives the piece's sigma and is then added to the total
 * histogram of the channel and filter. Ranks add up the totals, and gather the sigmas of pieces. A piece's place in its block is a
 * cell. Counts do not depend on ranks or memory, which only limits the channels and the filters that are counted at a time. The
 * engine chooses its method for a bank of as many filters as fit a block, by shapes alone. */
#include "stream/search/noise_pass.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/pool.h"
#include "signal/spread.h"
#include "stream/search/counted.h"
#include "stream/search/noise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Most values of a block, of all its channels and filters; a block with the fewest possible channels and filters may have more. If
 * channels vary fastest, blocks have more channels, which are contiguous in the file. Blocks that stay on a device are as large as
 * its memory allows; where their channels are sums, each further block reads and adds up the same samples again. */
enum { BLOCK_VALUES = 1 << 22, BLOCK_VALUES_SLOW = 1 << 24, BLOCK_VALUES_ON_DEVICE = 1 << 28, BLOCK_VALUES_OF_SUMS = 1 << 30 };

/* Most outputs that are counted of a channel and a filter: counters have 32 bits. */
#define MOST_OUTPUTS ((int64_t)1 << 31)

/* A piece of a signal is a whole block; it has no sigma if it is shorter than PIECE_TAPS filters. Blocks are made that long, up to
 * LONGEST_PIECE. A piece of an image is a square with a side of about PIECE_SIDE pixels, or PIECE_KERNELS kernels. */
enum { PIECE_TAPS = 64, LONGEST_PIECE = 1 << 16, PIECE_SIDE = 64, PIECE_KERNELS = 4 };

/* The pieces' median replaces sigma if they differ by more than VARIES of sigma, and there are at least LEAST_PIECES pieces. */
#define VARIES 0.1
enum { LEAST_PIECES = 16 };

/* Bins, as doubles, that ranks add up at a time: several histograms in single precision, and in double precision. */
enum { SUMMED = 1 << 18 };

/* Adjacent channels that are counted together if channels vary fastest, so that whole cache lines are used. */
enum { SLOW_CHANNELS = LW_SPREAD_SERIES };

/* Cells of a block: numbers of parts that its rows and its columns are cut into. */
struct cells {
    int64_t rows, columns;
};

struct clip {
    struct lw_noise_pass pass;  /* pass.mine: sigmas of pieces in which at least half of the outputs count */
    int first_filter;           /* first filter of this pass, numbered in the job */
    int64_t stretch;            /* number of the stretch that is being measured */
    int64_t begin, end;         /* outputs of the stretch; blocks may hold others, which do not count */
    struct cells cells;
    bool has_sigmas;            /* pieces have sigmas of their own */
    struct lw_counted counted;
    struct lw_pool *pool;       /* borrowed; NULL: single thread */
    int n_threads;
    lw_piece_fn *work;          /* work that threads share: pieces of it, and those that a thread takes at a time */
    int64_t n_work, n_each;
    int64_t bins;               /* bins of a histogram, lw_spread_bins */
    int64_t work_length;        /* length of a thread's `work`: enough for a histogram, and for the pieces' sigmas of a pair */

    /* Members for the group of channels that is being measured. */
    uint32_t *counts;           /* owned; [channels][filters][bins] */
    char *scratch;              /* owned; memory of a struct scratch for each thread */
    unsigned char *marks;       /* owned; marks of outputs that do not count, [n_marked][marks_bytes], then has_marks */
    bool *has_marks;            /* [n_marked] whether any output is marked */
    int64_t n_blocks;           /* blocks counted so far */
    const struct lw_slot *slot; /* slot that is being counted */
    int number;                 /* number of this slot */
    struct lw_counting counting;        /* pieces of this slot */
    const struct lw_counts *from_device;
    double *sums;               /* owned; [SUMMED] histograms of all ranks */
    int64_t first_pair, first_bin, n_summed;    /* pair of the first of these, and their bins */
    int64_t channel, n_channels;        /* first channel of the group, and their number */
    double *noise, *n_finite;   /* borrowed; sigmas of the job, and outputs that counted; [stretches][channels][filters] */
};

static bool counts_on_device(const struct clip *clip) { return clip->pass.engine->ops->count; }

static int64_t n_filters(const struct clip *clip) { return lw_op_filters(&clip->pass.spec); }

/* ---- which outputs ------------------------------------------------------------------------------------------------- */

/* Return how many of `all` blocks of the axis to use (noise.h). @param outputs  outputs of a block, of one channel and filter */
static int64_t count_blocks(const struct lw_job *job, int64_t all, int64_t outputs)
{
    const int64_t an_eighth = lw_divide_up(all, LW_NOISE_BOUND), pairs = job->op.n_channels * lw_op_filters(&job->op);
    const int64_t bound = lw_max64(an_eighth, LW_NOISE_VALUES / pairs / outputs), even = lw_min64(LW_NOISE_BLOCKS, an_eighth);
    const int64_t wanted = lw_max64(lw_min64(lw_divide_up(LW_NOISE_OUTPUTS, outputs), bound), even);
    return lw_min64(all, lw_max64(1, lw_min64(wanted, MOST_OUTPUTS / outputs)));
}

/* Return the approximate side of a piece of an image, pixels. */
static int64_t side_of(const struct lw_conv2d_spec *c)
{
    return lw_max64(PIECE_SIDE, PIECE_KERNELS * lw_max64(c->kernel_rows, c->kernel_columns));
}

static int64_t n_stretches(const struct clip *clip) { return lw_search_stretches(lw_op_search(&clip->pass.job->op)); }

/* Choose blocks for outputs [begin, end): the whole axis or a stretch. Blocks begin at grid units and may hold other outputs. */
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
    lw_search_stretch_range(lw_op_search(&job->op), job->n_outputs, stretch, &clip->begin, &clip->end);
    clip->pass.blocks = choose_blocks(job, clip->pass.plan.op.unit, clip->begin, clip->end);
}

/* Return the index in job->noise of a channel and a filter of the pass, in the current stretch. */
static int64_t place_of(const struct clip *clip, int64_t channel, int64_t filter)
{
    const struct lw_job *const job = clip->pass.job;
    return (clip->stretch * job->op.n_channels + channel) * lw_op_filters(&job->op) + clip->first_filter + filter;
}

/* Return the number of parts of about the wanted length. */
static int64_t parts_of(int64_t length, int64_t wanted) { return lw_max64(1, (length + wanted / 2) / wanted); }

/* Return the values of a block with the fewest possible channels, behind one filter. */
static int64_t least_values(const struct clip *clip)
{
    const struct lw_noise_pass *const pass = &clip->pass;
    return lw_min64(pass->blocks.length, pass->job->n_outputs) * lw_op_width(&pass->job->op) * pass->plan.op.channel_unit;
}

/* Plan a pass of filters [first, first + n) of the job, by the method for n_bank filters. Its blocks are as many as the longest
 * stretch may have. */
static int plan_filters(struct clip *clip, int first, int n, int n_bank, struct lw_error *err)
{
    struct lw_noise_pass *const pass = &clip->pass;
    const struct lw_job *const job = pass->job;
    const bool is_image = lw_op_has_pixels(&job->op);
    lw_noise_plain_series(pass);
    if (!is_image) {
        pass->spec.ols.n_filters = n;
        pass->spec.ols.n_bank = n_bank;
    } else {
        struct lw_conv2d_spec *const c = &pass->spec.conv2d;
        c->kernel += first * c->kernel_rows * c->kernel_columns * (c->kernel_complex ? 2 : 1);
        c->n_kernels = n;
    }
    const int rc = pass->engine->ops->op_plan(pass->engine, &pass->spec, &pass->plan.op, err);
    if (rc)
        return rc;
    const int64_t unit = pass->plan.op.unit, stretch = lw_op_search(&job->op)->stretch, all = job->n_outputs;
    const bool is_parted = stretch > 0 && stretch < all / 2;
    pass->blocks = choose_blocks(job, unit, 0, is_parted ? lw_min64(all, 2 * stretch + unit) : all);
    pass->group = lw_min64(pass->plan.op.channel_unit, job->op.n_channels);
    clip->cells = (struct cells){1, 1};
    if (is_image) {
        const int64_t side = side_of(&job->op.conv2d);
        clip->cells.rows = parts_of(lw_min64(pass->blocks.length, all), side);
        clip->cells.columns = parts_of(job->op.conv2d.output_columns, side);
    }
    pass->pieces = clip->cells.rows * clip->cells.columns;
    clip->has_sigmas = (is_image || pass->blocks.length >= PIECE_TAPS * job->op.ols.n_taps) &&
                       pass->blocks.count * pass->pieces >= LEAST_PIECES;
    pass->spec.pieces = counts_on_device(clip) ? pass->pieces : 0;
    clip->work_length = lw_max64(clip->bins, pass->n_ranks * lw_noise_pass_rows(pass));
    clip->first_filter = first;
    return LW_OK;
}

/* Return the most values of a block if memory is no limit. */
static int64_t most_values(const struct clip *clip)
{
    return counts_on_device(clip) ? lw_op_sums_channels(&clip->pass.spec) ? BLOCK_VALUES_OF_SUMS : BLOCK_VALUES_ON_DEVICE
           : lw_op_output_layout(&clip->pass.job->op) == LW_TIME_SLOW ? BLOCK_VALUES_SLOW : BLOCK_VALUES;
}

/* Return the filters that a block has at least, if there are as many. */
static int64_t least_filters(const struct clip *clip) { return lw_max64(1, BLOCK_VALUES / least_values(clip)); }

/* Plan a pass with the fewest channels and, from number `first` on, as many filters as fit a block, all being evenly divided, and
 * of these as many as the run holds, and at most `some`. */
static int plan_clip(struct clip *clip, int first, int64_t some, struct lw_error *err)
{
    const int all = lw_op_filters(&clip->pass.job->op);
    const bool is_image = lw_op_has_pixels(&clip->pass.job->op);    /* the method for images depends on the kernels held */
    const int64_t held = is_image ? all : clip->pass.plan.rounds.held;
    const int rc = plan_filters(clip, 0, all, all, err);
    if (rc)
        return rc;
    const int64_t many = counts_on_device(clip) && !is_image ? BLOCK_VALUES_ON_DEVICE / least_values(clip) : 0;
    const int64_t most = lw_max64(least_filters(clip), many);
    const int64_t n = lw_divide_up(all, lw_divide_up(all, most)), begin = first / n * n, n_bank = lw_min64(n, all - begin);
    const int64_t its = lw_min64(lw_min64(held, some), begin + n_bank - first);
    return its == all ? LW_OK : plan_filters(clip, first, (int)its, (int)n_bank, err);
}

static struct clip clip_of(const struct lw_job *job, const struct lw_engine *engine, const struct lw_plan *plan, int n_ranks,
                           int n_threads)
{
    struct clip clip = {.pass = lw_noise_pass_of(job, engine, plan, n_ranks), .n_threads = n_threads > 0 ? n_threads : 1};
    /* Memory is better spent on more channels than on a third block. */
    if (lw_op_output_layout(&job->op) == LW_TIME_SLOW || lw_op_sums_channels(&job->op))
        clip.pass.depth = (int)lw_min64(clip.pass.depth, 2);
    clip.bins = lw_spread_bins(job->op.precision);
    return clip;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* Work space of a thread: scratch of lw_counted_mark, and the counts of a piece of each channel (0 between pieces). */
struct scratch {
    void *marking;
    uint32_t *counts;
    double *sums, *work;
    int64_t *range;             /* all bins that it has counted lie in [all bins - range[0], range[1]) */
};

static int64_t longest_block(const struct clip *clip) { return lw_min64(clip->pass.blocks.length, clip->pass.job->n_outputs); }

static bool is_slow(const struct clip *clip) { return lw_op_output_layout(&clip->pass.spec) == LW_TIME_SLOW; }

static int64_t n_together(const struct clip *clip) { return is_slow(clip) ? SLOW_CHANNELS : 1; }

/* Return the bytes of the marks of one channel. */
static int64_t marks_bytes(const struct clip *clip)
{
    return lw_round_up(longest_block(clip) * lw_op_width(&clip->pass.job->op), LW_ALIGNMENT);
}

static int64_t marking_bytes(const struct clip *clip)
{
    return lw_round_up(lw_counted_bytes(clip->pass.job, &clip->pass.plan.op, clip->pass.blocks.length), LW_ALIGNMENT);
}

static int64_t scratch_bytes(const struct clip *clip)
{
    const int64_t of_sums = (clip->bins + clip->work_length) * (int64_t)sizeof(double), of_range = 2 * (int64_t)sizeof(int64_t);
    const int64_t of_counts = clip->bins * (int64_t)sizeof(uint32_t);
    return marking_bytes(clip) + lw_round_up(of_range + of_sums + n_together(clip) * of_counts, LW_ALIGNMENT);
}

/* Return how many channels of a block have marks of their own: all sums over channels share theirs. */
static int64_t n_marked(const struct clip *clip, int64_t n_channels)
{
    return lw_op_sums_channels(&clip->pass.job->op) ? 1 : n_channels;
}

static int64_t n_bins(const struct clip *clip, int64_t n_channels)
{
    return lw_noise_pass_pairs(&clip->pass, n_channels) * clip->bins;
}

static struct lw_bytes bytes_of(const struct clip *clip, const struct lw_reader *reader, const struct lw_reader *map,
                                const struct lw_mask *mask, const struct lw_plan *run)
{
    const struct lw_job *const job = clip->pass.job;
    const int64_t all = n_stretches(clip) * job->op.n_channels * lw_op_filters(&job->op);
    struct lw_bytes bytes = lw_noise_pass_bytes(&clip->pass, reader, map, mask, run);
    bytes.host += n_bins(clip, clip->pass.group) * (int64_t)sizeof *clip->counts + clip->n_threads * scratch_bytes(clip) +
                  n_marked(clip, clip->pass.group) * (marks_bytes(clip) + (int64_t)sizeof *clip->has_marks) +
                  (SUMMED + all) * (int64_t)sizeof(double);
    return bytes;
}

/* Return whether a pass fits into the memory that the run is planned with. */
static bool fits(const struct clip *clip, const struct lw_plan_spec *spec, const struct lw_plan *plan)
{
    const struct lw_bytes bytes = bytes_of(clip, spec->reader, spec->map, spec->mask, plan);
    return bytes.host <= plan->bytes.engine && bytes.pinned <= plan->bytes.pinned && bytes.device <= plan->bytes.device;
}

/* Plan a pass of as many filters, from number `first` on, and as many channels as fit. All ranks use the smallest choice.
 * Collective. */
static int choose(struct clip *clip, const struct lw_plan_spec *spec, const struct lw_plan *plan, int first, struct lw_error *err)
{
    int rc = plan_clip(clip, first, INT64_MAX, err);
    while (rc == LW_OK && n_filters(clip) > least_filters(clip) && !fits(clip, spec, plan))
        rc = plan_clip(clip, first, lw_max64(least_filters(clip), n_filters(clip) / 2), err);
    const int64_t n = lw_comm_min(spec->comm, rc ? 0 : n_filters(clip));
    if (n == 0 || (n < n_filters(clip) && (rc = plan_clip(clip, first, n, err))))
        return rc;
    const int64_t unit = clip->pass.plan.op.channel_unit, least = clip->pass.group;
    const int64_t values = least_values(clip) / unit * n_filters(clip);
    int64_t group = lw_min64(plan->rounds.group, most_values(clip) / values) / unit * unit;
    do {
        clip->pass.group = lw_max64(least, group);
        group = group / 2 / unit * unit;
    } while (clip->pass.group > least && !fits(clip, spec, plan));
    clip->pass.group = lw_comm_min(spec->comm, clip->pass.group);
    return LW_OK;
}

/* Parts of the memory that a pass has at least; it has as much as the rounds take, too. */
enum { HOST_PART = 16, DEVICE_PART = 4 };

struct lw_bytes lw_noise_clip_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan)
{
    struct clip clip = clip_of(spec->job, spec->engine, plan, lw_comm_size(spec->comm), spec->n_io_threads);
    struct lw_plan shared = *plan;
    shared.bytes.engine = shared.bytes.pinned = plan->limits.host / HOST_PART;
    shared.bytes.device = plan->limits.device / DEVICE_PART;
    return choose(&clip, spec, &shared, 0, NULL) ? (struct lw_bytes){0}
                                                : bytes_of(&clip, spec->reader, spec->map, spec->mask, plan);
}

/* ---- counts -------------------------------------------------------------------------------------------------------- */

/* Values of channels [c, c + n) of the slot's block behind filter f. `skip` marks values that do not count; NULL: all count. */
struct values {
    int64_t c;
    int n, f;
    const char *values;
    const unsigned char *skip;
};

/* Count the unmarked values of the stretch in a rectangle of rows (outputs on the axis) and columns. @param pitch  distance from
 * the counts of one channel to the counts of the next */
static void count_values(const struct clip *clip, const struct values *v, const int64_t rows[2],
                         const int64_t columns[2], uint32_t *counts, int64_t pitch)
{
    const struct lw_op_spec *const spec = &clip->pass.spec;
    const struct lw_block *const block = &clip->slot->block;
    const int64_t width = lw_op_width(&clip->pass.job->op), n = columns[1] - columns[0];
    const int64_t begin = lw_max64(rows[0], clip->counting.begin), end = lw_min64(rows[1], clip->counting.end);
    const bool are_together = n == width;
    struct lw_spread_values part = {
        .precision = spec->precision, .is_complex = spec->output.is_complex, .n_series = v->n, .skip_pitch = marks_bytes(clip),
        .stride = lw_op_output_layout(spec) == LW_TIME_SLOW ? block->n_channels : 1,
    };
    for (int64_t row = begin; row < end; row += are_together ? end - begin : 1) {
        const int64_t first = row * width + columns[0];
        part.values = v->values + first * part.stride * (int64_t)lw_type_bytes(spec->output);
        part.n = are_together ? (end - row) * n : n;
        part.skip = v->skip ? v->skip + first : NULL;
        lw_spread_count(&part, counts, pitch);
    }
}

/* Return sigma of a piece's counts, or -1 if less than half of its outputs count; then add the piece to `counts` and clear it. */
static double take_piece(const struct clip *clip, const struct scratch *scratch, uint32_t *piece, uint32_t *counts)
{
    const struct lw_op_spec *const spec = &clip->pass.spec;
    const double least = 0.5 * (double)(clip->counting.tall * clip->counting.wide);
    double n_finite = 0, sigma = -1;
    int64_t first, end;
    lw_spread_range(piece, clip->bins, &first, &end);
    if (first == end)
        return -1;
    scratch->range[0] = lw_max64(scratch->range[0], clip->bins - first);
    scratch->range[1] = lw_max64(scratch->range[1], end);
    end = lw_min64(end + 1, clip->bins);      /* one bin more, a place for the sum over all bins */
    for (int64_t bin = first; bin < end; bin++) {
        counts[bin] += piece[bin];
        scratch->sums[bin - first] = piece[bin];
        piece[bin] = 0;
    }
    if (clip->has_sigmas)
        sigma = lw_spread_sigma(spec->precision, spec->output.is_complex, first, scratch->sums, end - first, scratch->work,
                                &n_finite);
    return n_finite >= least ? sigma : -1;
}

/* Return the counts of channel c of the group and filter f. */
static uint32_t *counts_of(const struct clip *clip, int64_t c, int64_t f)
{
    return clip->counts + (c * n_filters(clip) + f) * clip->bins;
}

static struct scratch scratch_of(const struct clip *clip, int thread)
{
    char *const its = clip->scratch + thread * scratch_bytes(clip);
    int64_t *const range = (int64_t *)(void *)(its + marking_bytes(clip));
    double *const sums = (double *)(range + 2), *const work = sums + clip->bins;
    return (struct scratch){its, (uint32_t *)(work + clip->work_length), sums, work, range};
}

/* Return the place of the sigma of a cell of the slot's block in pass.mine. */
static double *sigma_of(const struct clip *clip, int64_t cell, int64_t c, int64_t f)
{
    const int64_t pairs = lw_noise_pass_pairs(&clip->pass, clip->slot->block.n_channels);
    return clip->pass.mine + (clip->n_blocks * clip->pass.pieces + cell) * pairs + c * n_filters(clip) + f;
}

/* Count one piece, and keep its sigma. */
static void count_cell(const struct clip *clip, const struct values *v, int64_t cell, const struct scratch *scratch)
{
    const struct lw_counting *const its = &clip->counting;
    const int64_t row = cell / its->n_columns, column = cell % its->n_columns;
    const int64_t n = clip->slot->block.count, width = lw_op_width(&clip->pass.job->op);
    const int64_t rows[2] = {lw_min64(row * its->tall, n), lw_min64((row + 1) * its->tall, n)};
    const int64_t columns[2] = {lw_min64(column * its->wide, width), lw_min64((column + 1) * its->wide, width)};
    if (columns[0] < columns[1])
        count_values(clip, v, rows, columns, scratch->counts, clip->bins);
    for (int k = 0; k < v->n; k++)
        *sigma_of(clip, cell, v->c + k, v->f) =
            take_piece(clip, scratch, scratch->counts + k * clip->bins, counts_of(clip, v->c + k, v->f));
}

/* Count the values of adjacent channels behind one filter. `piece` is a piece of the pool's work, not a piece of a block. */
static int count_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct clip *const clip = context;
    const struct lw_block *const block = &clip->slot->block;
    const int64_t n_parts = lw_divide_up(block->n_channels, n_together(clip)), f = piece / n_parts;
    const int64_t c = piece % n_parts * n_together(clip), outputs = block->count * lw_op_width(&clip->pass.job->op);
    const int64_t first = f * block->n_channels * outputs + (is_slow(clip) ? c : c * outputs);
    const int64_t marked = lw_min64(c, n_marked(clip, block->n_channels) - 1);
    const struct scratch scratch = scratch_of(clip, thread);
    struct values values = {
        .c = c, .n = (int)lw_min64(n_together(clip), block->n_channels - c), .f = (int)f,
        .values = (const char *)clip->slot->products[0].data + (size_t)first * lw_type_bytes(clip->pass.spec.output),
    };
    (void)err;
    if (memchr(clip->has_marks + marked, true, (size_t)values.n))
        values.skip = clip->marks + marked * marks_bytes(clip);
    for (int64_t cell = 0; cell < clip->pass.pieces; cell++)
        count_cell(clip, &values, cell, &scratch);
    return LW_OK;
}

/* Take the pieces of a filter and a channel that the device has counted. */
static int take_counted(void *context, int64_t pair, int thread, struct lw_error *err)
{
    const struct clip *const clip = context;
    const int64_t n_channels = clip->slot->block.n_channels, n = clip->pass.pieces, c = pair % n_channels, f = pair / n_channels;
    const struct scratch scratch = scratch_of(clip, thread);
    (void)err;
    for (int64_t cell = 0; cell < n; cell++) {
        const struct lw_counted_piece piece = clip->from_device->pieces[pair * n + cell];
        if (piece.first == LW_COUNTED_ELSEWHERE)
            continue;
        for (const struct lw_bin_count *its = clip->from_device->bins + piece.first, *end = its + piece.n; its < end; its++)
            scratch.counts[its->bin] = its->n;
        *sigma_of(clip, cell, c, f) = take_piece(clip, &scratch, scratch.counts, counts_of(clip, c, f));
    }
    return LW_OK;
}

static int mark_channel(void *context, int64_t c, int thread, struct lw_error *err)
{
    const struct clip *const clip = context;
    (void)err;
    clip->has_marks[c] = lw_counted_mark(&clip->counted, clip->slot, clip->number, c, clip->marks + c * marks_bytes(clip),
                                         scratch_of(clip, thread).marking);
    return LW_OK;
}

/* Do some consecutive pieces of work. */
static int do_several(void *context, int64_t several, int thread, struct lw_error *err)
{
    const struct clip *const clip = context;
    int rc = LW_OK;
    for (int64_t i = several * clip->n_each; rc == LW_OK && i < lw_min64((several + 1) * clip->n_each, clip->n_work); i++)
        rc = clip->work(context, i, thread, err);
    return rc;
}

/* Have the pool do n pieces of work. Its threads take several at a time: each time they wait for each other. */
static int share(struct clip *clip, int64_t n, lw_piece_fn *work, struct lw_error *err)
{
    enum { TIMES = 16 };
    clip->work = work;
    clip->n_work = n;
    clip->n_each = lw_max64(1, clip->pool ? n / (TIMES * clip->n_threads) : n);
    struct lw_batch batch = {.lane = LW_LANE_READ, .n_pieces = lw_divide_up(n, clip->n_each), .work = do_several, .context = clip};
    if (batch.n_pieces <= 1)
        return do_several(clip, 0, 0, err);
    lw_pool_start(clip->pool, &batch);
    return lw_pool_wait(clip->pool, &batch, err);
}

static int take_counts(void *context, const struct lw_counts *counts, struct lw_error *err)
{
    struct clip *const clip = context;
    clip->from_device = counts;
    return share(clip, lw_noise_pass_pairs(&clip->pass, clip->slot->block.n_channels), take_counted, err);
}

static int count_block(void *context, struct lw_slot *slot, int number, struct lw_error *err)
{
    struct clip *const clip = context;
    const struct lw_block *const block = &slot->block;
    const int64_t marked = n_marked(clip, block->n_channels), width = lw_op_width(&clip->pass.job->op);
    clip->slot = slot;
    clip->number = number;
    clip->counting = (struct lw_counting){
        .tall = lw_divide_up(longest_block(clip), clip->cells.rows), .wide = lw_divide_up(width, clip->cells.columns),
        .n_rows = clip->cells.rows, .n_columns = clip->cells.columns,
        .begin = lw_max64(0, clip->begin - block->first), .end = lw_min64(block->count, clip->end - block->first),
    };
    int rc = share(clip, marked, mark_channel, err);
    if (rc == LW_OK && counts_on_device(clip)) {
        clip->counting.skip = memchr(clip->has_marks, true, (size_t)marked) ? clip->marks : NULL;
        clip->counting.skip_pitch = marked > 1 ? marks_bytes(clip) : 0;
        rc = lw_pipeline_count(clip->pass.pipeline, slot, &clip->counting, take_counts, clip, err);
    } else if (rc == LW_OK)
        rc = share(clip, lw_divide_up(block->n_channels, n_together(clip)) * n_filters(clip), count_piece, err);
    clip->n_blocks++;
    return rc;
}

/* ---- sigma --------------------------------------------------------------------------------------------------------- */

/* Move the counts of a pair, the i-th of those whose ranks are added up together, to `sums`. */
static int move_counts(void *context, int64_t i, int thread, struct lw_error *err)
{
    const struct clip *const clip = context;
    uint32_t *const counts = clip->counts + (clip->first_pair + i) * clip->bins + clip->first_bin;
    (void)thread, (void)err;
    for (int64_t bin = 0; bin < clip->n_summed; bin++) {
        clip->sums[i * clip->n_summed + bin] = counts[bin];
        counts[bin] = 0;
    }
    return LW_OK;
}

/* Find sigma of the i-th pair's sums. Rank 0 only. */
static int find_sigma(void *context, int64_t i, int thread, struct lw_error *err)
{
    const struct clip *const clip = context;
    const struct lw_op_spec *const spec = &clip->pass.spec;
    const struct scratch scratch = scratch_of(clip, thread);
    const int64_t pair = clip->first_pair + i;
    const int64_t at = place_of(clip, clip->channel + pair / n_filters(clip), pair % n_filters(clip));
    int64_t n;
    (void)err;
    double sigma = lw_spread_sigma(spec->precision, spec->output.is_complex, clip->first_bin, clip->sums + i * clip->n_summed,
                                   clip->n_summed, scratch.work, &clip->n_finite[at]);
    const double median = lw_noise_pass_median(&clip->pass, clip->n_channels, pair, scratch.work, &n);
    clip->noise[at] = n >= LEAST_PIECES && fabs(median - sigma) > VARIES * sigma ? median : sigma;      /* the noise varies */
    return LW_OK;
}

static int measure_group(struct clip *clip, struct lw_setup *setup, int64_t channel, int64_t n_channels, struct lw_error *err)
{
    const int64_t n_pairs = lw_noise_pass_pairs(&clip->pass, n_channels);
    int64_t range[2] = {0, 0};
    clip->n_blocks = 0;
    clip->channel = channel;
    clip->n_channels = n_channels;
    int rc = lw_noise_pass_go(&clip->pass, setup, channel, n_channels, count_block, clip, err);
    for (int thread = 0; thread < clip->n_threads; thread++)
        for (int k = 0; k < 2; k++)
            range[k] = lw_max64(range[k], scratch_of(clip, thread).range[k]);
    if (rc)
        return rc;
    /* Only bins that some rank has filled are added up, and one bin more, a place for the sums over all bins. */
    clip->first_bin = clip->bins - lw_comm_max(setup->comm, range[0]);
    clip->n_summed = lw_max64(0, lw_min64(lw_comm_max(setup->comm, range[1]) + 1, clip->bins) - clip->first_bin);
    const int64_t together = SUMMED / lw_max64(clip->n_summed, 1);
    for (clip->first_pair = 0; clip->first_pair < n_pairs && rc == LW_OK; clip->first_pair += together) {
        const int64_t n = lw_min64(together, n_pairs - clip->first_pair);
        rc = share(clip, n, move_counts, err);
        lw_comm_collect(setup->comm, clip->sums, n * clip->n_summed, 0);
        if (rc == LW_OK && lw_comm_rank(setup->comm) == 0)
            rc = share(clip, n, find_sigma, err);
    }
    return rc;
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */

static int open_clip(struct clip *clip, struct lw_setup *setup, struct lw_error *err)
{
    clip->counted = lw_counted_of(setup, &clip->pass.plan.op);
    if (!(clip->counts = lw_alloc_array(n_bins(clip, clip->pass.group), sizeof *clip->counts, "the counts of the noise", err)) ||
        !(clip->scratch = lw_alloc_array(clip->n_threads, (size_t)scratch_bytes(clip), "the counts of pieces", err)) ||
        !(clip->marks = lw_alloc_array(n_marked(clip, clip->pass.group), (size_t)marks_bytes(clip) + sizeof *clip->has_marks,
                                       "the marks of outputs", err)) ||
        !(clip->sums = lw_alloc_array(SUMMED, sizeof *clip->sums, "the sums of counts", err)))
        return LW_ESYSTEM;
    clip->has_marks = (bool *)(clip->marks + n_marked(clip, clip->pass.group) * marks_bytes(clip));
    return lw_noise_pass_open(&clip->pass, setup, err);
}

/* Set said->text, such as "262144 outputs of each channel and filter in each of 12 stretches of 1800000 outputs (1800 s)". */
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
    snprintf(said->text, sizeof said->text, "%" PRId64 " outputs of each %s and %s%s",
             lw_min64(blocks->count * blocks->length, clip->end - clip->begin) * lw_op_width(&job->op),
             job->ops->channel, job->ops->filter, stretches);
}

/* Measure as many filters, from number `first` on, as fit into one pass. @param n  set to their number */
static int measure_filters(struct lw_setup *setup, const struct lw_plan *plan, int first, int *n, struct lw_noise_said *said,
                           struct lw_error *err)
{
    struct clip clip =
        clip_of(&setup->job, setup->engine, plan, lw_comm_size(setup->comm), setup->pool ? lw_pool_threads(setup->pool) : 1);
    clip.pool = setup->pool;
    clip.noise = setup->job.noise;
    clip.n_finite = said->n_finite;
    const struct lw_plan_spec spec = {
        .comm = setup->comm, .job = &setup->job, .engine = setup->engine, .reader = setup->reader, .map = setup->map,
        .mask = setup->mask,
    };
    int rc = choose(&clip, &spec, plan, first, err);
    if ((rc = lw_comm_agree(setup->comm, rc ? rc : lw_noise_pass_take(&clip.pass, setup, first, err), err)))
        return rc;
    char text[160];
    snprintf(text, sizeof text, "blocks of %" PRId64 ", %" PRId64 " filters, channels by %" PRId64, clip.pass.blocks.length,
             n_filters(&clip), clip.pass.plan.op.channel_unit);
    /* Ranks on different processors (--engine allow-mixed) must use the same blocks. */
    if ((rc = lw_comm_same(setup->comm, "how the engine measures the noise", text, err)))
        return rc;
    rc = lw_comm_agree(setup->comm, open_clip(&clip, setup, err), err);
    const int64_t all = setup->job.op.n_channels, group = clip.pass.group;
    for (int64_t channel = 0; channel < all && rc == LW_OK; channel += group)
        for (int64_t stretch = 0; stretch < n_stretches(&clip) && rc == LW_OK; stretch++) {
            choose_stretch(&clip, stretch);
            rc = measure_group(&clip, setup, channel, lw_min64(group, all - channel), err);
        }
    choose_stretch(&clip, 0);
    *n = (int)n_filters(&clip);
    tell(&clip, said);
    lw_noise_pass_close(&clip.pass);
    lw_free(clip.counts);
    lw_free(clip.scratch);
    lw_free(clip.marks);
    lw_free(clip.sums);
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
