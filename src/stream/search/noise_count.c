#include "stream/search/noise_count.h"

#include "base/integers.h"
#include "base/memory.h"
#include "signal/spread.h"

#include <string.h>

/* Where time is slow, so many channels beside each other are taken at a time, so that all is used that comes with a line of the cache;
 * fewer, where they have more values than that. */
enum { SLOW_CHANNELS = 16, SLOW_VALUES = 1 << 19 };

static bool has_pixels(const struct lw_job *job) { return job->op.kind == LW_OP_CONV2D; }

static int64_t width_of(const struct lw_job *job) { return has_pixels(job) ? job->op.conv2d.output_columns : 1; }

static int64_t n_filters(const struct lw_noise_count *count) { return lw_op_filters(&count->pass->spec); }

static int64_t n_cells(const struct lw_noise_count *count) { return count->cells.rows * count->cells.columns; }

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

static int64_t longest_block(const struct lw_noise_count *count) { return min64(count->pass->blocks.length, count->pass->job->n_outputs); }

/* Channels that are taken together. */
static int64_t n_together(const struct lw_noise_count *count)
{
    const int64_t most = SLOW_VALUES / (longest_block(count) + count->pass->plan.op.halo);
    return count->pass->spec.layout == LW_TIME_SLOW ? max64(1, min64(SLOW_CHANNELS, most)) : 1;
}

/* Of one channel. */
static int64_t marks_bytes(const struct lw_noise_count *count)
{
    return round_up(longest_block(count) * width_of(count->pass->job), LW_ALIGNMENT);
}

static int64_t line_bytes(const struct lw_noise_count *count)
{
    const struct lw_op_spec *const spec = &count->pass->spec;
    const int64_t samples = (longest_block(count) + count->pass->plan.op.halo) * (int64_t)lw_type_bytes(spec->input);
    const int64_t outputs = longest_block(count) * (int64_t)lw_type_bytes(spec->output);
    return spec->layout == LW_TIME_SLOW ? round_up(max64(samples, outputs), LW_ALIGNMENT) : 0;
}

static int64_t marking_bytes(const struct lw_noise_count *count)
{
    return round_up(lw_counted_bytes(count->pass->job, &count->pass->plan.op, count->pass->blocks.length), LW_ALIGNMENT);
}

static int64_t scratch_bytes(const struct lw_noise_count *count)
{
    const int64_t a_bin = 2 * (int64_t)sizeof(double) + (int64_t)sizeof(uint32_t);
    const int64_t of_lines = n_together(count) * (marks_bytes(count) + line_bytes(count));
    return of_lines + marking_bytes(count) + round_up(count->bins * a_bin, LW_ALIGNMENT);
}

static struct scratch scratch_of(const struct lw_noise_count *count, int thread)
{
    char *const its = count->scratch + thread * scratch_bytes(count);
    char *const marking = its + n_together(count) * marks_bytes(count), *const line = marking + marking_bytes(count);
    double *const sums = (double *)(line + n_together(count) * line_bytes(count));
    return (struct scratch){(unsigned char *)its, marking, (uint32_t *)(sums + 2 * count->bins), sums, sums + count->bins, line};
}

static int64_t n_pairs(const struct lw_noise_count *count, int64_t n_channels) { return n_channels * n_filters(count); }

int64_t lw_noise_count_rows(const struct lw_noise_count *count) { return lw_noise_most_blocks(count->pass) * n_cells(count); }

int64_t lw_noise_count_bytes(const struct lw_noise_count *count)
{
    const int64_t a_pair = count->bins * (int64_t)sizeof *count->counts + lw_noise_count_rows(count) * (int64_t)sizeof *count->sigmas;
    return n_pairs(count, count->pass->group) * a_pair + count->n_threads * scratch_bytes(count);
}

int lw_noise_count_open(struct lw_noise_count *count, struct lw_error *err)
{
    const int64_t pairs = n_pairs(count, count->pass->group);
    if (!(count->counts = lw_alloc_array(pairs * count->bins, sizeof *count->counts, "the counts of the noise", err)) ||
        !(count->sigmas = lw_alloc_array(lw_noise_count_rows(count) * pairs, sizeof *count->sigmas, "the noise of pieces", err)) ||
        !(count->scratch = lw_alloc_array(count->n_threads, (size_t)scratch_bytes(count), "the marks of outputs", err)))
        return LW_ESYSTEM;
    return LW_OK;
}

void lw_noise_count_close(struct lw_noise_count *count)
{
    lw_free(count->counts);
    lw_free(count->sigmas);
    lw_free(count->scratch);
}

void lw_noise_count_begin(struct lw_noise_count *count, int64_t n_channels)
{
    const int64_t pairs = n_pairs(count, n_channels);
    memset(count->counts, 0, (size_t)(pairs * count->bins) * sizeof *count->counts);
    for (int64_t i = 0; i < lw_noise_count_rows(count) * pairs; i++)
        count->sigmas[i] = -1;
    count->n_blocks = 0;
}

/* ---- counts -------------------------------------------------------------------------------------------------------- */

static uint32_t *counts_of(const struct lw_noise_count *count, int64_t c, int64_t f)
{
    return count->counts + (c * n_filters(count) + f) * count->bins;
}

/* Values of the slot's block, behind one filter, and which of them do not count; NULL: all do. */
struct values {
    const char *values;
    const unsigned char *skip;
};

/* Outputs [first, end) on the axis, and columns likewise. */
static void count_values(const struct lw_noise_count *count, const struct values *v, const int64_t rows[2], const int64_t columns[2],
                         uint32_t *counts)
{
    const struct lw_op_spec *const spec = &count->pass->spec;
    const int64_t width = width_of(count->pass->job), bytes = (int64_t)lw_type_bytes(spec->output), n = columns[1] - columns[0];
    const int64_t block = count->slot->block.first, begin = max64(rows[0], count->begin - block), end = min64(rows[1], count->end - block);
    const bool are_together = n == width;
    for (int64_t row = begin; row < end; row += are_together ? end - begin : 1) {
        const int64_t first = row * width + columns[0];
        lw_spread_count(spec->precision, spec->output.is_complex, v->values + first * bytes, are_together ? (end - row) * n : n,
                        v->skip ? v->skip + first : NULL, counts);
    }
}

/* Sigma of counts; -1: there are fewer than `least`. */
static double sigma_of(const struct lw_noise_count *count, const struct scratch *scratch, double least)
{
    double n_finite;
    int64_t first = 0, end = count->bins;
    while (first < end && scratch->counts[first] == 0)
        first++;
    while (end > first && scratch->counts[end - 1] == 0)
        end--;
    end = min64(end + 1, count->bins);
    for (int64_t bin = first; bin < end; bin++)
        scratch->sums[bin - first] = scratch->counts[bin];
    const struct lw_op_spec *const spec = &count->pass->spec;
    const double sigma = lw_spread_sigma(spec->precision, spec->output.is_complex, first, scratch->sums, end - first, scratch->work,
                                         &n_finite);
    return n_finite >= least ? sigma : -1;
}

/* A piece counts if half of its outputs do. */
static double count_cell(const struct lw_noise_count *count, const struct values *v, int64_t row, int64_t column,
                         const struct scratch *scratch, uint32_t *counts)
{
    const int64_t length = min64(count->pass->blocks.length, count->pass->job->n_outputs), n = count->slot->block.count;
    const int64_t width = width_of(count->pass->job);
    const int64_t tall = divide_up(length, count->cells.rows), wide = divide_up(width, count->cells.columns);
    const int64_t rows[2] = {min64(row * tall, n), min64((row + 1) * tall, n)};
    const int64_t columns[2] = {min64(column * wide, width), min64((column + 1) * wide, width)};
    memset(scratch->counts, 0, (size_t)count->bins * sizeof *scratch->counts);
    if (rows[0] < rows[1] && columns[0] < columns[1])
        count_values(count, v, rows, columns, scratch->counts);
    for (int64_t bin = 0; bin < count->bins; bin++)
        counts[bin] += scratch->counts[bin];
    return sigma_of(count, scratch, 0.5 * (double)(tall * wide));
}

/* @param sigmas  [cells][channels x filters], of this channel and filter */
static void count_all(const struct lw_noise_count *count, const struct values *v, const struct scratch *scratch, double *sigmas,
                      uint32_t *counts)
{
    const int64_t all[2] = {0, count->slot->block.count}, columns[2] = {0, width_of(count->pass->job)};
    const int64_t pairs = n_pairs(count, count->slot->block.n_channels);
    if (n_cells(count) == 0)
        count_values(count, v, all, columns, counts);
    for (int64_t cell = 0; cell < n_cells(count); cell++)
        sigmas[cell * pairs] = count_cell(count, v, cell / count->cells.columns, cell % count->cells.columns, scratch, counts);
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
static void gather(size_t bytes, const struct lw_slot *slot, const char *from, int64_t length, int64_t c, int64_t n, char *to,
                   int64_t pitch)
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
static const char *lines_of(const struct lw_noise_count *count, const char *from, struct lw_type type, int64_t length, int64_t c, int64_t n,
                            const struct scratch *scratch, int64_t *pitch)
{
    const int64_t bytes = (int64_t)lw_type_bytes(type);
    const bool is_slow = count->pass->spec.layout == LW_TIME_SLOW;
    *pitch = is_slow ? line_bytes(count) : length * bytes;
    if (is_slow)
        gather((size_t)bytes, count->slot, from, length, c, n, scratch->line, *pitch);
    return is_slow ? scratch->line : from + c * *pitch;
}

/* @param has_marks  [n] set: some output of the channel does not count */
static void mark_channels(const struct lw_noise_count *count, int64_t c, int64_t n, const struct scratch *scratch, bool *has_marks)
{
    const struct lw_slot *const slot = count->slot;
    int64_t pitch = 0;
    const char *const lines = has_pixels(count->pass->job) ? NULL
                                                         : lines_of(count, slot->input, count->pass->spec.input,
                                                                    count->pass->plan.op.halo + slot->block.count, c, n, scratch, &pitch);
    for (int64_t k = 0; k < n; k++)
        has_marks[k] = lw_counted_mark(&count->counted, slot, count->number, c + k, lines ? lines + k * pitch : NULL,
                                       scratch->skip + k * marks_bytes(count), scratch->marking);
}

/* Channels [c, c + n) of the slot, behind all filters. */
static void count_channels(const struct lw_noise_count *count, int64_t c, int64_t n, int thread)
{
    const struct lw_op_spec *const spec = &count->pass->spec;
    const struct lw_block *const block = &count->slot->block;
    const int64_t outputs = block->count * width_of(count->pass->job), pairs = n_pairs(count, block->n_channels);
    const struct scratch scratch = scratch_of(count, thread);
    bool has_marks[SLOW_CHANNELS];
    int64_t pitch = 0;
    mark_channels(count, c, n, &scratch, has_marks);
    for (int64_t f = 0; f < n_filters(count); f++) {
        const char *const plane = (const char *)count->slot->products[0].data +
                                  (size_t)(f * block->n_channels * outputs) * lw_type_bytes(spec->output);
        const char *const lines = lines_of(count, plane, spec->output, outputs, c, n, &scratch, &pitch);
        for (int64_t k = 0; k < n; k++) {
            const struct values values = {lines + k * pitch, has_marks[k] ? scratch.skip + k * marks_bytes(count) : NULL};
            count_all(count, &values, &scratch, count->sigmas + count->n_blocks * n_cells(count) * pairs + (c + k) * n_filters(count) + f,
                      counts_of(count, c + k, f));
        }
    }
}

static int count_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct lw_noise_count *const count = context;
    const int64_t first = piece * n_together(count);
    (void)err;
    count_channels(count, first, min64(n_together(count), count->slot->block.n_channels - first), thread);
    return LW_OK;
}

int lw_noise_count_block(void *context, const struct lw_slot *slot, int number, struct lw_error *err)
{
    struct lw_noise_count *const count = context;
    count->slot = slot;
    count->number = number;
    const int64_t n_pieces = divide_up(slot->block.n_channels, n_together(count));
    int rc = LW_OK;
    if (count->pool && n_pieces > 1) {
        struct lw_batch batch = {.lane = LW_LANE_READ, .n_pieces = n_pieces, .work = count_piece, .context = count};
        lw_pool_start(count->pool, &batch);
        rc = lw_pool_wait(count->pool, &batch, err);
    } else
        for (int64_t piece = 0; rc == LW_OK && piece < n_pieces; piece++)
            rc = count_piece(count, piece, 0, err);
    count->n_blocks++;
    return rc;
}
