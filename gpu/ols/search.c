/* search.c - memory and steps of a search in the series of a block (signal/search.h).
 *
 * If the filtering kernel can search (lw_cuda_ols_plan.finds), it is launched once each for the crossings, the best filter and the
 * series, as far as these are wanted. Otherwise the series that the search needs goes to work memory at its full rate: the block's
 * outputs and their neighbours on the axis. The kernels of gpu/ols/find.h search it there. */
#include "base/integers.h"
#include "base/memory.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/noise_scales.h"
#include "gpu/ols/ols.h"

#include <math.h>

/* ---- scales ------------------------------------------------------------------------------------------------------ */

/* Return the number of rows of scales, n_filters each: one for each channel in each stretch of the axis. */
static int64_t n_rows(const struct lw_op_spec *spec) { return lw_search_stretches(&spec->ols.search) * spec->n_channels; }

static int64_t n_scales(const struct lw_op_spec *spec) { return n_rows(spec) * spec->ols.n_filters; }

int64_t lw_ols_scales_bytes(const struct lw_op_spec *spec)
{
    return lw_cuda_scales_bytes(&spec->ols.search, n_scales(spec), spec->precision);
}

int64_t lw_ols_strengths_bytes(const struct lw_op_spec *spec)
{
    return lw_search_products(&spec->ols.search) & LW_BEST ? lw_ols_scales_bytes(spec) : 0;
}

/* Return the scale for crossings of a filter that is held, in a row; 0 if there is no such filter. */
static double scale_at(const struct lw_op_spec *spec, const struct lw_ols_part *part, int64_t row, int64_t filter)
{
    struct lw_search search = spec->ols.search;
    search.noise = part->noise;
    return filter < part->n ? lw_cuda_scale_of(&search, row * lw_ols_bank(&spec->ols) + part->first + filter) : 0;
}

void lw_ols_scales(const struct lw_op_spec *spec, const struct lw_ols_part *part, void *scales)
{
    const int64_t n_filters = spec->ols.n_filters, n = lw_ols_scales_bytes(spec) > 0 ? n_scales(spec) : 0;
    for (int64_t i = 0; i < n; i++)
        lw_cuda_put_scale(spec->precision, scales, i, scale_at(spec, part, i / n_filters, i % n_filters));
}

/* The norms of filters, which threads find: each the root of the sum of its taps' squares. */
struct norms {
    const struct lw_ols_part *part;
    int64_t n_taps;
    double *values;
};

enum { TAPS_AT_ONCE = 512 };

/* Return the largest part of a filter's taps, or the sum of the squares of their parts after a division by `scale`, if that is > 0.
 * The taps' order does not matter, so that they are read as they are stored. */
static double sum_taps(const struct norms *norms, int64_t filter, double scale)
{
    const struct lw_stored_taps *const taps = &norms->part->taps;
    const int parts = taps->type.is_complex ? 2 : 1;
    double numbers[2 * TAPS_AT_ONCE], result = 0;
    for (int64_t first = 0; first < norms->n_taps; first += TAPS_AT_ONCE) {
        const int64_t n = lw_min64(norms->n_taps - first, TAPS_AT_ONCE);
        lw_type_numbers(taps->type, lw_stored_from(taps, 1, filter * norms->n_taps + first).data, n * parts, numbers);
        for (int64_t i = 0; i < n * parts; i++)
            result = scale > 0 ? result + numbers[i] / scale * (numbers[i] / scale) : fmax(result, fabs(numbers[i]));
    }
    return result;
}

static int find_norm(void *context, int64_t filter, int thread, struct lw_error *err)
{
    const struct norms *const norms = context;
    const double largest = sum_taps(norms, filter, 0);
    (void)thread, (void)err;
    norms->values[filter] = largest > 0 ? largest * sqrt(sum_taps(norms, filter, largest)) : 0;
    return LW_OK;
}

static void put_strengths(const struct lw_op_spec *spec, const struct lw_ols_part *part, const double *norms, int64_t row,
                          void *strengths)
{
    const int64_t n_filters = spec->ols.n_filters;
    double strongest = 0;
    for (int64_t f = 0; f < part->n; f++)
        strongest = fmax(strongest, scale_at(spec, part, row, f) * norms[f]);
    for (int64_t f = 0; f < n_filters; f++) {
        const double scale = scale_at(spec, part, row, f), strength = scale / (strongest > 0 ? strongest : 1);
        lw_cuda_put_scale(spec->precision, strengths, row * n_filters + f,
                          scale == 0 ? NAN : spec->ols.search.sign == LW_SIGN_NEGATIVE ? -strength : strength);
    }
}

int lw_ols_strengths(const struct lw_op_spec *spec, const struct lw_ols_part *part, struct lw_pool *threads, void *strengths,
                     struct lw_error *err)
{
    if (lw_ols_strengths_bytes(spec) == 0)
        return LW_OK;
    double *const values = lw_alloc_array(part->n, sizeof *values, "the filters' norms", err);
    if (!values)
        return LW_ESYSTEM;
    struct norms norms = {part, spec->ols.n_taps, values};
    struct lw_batch batch = {.lane = LW_LANE_READ, .n_pieces = part->n, .work = find_norm, .context = &norms};
    lw_pool_start(threads, &batch);
    lw_pool_wait(threads, &batch, NULL);
    for (int64_t row = 0; row < n_rows(spec); row++)
        put_strengths(spec, part, values, row, strengths);
    lw_free(values);
    return LW_OK;
}

/* ---- search in the stored series ------------------------------------------------------------------------------------- */

bool lw_ols_may_find(const struct lw_op_spec *spec)
{
    return lw_search_is_needed(&spec->ols.search) && !(lw_search_products(&spec->ols.search) & LW_BLOCKS);
}

int64_t lw_ols_search_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels)
{
    if (!lw_search_is_needed(&spec->ols.search))
        return 0;
    return lw_ols_series_bytes(spec, lw_min64(plan->before + count + plan->after, plan->n_outputs), n_channels);
}

/* Return the piece of outputs first .. end - 1, as far as the axis has them. `first` is a multiple of the plan's unit. */
static struct lw_ols_piece piece_of(const struct lw_op *op, const struct lw_block *block, int64_t first, int64_t end)
{
    const int64_t begin = lw_max64(first, 0);
    return (struct lw_ols_piece){
        .first = begin, .count = lw_min64(end, op->plan.n_outputs) - begin, .n_channels = block->n_channels,
        .skip = begin - (block->first - op->plan.before),
    };
}

static struct lw_series series_of(const struct lw_op *op, const struct lw_block *block, const struct lw_ols_piece *piece,
                                  const void *values)
{
    return (struct lw_series){
        .values = values, .precision = op->spec.precision, .layout = op->spec.layout, .is_complex = op->spec.output.is_complex,
        .n_filters = op->spec.ols.n_filters, .count = piece->count, .n_channels = piece->n_channels, .first = piece->first,
        .channel = block->channel + piece->channel, .scales = ((const struct lw_ols_state *)op->state)->scales,
        .stretch = op->spec.ols.search.stretch, .first_stretch = op->spec.ols.search.first_stretch,
        .last_stretch = lw_search_stretches(&op->spec.ols.search) - 1, .all_channels = op->spec.n_channels,
        .sign = op->spec.ols.search.sign,
    };
}

static int compute(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *memory,
                   bool is_silent, struct lw_error *err)
{
    const int rc = lw_ols_filter(op, work, piece, memory, NULL, err);
    return rc ? rc : lw_ols_mark(op, work, piece, memory, is_silent, err);
}

/* Return the table for the crossings among outputs first .. end - 1 and their neighbours, up to `cluster` outputs away. */
static struct lw_crossings table_of(const struct lw_op *op, const struct lw_cuda_op_block *work, int64_t first, int64_t end)
{
    const int product = lw_op_find_product(&op->plan, LW_OP_CROSSINGS);
    const int64_t cluster = op->spec.ols.search.cluster;
    return (struct lw_crossings){
        .rows = work->products[product], .most_rows = work->most_rows[product], .n_rows = &work->report->n_rows,
        .first = first - cluster, .end = end + cluster, .end_filter = op->spec.ols.n_filters, .sign = op->spec.ols.search.sign,
    };
}

static bool wants(const struct lw_op *op, unsigned products) { return lw_search_products(&op->spec.ols.search) & products; }

static void *product_of(const struct lw_op *op, const struct lw_cuda_op_block *work, enum lw_op_product_kind kind)
{
    const int product = lw_op_find_product(&op->plan, kind);
    return product < 0 ? NULL : work->products[product];
}

static int find_blocks(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_series *series,
                       struct lw_error *err)
{
    const int64_t every = op->spec.ols.search.every, end = work->block.first + work->block.count;
    const struct lw_statistics statistics = {
        .first = lw_divide_up(work->block.first, every), .count = lw_divide_up(end, every) - lw_divide_up(work->block.first, every),
        .every = every, .n_outputs = op->plan.n_outputs, .max = product_of(op, work, LW_OP_BLOCK_MAX),
        .mean = product_of(op, work, LW_OP_BLOCK_MEAN), .rms = product_of(op, work, LW_OP_BLOCK_RMS),
    };
    return lw_cuda_check(lw_cuda_find_blocks(series, &statistics, work->stream), "computing statistics of blocks", err);
}

static int search_series(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                         void *memory, struct lw_error *err)
{
    const struct lw_series series = series_of(op, &work->block, piece, memory);
    const int64_t first = work->block.first, count = work->block.count;
    void *const values = product_of(op, work, LW_OP_BEST_VALUE), *const filters = product_of(op, work, LW_OP_BEST_FILTER);
    int rc = compute(op, work, piece, memory, false, err);
    if (!rc && wants(op, LW_PEAKS)) {
        const struct lw_crossings table = table_of(op, work, first, first + count);
        rc = lw_cuda_check(lw_cuda_find_crossings(&series, &table, work->stream), "looking for crossings", err);
    }
    if (!rc && values)
        rc = lw_cuda_check(lw_cuda_find_best(&series, first, count, values, filters, work->stream), "looking for the best filter",
                           err);
    return rc || !wants(op, LW_BLOCKS) ? rc : find_blocks(op, work, &series, err);
}

/* ---- search by the kernels themselves -------------------------------------------------------------------------------- */

static bool finds(const struct lw_op *op) { return ((const struct lw_ols_state *)op->state)->resolved.kernel.finds; }

/* Part of a piece: its outputs in one stretch, behind `before` outputs of the previous stretch that share the first segment. */
struct part {
    struct lw_ols_piece piece;
    int64_t stretch, before;
};

/* Return the part that ends before output `end`. Its last segment reads samples beyond `end`, too: parts do not change bits. */
static struct part part_of(const struct lw_op *op, const struct lw_ols_piece *piece, int64_t end)
{
    const struct lw_search *const search = &op->spec.ols.search;
    const int64_t stretch = lw_search_stretch(search, end - 1);
    const int64_t begin = stretch == 0 ? piece->first : lw_max64(piece->first, search->first_stretch + stretch * search->stretch);
    const int64_t before = (begin - piece->first) % op->plan.unit;
    struct part part = {.piece = *piece, .stretch = stretch, .before = before};
    part.piece.first = begin - before;
    part.piece.count = end - part.piece.first;
    part.piece.skip += part.piece.first - piece->first;
    part.piece.more = piece->first + piece->count - end;
    part.piece.pitch = piece->count;
    return part;
}

/* Return the arguments of the search in a part. scales: device, scales or strengths of all stretches. */
static struct lw_cuda_ols_search search_of(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct part *part,
                                           const void *scales)
{
    const int64_t first = part->stretch * op->spec.n_channels * op->spec.ols.n_filters;
    return (struct lw_cuda_ols_search){
        .scales = (const char *)scales + (size_t)first * (op->spec.precision == LW_SINGLE ? sizeof(float) : sizeof(double)),
        .n_filters = op->spec.ols.n_filters, .channel = work->block.channel + part->piece.channel, .index = part->piece.first,
        .table = {.end_filter = op->spec.ols.n_filters},
    };
}

/* Enqueue the search of a piece for crossings, part by part. Spoilt crossings are marked last, when the table is complete. */
static int launch_crossings(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                            struct lw_crossings table, struct lw_error *err)
{
    int rc = LW_OK;
    for (int64_t end = piece->first + piece->count; end > piece->first && rc == LW_OK;) {
        const struct part part = part_of(op, piece, end);
        struct lw_cuda_ols_search search = search_of(op, work, &part, ((const struct lw_ols_state *)op->state)->scales);
        search.table = table;
        search.table.first = lw_max64(table.first, part.piece.first + part.before);
        rc = lw_ols_filter(op, work, &part.piece, NULL, &search, err);
        end = part.piece.first + part.before;
    }
    if (rc || op->spec.nan == LW_NAN_ZERO)
        return rc;
    const struct lw_repair repair = lw_ols_repair(op, work, piece, NULL);
    return lw_cuda_check(lw_cuda_spoil_crossings(&repair, &table, piece->first, work->block.channel + piece->channel, work->stream),
                         "dropping crossings that are not a number", err);
}

/* The arrays of a piece's best filters, device. */
struct best {
    char *values, *filters;
    size_t value_bytes;
    int64_t count;              /* outputs of a channel */
};

/* Set all bits of the first `bytes` bytes of each of `rows` rows, which are `pitch` bytes apart. */
static cudaError_t set_bits(void *memory, size_t pitch, size_t bytes, size_t rows, cudaStream_t stream)
{
    return rows == 1 ? cudaMemsetAsync(memory, 0xff, bytes, stream) : cudaMemset2DAsync(memory, pitch, 0xff, bytes, rows, stream);
}

/* Set the best values of outputs at .. at + n - 1 of each channel to NaN, and their filters to -1, by setting all bits. */
static cudaError_t clear(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct best *best, int64_t at,
                         int64_t n)
{
    const bool is_together = op->spec.layout == LW_TIME_SLOW || n == best->count;
    const size_t width = (size_t)(is_together ? work->block.n_channels : 1),
                 rows = is_together ? 1 : (size_t)work->block.n_channels;
    const size_t first = (size_t)at * width, each = (size_t)n * width, pitch = (size_t)best->count, of_filter = sizeof(int32_t);
    if (n == 0)
        return cudaSuccess;
    const cudaError_t status =
        set_bits(best->values + first * best->value_bytes, pitch * best->value_bytes, each * best->value_bytes, rows, work->stream);
    return status != cudaSuccess
               ? status
               : set_bits(best->filters + first * of_filter, pitch * of_filter, each * of_filter, rows, work->stream);
}

/* Enqueue the search of a piece for the best filter, from its last part to its first. A part's first segment may also write outputs
 * of the previous stretch, with wrong scales: these are cleared, and the next part writes them anew. */
static int launch_best(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                       struct lw_error *err)
{
    const struct best best = {product_of(op, work, LW_OP_BEST_VALUE), product_of(op, work, LW_OP_BEST_FILTER),
                              lw_type_bytes(op->plan.products[lw_op_find_product(&op->plan, LW_OP_BEST_VALUE)].type), piece->count};
    int rc = lw_cuda_check(clear(op, work, &best, 0, piece->count), "clearing the best filter", err);
    for (int64_t end = piece->first + piece->count; end > piece->first && rc == LW_OK;) {
        const struct part part = part_of(op, piece, end);
        const int64_t at = part.piece.first - piece->first;
        const size_t first = (size_t)(op->spec.layout == LW_TIME_SLOW ? at * work->block.n_channels : at);
        struct lw_cuda_ols_search search = search_of(op, work, &part, ((const struct lw_ols_state *)op->state)->strengths);
        search.values = best.values + first * best.value_bytes;
        search.filters = (int32_t *)(void *)(best.filters + first * sizeof(int32_t));
        search.is_signed = op->spec.ols.search.sign != LW_SIGN_BOTH;
        if (!(rc = lw_ols_filter(op, work, &part.piece, NULL, &search, err)))
            rc = lw_cuda_check(clear(op, work, &best, at, part.before), "clearing the best filter", err);
        end = part.piece.first + part.before;
    }
    return rc;
}

static int search_by_kernels(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                             struct lw_error *err)
{
    const struct lw_block *const block = &work->block;
    const int64_t end = block->first + block->count;
    const struct lw_ols_piece own = piece_of(op, block, block->first, end);
    int rc = LW_OK;
    if ((wants(op, LW_PEAKS) && (rc = launch_crossings(op, work, piece, table_of(op, work, block->first, end), err))) ||
        (wants(op, LW_BEST) && (rc = launch_best(op, work, &own, err))) || op->spec.nan == LW_NAN_ZERO)
        return rc;
    /* Report samples that are not finite, and mark the best values of spoilt outputs. */
    struct lw_repair repair = lw_ols_repair(op, work, &own, product_of(op, work, LW_OP_BEST_VALUE));
    repair.filters = product_of(op, work, LW_OP_BEST_FILTER);
    repair.n_planes = wants(op, LW_BEST) ? 1 : 0;
    return lw_cuda_check(lw_cuda_repair_nan(&repair, work->stream), "marking outputs that are not a number", err);
}

/* ---- the search, by either way --------------------------------------------------------------------------------------- */

int lw_ols_search(const struct lw_op *op, const struct lw_cuda_op_block *work, void *memory, struct lw_error *err)
{
    if (!lw_search_is_needed(&op->spec.ols.search))
        return LW_OK;
    const struct lw_block *const block = &work->block;
    const int64_t end = block->first + block->count;
    const struct lw_ols_piece piece = piece_of(op, block, block->first - op->plan.before, end + op->plan.after);
    return finds(op) ? search_by_kernels(op, work, &piece, err) : search_series(op, work, &piece, memory, err);
}

int lw_ols_search_again(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, void *memory,
                        struct lw_error *err)
{
    const int64_t reach = op->plan.before;
    struct lw_crossings table = table_of(op, work, part->first, part->first + part->count);
    table.filter = part->filter;
    table.end_filter = part->filter + part->n_filters;
    struct lw_ols_piece piece = piece_of(op, &work->block, part->first - reach, part->first + part->count + reach);
    piece.channel = part->channel - work->block.channel;
    piece.n_channels = part->n_channels;
    if (finds(op))
        return launch_crossings(op, work, &piece, table, err);
    const struct lw_series series = series_of(op, &work->block, &piece, memory);
    const int rc = compute(op, work, &piece, memory, true, err);
    return rc ? rc : lw_cuda_check(lw_cuda_find_crossings(&series, &table, work->stream), "looking for crossings", err);
}
