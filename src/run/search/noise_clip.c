/* noise_clip.c - --noise measured: sigma of signal/spread.h, over the outputs that counted.h lets count.
 *
 * Blocks of the filtered series come to the host, where their values are counted, for each piece of a block and for all together. The
 * ranks' counts of all are added up, their pieces' sigmas gathered. Neither ranks nor memory change a count: memory bounds the channels
 * that are counted at a time, and what bounds the filters depends on shapes alone. */
#include "run/search/noise_pass.h"

#include "base/integers.h"
#include "base/memory.h"
#include "run/search/counted.h"
#include "run/search/noise.h"
#include "signal/spread.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block has at most so many values of all its channels and filters, where it can have fewer channels or filters; where
 * time is slow, more channels, which are together in the file. */
enum { BLOCK_VALUES = 1 << 22, BLOCK_VALUES_SLOW = 1 << 24 };

/* Outputs of a channel and a filter that 32 bits count. */
#define MOST_OUTPUTS ((int64_t)1 << 31)

/* A piece is a block of a signal, which is at least so many times as long as its filters; of an image a square of so many pixels, or so
 * many times the kernel's length, about. */
enum { PIECE_TAPS = 64, LONGEST_PIECE = 1 << 16, PIECE_SIDE = 64, PIECE_KERNELS = 4 };

/* Sigma of all counts where it differs by less than this from the median of the pieces, and where there are few. */
#define VARIES 0.1
enum { LEAST_PIECES = 16 };

/* Doubles of the counts that ranks add up at a time: several channels and filters in single precision, one in double. */
enum { SUMMED = 1 << 17 };

/* Sides of a block that are cut into so many parts each; none: there are no pieces. */
struct cells {
    int64_t rows, columns;
};

/* Where time is slow, so many channels beside each other are taken at a time, so that all is used that comes with a line of the cache;
 * fewer, where they have more values than that. */
enum { SLOW_CHANNELS = 16, SLOW_VALUES = 1 << 19 };

struct clip {
    struct lw_noise_pass pass;
    struct lw_counted counted;
    struct lw_pool *pool;       /* NULL: one thread does all */
    int n_threads;
    int first_filter;           /* of those of the pass */
    int64_t bins;
    struct cells cells;
    uint32_t *counts;           /* [group][filters of the pass][bins] */
    char *scratch;              /* [n_threads][scratch_bytes] */
    double *mine;               /* [blocks of a rank][cells][group x filters of the pass] sigmas of pieces; -1: it is too small */
    double *all;                /* rank 0: those of all ranks; `mine` is as large there */
    int64_t n_blocks;           /* of the channels that are being counted, so far */
    double *sums, *work;        /* [summed] */
    int64_t summed;
    const struct lw_slot *slot; /* that is being counted, and its number */
    int number;
};

static bool has_pixels(const struct lw_job *job) { return job->op.kind == LW_OP_CONV2D; }

static int64_t width_of(const struct lw_job *job) { return has_pixels(job) ? job->op.conv2d.output_columns : 1; }

static int64_t n_filters(const struct clip *clip) { return lw_op_filters(&clip->pass.spec); }

/* ---- which outputs ------------------------------------------------------------------------------------------------- */

/* Where some blocks of the axis are enough, so many of `all` are taken. @param outputs  of a block, of a channel and a filter */
static int64_t count_blocks(const struct lw_job *job, int64_t all, int64_t outputs)
{
    const int64_t an_eighth = divide_up(all, LW_NOISE_BOUND), pairs = job->op.n_channels * lw_op_filters(&job->op);
    const int64_t bound = max64(an_eighth, LW_NOISE_VALUES / pairs / outputs), even = min64(LW_NOISE_BLOCKS, an_eighth);
    const int64_t wanted = max64(min64(divide_up(LW_NOISE_OUTPUTS, outputs), bound), even);
    return min64(all, max64(1, min64(wanted, MOST_OUTPUTS / outputs)));
}

/* Side of a piece of an image. */
static int64_t side_of(const struct lw_conv2d_spec *c) { return max64(PIECE_SIDE, PIECE_KERNELS * max64(c->kernel_rows, c->kernel_columns)); }

static struct lw_noise_blocks choose_blocks(const struct lw_job *job, int64_t unit)
{
    const int64_t of_signal = has_pixels(job) ? 0 : min64(max64(LW_NOISE_LENGTH, PIECE_TAPS * job->op.ols.n_taps), LONGEST_PIECE);
    const int64_t wanted = has_pixels(job) ? min64(side_of(&job->op.conv2d), LONGEST_PIECE) : of_signal;
    const int64_t length = round_up(wanted, unit), all = divide_up(job->n_outputs, length);
    return (struct lw_noise_blocks){.length = length, .all = all, .count = count_blocks(job, all, min64(length, job->n_outputs) * width_of(job))};
}

/* Parts of about `wanted`. */
static int64_t parts_of(int64_t length, int64_t wanted) { return max64(1, (length + wanted / 2) / wanted); }

static struct cells choose_cells(const struct lw_job *job, int64_t length)
{
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    if (!has_pixels(job))
        return length >= PIECE_TAPS * job->op.ols.n_taps ? (struct cells){1, 1} : (struct cells){0};
    return (struct cells){parts_of(min64(length, job->n_outputs), side_of(c)), parts_of(c->output_columns, side_of(c))};
}

/* Filters [first, first + n) of the job, as a series of the computing precision. */
static void take_filters(const struct lw_job *job, int first, int n, struct lw_op_spec *spec)
{
    const bool is_image = has_pixels(job);
    *spec = job->op;
    spec->output = (struct lw_type){
        .scalar = spec->precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64,
        .is_complex = spec->input.is_complex || (is_image ? spec->conv2d.kernel_complex : spec->ols.taps_complex),
    };
    spec->output_scale = 0;
    if (is_image) {
        spec->conv2d.every = 1;
        spec->conv2d.search = (struct lw_search){.products = LW_FILTERED};
        return;
    }
    spec->ols.post = (struct lw_post){.kind = LW_POST_NONE};
    spec->ols.search = (struct lw_search){.products = LW_FILTERED};
    spec->ols.taps += first * spec->ols.n_taps * (spec->ols.taps_complex ? 2 : 1);
    spec->ols.n_filters = n;
}

/* The values of a block of the fewest channels. */
static int64_t least_values(const struct clip *clip)
{
    const struct lw_noise_pass *const pass = &clip->pass;
    return min64(pass->blocks.length, pass->job->n_outputs) * width_of(pass->job) * pass->plan.op.channel_unit;
}

static int plan_filters(struct clip *clip, int first, int n, struct lw_error *err)
{
    struct lw_noise_pass *const pass = &clip->pass;
    take_filters(pass->job, first, n, &pass->spec);
    const int rc = pass->engine->ops->op_plan(pass->engine, &pass->spec, &pass->plan.op, err);
    if (rc)
        return rc;
    pass->blocks = choose_blocks(pass->job, pass->plan.op.unit);
    pass->group = min64(pass->plan.op.channel_unit, pass->job->op.n_channels);
    clip->cells = choose_cells(pass->job, pass->blocks.length);
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
    const int64_t most = max64(1, BLOCK_VALUES / least_values(clip)), n = divide_up(all, divide_up(all, most));
    return n == all ? LW_OK : plan_filters(clip, first, (int)min64(n, all - first), err);
}

static struct clip clip_of(const struct lw_job *job, const struct lw_engine *engine, const struct lw_plan *plan, int n_ranks, int n_threads)
{
    struct clip clip = {.pass = lw_noise_pass_of(job, engine, plan, n_ranks), .n_threads = n_threads > 0 ? n_threads : 1};
    if (job->op.layout == LW_TIME_SLOW)     /* more channels at a time are worth more than a third block on its way */
        clip.pass.depth = (int)min64(clip.pass.depth, 2);
    clip.bins = lw_spread_bins(job->op.precision);
    clip.summed = max64(clip.bins, SUMMED);
    return clip;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* What a thread has for itself: the marks of channels, what marking takes, a piece's counts, which become sums, and, where time is slow,
 * samples or outputs of channels one after the other. */
struct scratch {
    unsigned char *skip;
    void *marking;
    uint32_t *counts;
    double *sums, *work;
    char *line;
};

static int64_t longest_block(const struct clip *clip) { return min64(clip->pass.blocks.length, clip->pass.job->n_outputs); }

/* Channels that are taken together. */
static int64_t n_together(const struct clip *clip)
{
    const int64_t most = SLOW_VALUES / (longest_block(clip) + clip->pass.plan.op.halo);
    return clip->pass.spec.layout == LW_TIME_SLOW ? max64(1, min64(SLOW_CHANNELS, most)) : 1;
}

/* Of one channel. */
static int64_t marks_bytes(const struct clip *clip) { return round_up(longest_block(clip) * width_of(clip->pass.job), LW_ALIGNMENT); }

static int64_t line_bytes(const struct clip *clip)
{
    const struct lw_op_spec *const spec = &clip->pass.spec;
    const int64_t samples = (longest_block(clip) + clip->pass.plan.op.halo) * (int64_t)lw_type_bytes(spec->input);
    const int64_t outputs = longest_block(clip) * (int64_t)lw_type_bytes(spec->output);
    return spec->layout == LW_TIME_SLOW ? round_up(max64(samples, outputs), LW_ALIGNMENT) : 0;
}

static int64_t marking_bytes(const struct clip *clip)
{
    return round_up(lw_counted_bytes(clip->pass.job, &clip->pass.plan.op, clip->pass.blocks.length), LW_ALIGNMENT);
}

static int64_t scratch_bytes(const struct clip *clip)
{
    const int64_t a_bin = 2 * (int64_t)sizeof(double) + (int64_t)sizeof(uint32_t);
    return n_together(clip) * (marks_bytes(clip) + line_bytes(clip)) + marking_bytes(clip) + round_up(clip->bins * a_bin, LW_ALIGNMENT);
}

static struct scratch scratch_of(const struct clip *clip, int thread)
{
    char *const its = clip->scratch + thread * scratch_bytes(clip);
    char *const marking = its + n_together(clip) * marks_bytes(clip), *const line = marking + marking_bytes(clip);
    double *const sums = (double *)(line + n_together(clip) * line_bytes(clip));
    return (struct scratch){(unsigned char *)its, marking, (uint32_t *)(sums + 2 * clip->bins), sums, sums + clip->bins, line};
}

static int64_t n_cells(const struct clip *clip) { return clip->cells.rows * clip->cells.columns; }

/* Sigmas of a rank's pieces, of each kind. */
static int64_t rows_of_rank(const struct clip *clip) { return lw_noise_most_blocks(&clip->pass) * n_cells(clip); }

static struct lw_bytes bytes_of(const struct clip *clip, const struct lw_reader *reader, const struct lw_mask *mask,
                                const struct lw_plan *run)
{
    const struct lw_job *const job = clip->pass.job;
    const int64_t pairs = clip->pass.group * n_filters(clip), all = job->op.n_channels * lw_op_filters(&job->op);
    struct lw_bytes bytes = lw_noise_pass_bytes(&clip->pass, reader, mask, run);
    bytes.host += pairs * clip->bins * (int64_t)sizeof *clip->counts + clip->n_threads * scratch_bytes(clip);
    bytes.host += (2 * clip->summed + all + 2 * clip->pass.n_ranks * pairs * rows_of_rank(clip)) * (int64_t)sizeof(double);
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
    int64_t group = min64(plan->rounds.group, most) / unit * unit;
    do {
        clip->pass.group = max64(least, group);
        group = group / 2 / unit * unit;
    } while (clip->pass.group > least && !fits(clip, setup, plan));
    clip->pass.group = lw_comm_min(setup->comm, clip->pass.group);
}

/* ---- counts -------------------------------------------------------------------------------------------------------- */

static uint32_t *counts_of(const struct clip *clip, int64_t c, int64_t f)
{
    return clip->counts + (c * n_filters(clip) + f) * clip->bins;
}

/* Values of the slot's block, behind one filter, and which of them do not count; NULL: all do. */
struct values {
    const char *values;
    const unsigned char *skip;
};

/* Outputs [first, end) on the axis, and columns likewise. */
static void count_values(const struct clip *clip, const struct values *v, const int64_t rows[2], const int64_t columns[2], uint32_t *counts)
{
    const struct lw_op_spec *const spec = &clip->pass.spec;
    const int64_t width = width_of(clip->pass.job), bytes = (int64_t)lw_type_bytes(spec->output), n = columns[1] - columns[0];
    const bool are_together = n == width;
    for (int64_t row = rows[0]; row < rows[1]; row += are_together ? rows[1] - rows[0] : 1) {
        const int64_t first = row * width + columns[0];
        lw_spread_count(spec->precision, spec->output.is_complex, v->values + first * bytes, are_together ? (rows[1] - row) * n : n,
                        v->skip ? v->skip + first : NULL, counts);
    }
}

/* Sigma of counts; -1: there are fewer than `least`. */
static double sigma_of(const struct clip *clip, const struct scratch *scratch, double least)
{
    double n_finite;
    int64_t first = 0, end = clip->bins;
    while (first < end && scratch->counts[first] == 0)
        first++;
    while (end > first && scratch->counts[end - 1] == 0)
        end--;
    end = min64(end + 1, clip->bins);
    for (int64_t bin = first; bin < end; bin++)
        scratch->sums[bin - first] = scratch->counts[bin];
    const double sigma = lw_spread_sigma(clip->pass.spec.precision, clip->pass.spec.output.is_complex, first, scratch->sums, end - first,
                                         scratch->work, &n_finite);
    return n_finite >= least ? sigma : -1;
}

/* A piece counts if half of its outputs do. */
static double count_cell(const struct clip *clip, const struct values *v, int64_t row, int64_t column, const struct scratch *scratch,
                         uint32_t *counts)
{
    const int64_t length = min64(clip->pass.blocks.length, clip->pass.job->n_outputs), n = clip->slot->block.count;
    const int64_t width = width_of(clip->pass.job), tall = divide_up(length, clip->cells.rows), wide = divide_up(width, clip->cells.columns);
    const int64_t rows[2] = {min64(row * tall, n), min64((row + 1) * tall, n)};
    const int64_t columns[2] = {min64(column * wide, width), min64((column + 1) * wide, width)};
    memset(scratch->counts, 0, (size_t)clip->bins * sizeof *scratch->counts);
    if (rows[0] < rows[1] && columns[0] < columns[1])
        count_values(clip, v, rows, columns, scratch->counts);
    for (int64_t bin = 0; bin < clip->bins; bin++)
        counts[bin] += scratch->counts[bin];
    return sigma_of(clip, scratch, 0.5 * (double)(tall * wide));
}

/* @param sigmas  [cells][channels x filters], of this channel and filter */
static void count_all(const struct clip *clip, const struct values *v, const struct scratch *scratch, double *sigmas, uint32_t *counts)
{
    const int64_t all[2] = {0, clip->slot->block.count}, columns[2] = {0, width_of(clip->pass.job)};
    const int64_t n_pairs = clip->slot->block.n_channels * n_filters(clip);
    if (n_cells(clip) == 0)
        count_values(clip, v, all, columns, counts);
    for (int64_t cell = 0; cell < n_cells(clip); cell++)
        sigmas[cell * n_pairs] = count_cell(clip, v, cell / clip->cells.columns, cell % clip->cells.columns, scratch, counts);
}

/* Channels [c, c + n) of [length][channels of the slot], each `pitch` bytes behind the one before it. */
static inline void gather_of(size_t bytes, const struct lw_slot *slot, const char *from, int64_t length, int64_t c, int64_t n, char *to,
                             int64_t pitch)
{
    for (int64_t i = 0; i < length; i++)
        for (int64_t k = 0; k < n; k++)
            memcpy(to + k * pitch + i * (int64_t)bytes, from + (i * slot->block.n_channels + c + k) * (int64_t)bytes, bytes);
}

/* Each size of its own, which the compiler then knows. */
static void gather(size_t bytes, const struct lw_slot *slot, const char *from, int64_t length, int64_t c, int64_t n, char *to, int64_t pitch)
{
    switch (bytes) {
    case 1:
        gather_of(1, slot, from, length, c, n, to, pitch);
        break;
    case 2:
        gather_of(2, slot, from, length, c, n, to, pitch);
        break;
    case 4:
        gather_of(4, slot, from, length, c, n, to, pitch);
        break;
    case 8:
        gather_of(8, slot, from, length, c, n, to, pitch);
        break;
    default:
        gather_of(16, slot, from, length, c, n, to, pitch);
    }
}

/* Channels [c, c + n) of what has `length` samples of each on the axis; one after the other where time is slow.
 * @param pitch  set: bytes from one to the next */
static const char *lines_of(const struct clip *clip, const char *from, struct lw_type type, int64_t length, int64_t c, int64_t n,
                            const struct scratch *scratch, int64_t *pitch)
{
    const int64_t bytes = (int64_t)lw_type_bytes(type);
    const bool is_slow = clip->pass.spec.layout == LW_TIME_SLOW;
    *pitch = is_slow ? line_bytes(clip) : length * bytes;
    if (is_slow)
        gather((size_t)bytes, clip->slot, from, length, c, n, scratch->line, *pitch);
    return is_slow ? scratch->line : from + c * *pitch;
}

/* @param has_marks  [n] set: some output of the channel does not count */
static void mark_channels(const struct clip *clip, int64_t c, int64_t n, const struct scratch *scratch, bool *has_marks)
{
    const struct lw_slot *const slot = clip->slot;
    int64_t pitch = 0;
    const char *const lines = has_pixels(clip->pass.job) ? NULL
                                                         : lines_of(clip, slot->input, clip->pass.spec.input,
                                                                    clip->pass.plan.op.halo + slot->block.count, c, n, scratch, &pitch);
    for (int64_t k = 0; k < n; k++)
        has_marks[k] = lw_counted_mark(&clip->counted, slot, clip->number, c + k, lines ? lines + k * pitch : NULL,
                                       scratch->skip + k * marks_bytes(clip), scratch->marking);
}

/* Channels [c, c + n) of the slot, behind all filters. */
static void count_channels(const struct clip *clip, int64_t c, int64_t n, int thread)
{
    const struct lw_op_spec *const spec = &clip->pass.spec;
    const struct lw_block *const block = &clip->slot->block;
    const int64_t outputs = block->count * width_of(clip->pass.job), n_pairs = block->n_channels * n_filters(clip);
    const struct scratch scratch = scratch_of(clip, thread);
    bool has_marks[SLOW_CHANNELS];
    int64_t pitch = 0;
    mark_channels(clip, c, n, &scratch, has_marks);
    for (int64_t f = 0; f < n_filters(clip); f++) {
        const char *const plane = (const char *)clip->slot->products[0].data +
                                  (size_t)(f * block->n_channels * outputs) * lw_type_bytes(spec->output);
        const char *const lines = lines_of(clip, plane, spec->output, outputs, c, n, &scratch, &pitch);
        for (int64_t k = 0; k < n; k++) {
            const struct values values = {lines + k * pitch, has_marks[k] ? scratch.skip + k * marks_bytes(clip) : NULL};
            count_all(clip, &values, &scratch, clip->mine + clip->n_blocks * n_cells(clip) * n_pairs + (c + k) * n_filters(clip) + f,
                      counts_of(clip, c + k, f));
        }
    }
}

static int count_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct clip *const clip = context;
    const int64_t first = piece * n_together(clip);
    (void)err;
    count_channels(clip, first, min64(n_together(clip), clip->slot->block.n_channels - first), thread);
    return LW_OK;
}

static int count_block(void *context, const struct lw_slot *slot, int number, struct lw_error *err)
{
    struct clip *const clip = context;
    clip->slot = slot;
    clip->number = number;
    const int64_t n_pieces = divide_up(slot->block.n_channels, n_together(clip));
    int rc = LW_OK;
    if (clip->pool && n_pieces > 1) {
        struct lw_batch batch = {.lane = LW_LANE_READ, .n_pieces = n_pieces, .work = count_piece, .context = clip};
        lw_pool_start(clip->pool, &batch);
        rc = lw_pool_wait(clip->pool, &batch, err);
    } else
        for (int64_t piece = 0; rc == LW_OK && piece < n_pieces; piece++)
            rc = count_piece(clip, piece, 0, err);
    clip->n_blocks++;
    return rc;
}

/* ---- sigma --------------------------------------------------------------------------------------------------------- */

/* Bins [first, end) that some rank has counted in, and one more, so that the sums over all of them have a place. */
struct range {
    int64_t first, end;
};

static struct range find_range(const struct clip *clip, struct lw_comm *comm, int64_t n_pairs)
{
    struct range range = {clip->bins, 0};
    for (int64_t i = 0; i < n_pairs; i++) {
        const uint32_t *const counts = clip->counts + i * clip->bins;
        int64_t first = 0, end = clip->bins;
        while (first < range.first && counts[first] == 0)
            first++;
        while (end > range.end && counts[end - 1] == 0)
            end--;
        range = (struct range){min64(range.first, first), max64(range.end, end)};
    }
    range = (struct range){lw_comm_min(comm, range.first), lw_comm_max(comm, range.end)};
    return (struct range){min64(range.first, range.end), min64(range.end + 1, clip->bins)};
}

static void find_sigmas(struct clip *clip, struct lw_setup *setup, int64_t channel, int64_t n_channels, struct lw_noise_said *said)
{
    const struct lw_op_spec *const spec = &clip->pass.spec;
    const int64_t its = n_filters(clip), all = lw_op_filters(&setup->job.op), n_pairs = n_channels * its;
    const struct range range = find_range(clip, setup->comm, n_pairs);
    const int64_t n = range.end - range.first, together = clip->summed / max64(n, 1);
    for (int64_t first = 0; first < n_pairs; first += together) {
        const int64_t end = min64(first + together, n_pairs);
        for (int64_t i = first; i < end; i++)
            for (int64_t bin = 0; bin < n; bin++)
                clip->sums[(i - first) * n + bin] = clip->counts[i * clip->bins + range.first + bin];
        lw_comm_collect(setup->comm, clip->sums, (end - first) * n, 0);
        for (int64_t i = first; i < end && lw_comm_rank(setup->comm) == 0; i++) {
            const int64_t at = (channel + i / its) * all + clip->first_filter + i % its;
            setup->job.noise[at] = lw_spread_sigma(spec->precision, spec->output.is_complex, range.first, clip->sums + (i - first) * n, n,
                                                   clip->work, &said->n_finite[at]);
        }
    }
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* On rank 0: where noise varies, that of half of the pieces is less and of half more. */
static void take_medians(const struct clip *clip, struct lw_setup *setup, int64_t channel, int64_t n_channels)
{
    const int64_t its = n_filters(clip), n_pairs = n_channels * its, rows = clip->pass.n_ranks * rows_of_rank(clip);
    double *const values = clip->mine;
    for (int64_t i = 0; i < n_pairs; i++) {
        double *const noise = &setup->job.noise[(channel + i / its) * lw_op_filters(&setup->job.op) + clip->first_filter + i % its];
        int64_t n = 0;
        for (int64_t row = 0; row < rows; row++)
            if (clip->all[row * n_pairs + i] >= 0)
                values[n++] = clip->all[row * n_pairs + i];
        qsort(values, (size_t)n, sizeof *values, compare);
        const double median = n >= LEAST_PIECES ? (values[(n - 1) / 2] + values[n / 2]) / 2 : *noise;
        if (fabs(median - *noise) > VARIES * *noise)
            *noise = median;
    }
}

static int measure_group(struct clip *clip, struct lw_setup *setup, int64_t channel, int64_t n_channels, struct lw_noise_said *said,
                         struct lw_error *err)
{
    const int64_t n_pairs = n_channels * n_filters(clip), n_sigmas = rows_of_rank(clip) * n_pairs;
    memset(clip->counts, 0, (size_t)(n_pairs * clip->bins) * sizeof *clip->counts);
    for (int64_t i = 0; i < n_sigmas; i++)
        clip->mine[i] = -1;
    clip->n_blocks = 0;
    const int rc = lw_comm_agree(setup->comm, lw_noise_pass_go(&clip->pass, setup, channel, n_channels, count_block, clip, err), err);
    if (rc)
        return rc;
    find_sigmas(clip, setup, channel, n_channels, said);
    lw_comm_gather(setup->comm, clip->mine, (int)n_sigmas, clip->all);
    if (lw_comm_rank(setup->comm) == 0)
        take_medians(clip, setup, channel, n_channels);
    return LW_OK;
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */

/* Ranks on different processors (--allow-mixed) must still part alike. */
static int agree_on_blocks(const struct clip *clip, struct lw_comm *comm, struct lw_error *err)
{
    char text[160];
    snprintf(text, sizeof text, "blocks of %" PRId64 ", %" PRId64 " filters, channels by %" PRId64, clip->pass.blocks.length,
             n_filters(clip), clip->pass.plan.op.channel_unit);
    return lw_comm_same(comm, "how the engine measures the noise", text, err);
}

static int open_clip(struct clip *clip, struct lw_setup *setup, struct lw_error *err)
{
    const int64_t pairs = clip->pass.group * n_filters(clip), counts = pairs * clip->bins, sigmas = rows_of_rank(clip) * pairs;
    const bool has_all = lw_comm_rank(setup->comm) == 0;
    clip->counted = lw_counted_of(&setup->job, &clip->pass.plan.op, setup->mask, setup->reader);
    if (!(clip->counts = lw_alloc_array(counts, sizeof *clip->counts, "the counts of the noise", err)) ||
        !(clip->scratch = lw_alloc_array(clip->n_threads, (size_t)scratch_bytes(clip), "the marks of outputs", err)) ||
        !(clip->mine = lw_alloc_array(has_all ? sigmas * clip->pass.n_ranks : sigmas, sizeof *clip->mine, "the noise of pieces", err)) ||
        (has_all && !(clip->all = lw_alloc_array(sigmas * clip->pass.n_ranks, sizeof *clip->all, "the noise of pieces", err))) ||
        !(clip->sums = lw_alloc_array(clip->summed, sizeof *clip->sums, "the sums of counts", err)) ||
        !(clip->work = lw_alloc_array(clip->summed, sizeof *clip->work, "the sums of counts", err)))
        return LW_ESYSTEM;
    return lw_noise_pass_open(&clip->pass, setup, err);
}

static void close_clip(struct clip *clip)
{
    lw_noise_pass_close(&clip->pass);
    lw_free(clip->counts);
    lw_free(clip->scratch);
    lw_free(clip->mine);
    lw_free(clip->all);
    lw_free(clip->sums);
    lw_free(clip->work);
}

/* The filters from `first` on that are measured together. @param n  set: how many they are */
static int measure_filters(struct lw_setup *setup, const struct lw_plan *plan, int first, int *n, struct lw_noise_said *said,
                           struct lw_error *err)
{
    const int64_t all = setup->job.op.n_channels;
    struct clip clip = clip_of(&setup->job, setup->engine, plan, lw_comm_size(setup->comm),
                               setup->pool ? lw_pool_threads(setup->pool) : 1);
    clip.pool = setup->pool;
    int rc = lw_comm_agree(setup->comm, plan_clip(&clip, first, err), err);
    if (rc || (rc = agree_on_blocks(&clip, setup->comm, err)))
        return rc;
    choose_group(&clip, setup, plan);
    rc = lw_comm_agree(setup->comm, open_clip(&clip, setup, err), err);
    for (int64_t channel = 0; channel < all && rc == LW_OK; channel += clip.pass.group)
        rc = measure_group(&clip, setup, channel, min64(clip.pass.group, all - channel), said, err);
    *n = (int)n_filters(&clip);
    snprintf(said->text, sizeof said->text, "%" PRId64 " outputs of each %s and filter",
             min64(clip.pass.blocks.count * clip.pass.blocks.length, setup->job.n_outputs) * width_of(&setup->job), setup->job.ops->channel);
    close_clip(&clip);
    return rc;
}

int lw_noise_clip(struct lw_setup *setup, const struct lw_plan *plan, struct lw_noise_said *said, struct lw_error *err)
{
    const int64_t pairs = setup->job.op.n_channels * lw_op_filters(&setup->job.op);
    said->n_finite = lw_alloc_array(pairs, sizeof *said->n_finite, "the outputs that count for the noise", err);
    int n = 0, rc = lw_comm_agree(setup->comm, said->n_finite ? LW_OK : LW_ESYSTEM, err);
    for (int first = 0; rc == LW_OK && first < lw_op_filters(&setup->job.op); first += n)
        rc = measure_filters(setup, plan, first, &n, said, err);
    return rc;
}
