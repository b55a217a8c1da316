#include "stream/search/noise_count.h"

#include "base/integers.h"
#include "base/memory.h"
#include "signal/spread.h"

#include <string.h>

/* Where time is slow, so many channels beside each other are taken at a time, so that all is used that comes with a line of the
 * cache. */
enum { SLOW_CHANNELS = LW_SPREAD_SERIES };

static int64_t n_filters(const struct lw_noise_count *count) { return lw_op_filters(&count->pass->spec); }

static int64_t n_cells(const struct lw_noise_count *count) { return count->cells.rows * count->cells.columns; }

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* What a thread has for itself: the marks of channels, what marking takes, and of a piece of each the counts, 0 when it is done,
 * and sums. */
struct scratch {
    unsigned char *skip;
    void *marking;
    uint32_t *counts;
    double *sums, *work;
};

static int64_t longest_block(const struct lw_noise_count *count)
{
    return lw_min64(count->pass->blocks.length, count->pass->job->n_outputs);
}

/* Channels that are taken together. */
static int64_t n_together(const struct lw_noise_count *count)
{
    return count->pass->spec.layout == LW_TIME_SLOW ? SLOW_CHANNELS : 1;
}

/* Of one channel. */
static int64_t marks_bytes(const struct lw_noise_count *count)
{
    return lw_round_up(longest_block(count) * lw_op_width(&count->pass->job->op), LW_ALIGNMENT);
}

static int64_t marking_bytes(const struct lw_noise_count *count)
{
    return lw_round_up(lw_counted_bytes(count->pass->job, &count->pass->plan.op, count->pass->blocks.length), LW_ALIGNMENT);
}

static int64_t scratch_bytes(const struct lw_noise_count *count)
{
    const int64_t of_sums = count->bins * 2 * (int64_t)sizeof(double), of_counts = count->bins * (int64_t)sizeof(uint32_t);
    return n_together(count) * marks_bytes(count) + marking_bytes(count) +
           lw_round_up(of_sums + n_together(count) * of_counts, LW_ALIGNMENT);
}

static struct scratch scratch_of(const struct lw_noise_count *count, int thread)
{
    char *const its = count->scratch + thread * scratch_bytes(count), *const marking = its + n_together(count) * marks_bytes(count);
    double *const sums = (double *)(marking + marking_bytes(count));
    return (struct scratch){(unsigned char *)its, marking, (uint32_t *)(sums + 2 * count->bins), sums, sums + count->bins};
}

static int64_t n_bins(const struct lw_noise_count *count, int64_t n_channels)
{
    return lw_noise_pass_pairs(count->pass, n_channels) * count->bins;
}

int64_t lw_noise_count_bytes(const struct lw_noise_count *count)
{
    return n_bins(count, count->pass->group) * (int64_t)sizeof *count->counts + count->n_threads * scratch_bytes(count);
}

int lw_noise_count_open(struct lw_noise_count *count, struct lw_error *err)
{
    if (!(count->counts =
              lw_alloc_array(n_bins(count, count->pass->group), sizeof *count->counts, "the counts of the noise", err)) ||
        !(count->scratch = lw_alloc_array(count->n_threads, (size_t)scratch_bytes(count), "the marks of outputs", err)))
        return LW_ESYSTEM;
    return LW_OK;
}

void lw_noise_count_close(struct lw_noise_count *count)
{
    lw_free(count->counts);
    lw_free(count->scratch);
}

void lw_noise_count_begin(struct lw_noise_count *count, int64_t n_channels)
{
    memset(count->counts, 0, (size_t)n_bins(count, n_channels) * sizeof *count->counts);
    count->n_blocks = 0;
}

/* ---- counts -------------------------------------------------------------------------------------------------------- */

/* The values of channels [c, c + n) of the slot's block, behind a filter, and which of them do not count; NULL: all do. */
struct values {
    int64_t c;
    int n, f;
    const char *values;
    const unsigned char *skip;
};

/* Outputs [first, end) on the axis, and columns likewise, of those that count. @param pitch  from the counts of a channel to the
 * next's */
static void count_values(const struct lw_noise_count *count, const struct values *v, const int64_t rows[2],
                         const int64_t columns[2], uint32_t *counts, int64_t pitch)
{
    const struct lw_op_spec *const spec = &count->pass->spec;
    const struct lw_block *const block = &count->slot->block;
    const int64_t width = lw_op_width(&count->pass->job->op), n = columns[1] - columns[0];
    const int64_t begin = lw_max64(rows[0], count->begin - block->first), end = lw_min64(rows[1], count->end - block->first);
    const bool are_together = n == width;
    struct lw_spread_values part = {
        .precision = spec->precision, .is_complex = spec->output.is_complex, .n_series = v->n, .skip_pitch = marks_bytes(count),
        .stride = spec->layout == LW_TIME_SLOW ? block->n_channels : 1,
    };
    for (int64_t row = begin; row < end; row += are_together ? end - begin : 1) {
        const int64_t first = row * width + columns[0];
        part.values = v->values + first * part.stride * (int64_t)lw_type_bytes(spec->output);
        part.n = are_together ? (end - row) * n : n;
        part.skip = v->skip ? v->skip + first : NULL;
        lw_spread_count(&part, counts, pitch);
    }
}

/* Sigma of a piece's counts, which are added to those of all and forgotten; -1: there are fewer than `least`. */
static double take_piece(const struct lw_noise_count *count, const struct scratch *scratch, uint32_t *piece, double least,
                         uint32_t *counts)
{
    const struct lw_op_spec *const spec = &count->pass->spec;
    double n_finite;
    int64_t first, end;
    lw_spread_range(piece, count->bins, &first, &end);
    end = lw_min64(end + 1, count->bins);      /* one more, which takes the sum */
    for (int64_t bin = first; bin < end; bin++) {
        counts[bin] += piece[bin];
        scratch->sums[bin - first] = piece[bin];
        piece[bin] = 0;
    }
    const double sigma = lw_spread_sigma(spec->precision, spec->output.is_complex, first, scratch->sums, end - first, scratch->work,
                                         &n_finite);
    return n_finite >= least ? sigma : -1;
}

/* Place of the sums of channel k. */
static uint32_t *counts_of(const struct lw_noise_count *count, const struct values *v, int k)
{
    return count->counts + ((v->c + k) * n_filters(count) + v->f) * count->bins;
}

/* A piece counts if half of its outputs do. @param sigmas  [cells][channels x filters], of the first channel and its filter */
static void count_cell(const struct lw_noise_count *count, const struct values *v, int64_t cell, const struct scratch *scratch,
                       double *sigmas)
{
    const int64_t length = longest_block(count), n = count->slot->block.count, width = lw_op_width(&count->pass->job->op);
    const int64_t row = cell / count->cells.columns, tall = lw_divide_up(length, count->cells.rows);
    const int64_t column = cell % count->cells.columns, wide = lw_divide_up(width, count->cells.columns);
    const int64_t rows[2] = {lw_min64(row * tall, n), lw_min64((row + 1) * tall, n)};
    const int64_t columns[2] = {lw_min64(column * wide, width), lw_min64((column + 1) * wide, width)};
    if (columns[0] < columns[1])
        count_values(count, v, rows, columns, scratch->counts, count->bins);
    for (int k = 0; k < v->n; k++)
        sigmas[cell * lw_noise_pass_pairs(count->pass, count->slot->block.n_channels) + k * n_filters(count)] =
            take_piece(count, scratch, scratch->counts + k * count->bins, 0.5 * (double)(tall * wide), counts_of(count, v, k));
}

static void count_all(const struct lw_noise_count *count, const struct values *v, const struct scratch *scratch)
{
    const int64_t all[2] = {0, count->slot->block.count}, columns[2] = {0, lw_op_width(&count->pass->job->op)};
    const int64_t row = count->n_blocks * n_cells(count) * lw_noise_pass_pairs(count->pass, count->slot->block.n_channels);
    if (n_cells(count) == 0)
        count_values(count, v, all, columns, counts_of(count, v, 0), n_filters(count) * count->bins);
    for (int64_t cell = 0; cell < n_cells(count); cell++)
        count_cell(count, v, cell, scratch, count->pass->mine + row + v->c * n_filters(count) + v->f);
}

/* Channels [c, c + n) of the slot, behind all filters. */
static void count_channels(const struct lw_noise_count *count, int64_t c, int n, int thread)
{
    const struct lw_slot *const slot = count->slot;
    const bool is_slow = count->pass->spec.layout == LW_TIME_SLOW;
    const int64_t outputs = slot->block.count * lw_op_width(&count->pass->job->op);
    const struct scratch scratch = scratch_of(count, thread);
    bool has_marks = false;
    for (int k = 0; k < n; k++)
        if (lw_counted_mark(&count->counted, slot, count->number, c + k, scratch.skip + k * marks_bytes(count), scratch.marking))
            has_marks = true;
    for (int f = 0; f < n_filters(count); f++) {
        const int64_t first = f * slot->block.n_channels * outputs + (is_slow ? c : c * outputs);
        const char *const values = (const char *)slot->products[0].data + (size_t)first * lw_type_bytes(count->pass->spec.output);
        count_all(count, &(struct values){c, n, f, values, has_marks ? scratch.skip : NULL}, &scratch);
    }
}

static int count_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct lw_noise_count *const count = context;
    const int64_t first = piece * n_together(count);
    (void)err;
    count_channels(count, first, (int)lw_min64(n_together(count), count->slot->block.n_channels - first), thread);
    return LW_OK;
}

int lw_noise_count_block(void *context, const struct lw_slot *slot, int number, struct lw_error *err)
{
    struct lw_noise_count *const count = context;
    count->slot = slot;
    count->number = number;
    const int64_t n_pieces = lw_divide_up(slot->block.n_channels, n_together(count));
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
