/* search.c - memory and steps of a search in the series of a block (signal/search.h).
 *
 * If the filtering kernel can search (lw_cuda_ols_plan.finds), it is launched once each for the crossings, the best filter and the
 * series, as far as these are wanted. Otherwise the series that the search needs goes to work memory at its full rate: the block's
 * outputs and their neighbours on the axis. The kernels of gpu/ols/find.h search it there. */
#include "base/integers.h"
#include "base/memory.h"
#include "design/taps.h"
#include "gpu/host/error.h"
#include "gpu/host/noise_scales.h"
#include "gpu/ols/ols.h"

/* ---- scales ------------------------------------------------------------------------------------------------------ */

static bool wants(const struct lw_op_spec *spec, unsigned products)
{
    return lw_search_products(&spec->ols.search) & products;
}

/* Return the number of rows of scales: one for each channel in each stretch of the axis. */
static int64_t n_rows(const struct lw_op_spec *spec) { return lw_search_stretches(&spec->ols.search) * spec->n_channels; }

/* Return the scales of a row. */
static int64_t scales_pitch(const struct lw_op_spec *spec)
{
    return wants(spec, LW_BEST) ? lw_ols_bank(&spec->ols) + 1 : spec->ols.n_filters;
}

int64_t lw_ols_scales_bytes(const struct lw_op_spec *spec)
{
    return lw_cuda_scales_bytes(&spec->ols.search, n_rows(spec) * scales_pitch(spec), spec->precision);
}

/* Return the scale of a filter of the bank in a row; NaN: there is no such filter. */
static double scale_at(const struct lw_op_spec *spec, const struct lw_ols_part *part, int64_t row, int64_t filter)
{
    struct lw_search search = spec->ols.search;
    search.noise = part->noise;
    return filter < lw_ols_bank(&spec->ols) ? lw_cuda_scale_of(&search, row * lw_ols_bank(&spec->ols) + filter) : NAN;
}

/* Put behind each row of scales the power of two that makes the largest product of a scale and its filter's norm about 1. */
static int put_powers(const struct lw_op_spec *spec, const struct lw_ols_part *part, void *scales, struct lw_error *err)
{
    const int64_t values = spec->ols.n_taps * (spec->ols.taps_complex ? 2 : 1), rows = n_rows(spec);
    const int most = spec->precision == LW_SINGLE ? 120 : 1000;
    LW_FREED double *const taps = lw_alloc_array(values + rows, sizeof *taps, "the filters' norms", err);
    if (!taps)
        return LW_ESYSTEM;
    double *const largest = taps + values;
    for (int f = 0; f < part->n; f++) {
        lw_stored_filter(&part->taps, spec->ols.n_taps, f, taps);
        const double norm = sqrt(lw_taps_energy(taps, values));
        for (int64_t row = 0; row < rows; row++)
            largest[row] = fmax(largest[row], scale_at(spec, part, row, part->first + f) * norm);
    }
    for (int64_t row = 0; row < rows; row++)
        lw_cuda_put_scale(spec->precision, scales, (row + 1) * scales_pitch(spec) - 1,
                          ldexp(1, largest[row] > 0 ? (int)lw_max64(-most, lw_min64(most, -ilogb(largest[row]))) : 0));
    return LW_OK;
}

int lw_ols_scales(const struct lw_op_spec *spec, const struct lw_ols_part *part, void *scales, struct lw_error *err)
{
    const int64_t n = scales_pitch(spec), first = wants(spec, LW_BEST) ? 0 : part->first;
    for (int64_t i = 0; i < n_rows(spec) * n; i++)
        lw_cuda_put_scale(spec->precision, scales, i, scale_at(spec, part, i / n, first + i % n));
    const bool has_powers = wants(spec, LW_BEST) && lw_ols_may_find(spec) && lw_op_is_complex(spec);
    return has_powers ? put_powers(spec, part, scales, err) : LW_OK;
}

/* ---- search in the stored series ------------------------------------------------------------------------------------- */

bool lw_ols_may_find(const struct lw_op_spec *spec)
{
    return lw_search_is_needed(&spec->ols.search) && !wants(spec, LW_BLOCKS);
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

struct lw_series lw_ols_series(const struct lw_op *op, const struct lw_block *block, const struct lw_ols_piece *piece,
                               const void *values)
{
    const struct lw_ols_state *const ols = op->state;
    return (struct lw_series){
        .values = values, .precision = op->spec.precision, .layout = lw_op_output_layout(&op->spec),
        .is_complex = op->spec.output.is_complex, .n_filters = ols->n_held, .count = piece->count,
        .n_channels = piece->n_channels, .first = piece->first, .channel = block->channel + piece->channel,
        .scales = ols->scales, .pitch = scales_pitch(&op->spec), .first_filter = ols->first,
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

/* Return the table for crossings of a part of a block, or of all of it, and their neighbours, up to `cluster` outputs away. */
static struct lw_crossings table_of(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part,
                                    int filter, int n_filters)
{
    const int product = lw_op_find_product(&op->plan, LW_OP_CROSSINGS), at = product < 0 ? 0 : product;    /* -1: not used */
    const int64_t cluster = op->spec.ols.search.cluster, first = part ? part->first : work->block.first;
    return (struct lw_crossings){
        .rows = work->products[at], .most_rows = work->most_rows[at], .n_rows = &work->report->n_rows,
        .first = first - cluster, .end = first + (part ? part->count : work->block.count) + cluster, .filter = filter,
        .end_filter = filter + n_filters, .sign = op->spec.ols.search.sign,
    };
}

static void *product_of(const struct lw_op *op, const struct lw_cuda_op_block *work, enum lw_op_product_kind kind)
{
    const int product = lw_op_find_product(&op->plan, kind);
    return product < 0 ? NULL : work->products[product];
}

static struct lw_best_outputs best_of(const struct lw_op *op, const struct lw_cuda_op_block *work)
{
    return (struct lw_best_outputs){
        .values = product_of(op, work, LW_OP_BEST_VALUE), .filters = product_of(op, work, LW_OP_BEST_FILTER),
        .first = work->block.first, .count = work->block.count,
    };
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

int lw_ols_find(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_series *series,
                const struct lw_part *again, int filter, int n_filters, struct lw_error *err)
{
    const struct lw_crossings table = table_of(op, work, again, filter, n_filters);
    const struct lw_best_outputs best = best_of(op, work);
    int rc = LW_OK;
    if (wants(&op->spec, LW_PEAKS))
        rc = lw_cuda_check(lw_cuda_find_crossings(series, &table, work->stream), "looking for crossings", err);
    if (!rc && !again && best.values)
        rc = lw_cuda_check(lw_cuda_find_best(series, &best, work->goes_on, work->stream), "looking for the best filter", err);
    return rc || again || !wants(&op->spec, LW_BLOCKS) ? rc : find_blocks(op, work, series, err);
}

static int search_series(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                         void *memory, struct lw_error *err)
{
    const struct lw_series series = lw_ols_series(op, &work->block, piece, memory);
    const int rc = compute(op, work, piece, memory, false, err);
    return rc ? rc : lw_ols_find(op, work, &series, NULL, 0, series.n_filters, err);
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

/* Return the arguments of the search in a part. */
static struct lw_cuda_ols_search search_of(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct part *part,
                                           struct lw_crossings table)
{
    const struct lw_ols_state *const ols = op->state;
    const int64_t first = part->stretch * op->spec.n_channels * scales_pitch(&op->spec) + ols->first;
    table.first = lw_max64(table.first, part->piece.first + part->before);
    return (struct lw_cuda_ols_search){
        .scales = (const char *)ols->scales + (size_t)first * (op->spec.precision == LW_SINGLE ? sizeof(float) : sizeof(double)),
        .pitch = scales_pitch(&op->spec), .first = ols->first, .goes_on = work->goes_on,
        .channel = work->block.channel + part->piece.channel, .index = part->piece.first, .table = table,
    };
}

/* Enqueue the search of a piece for crossings, part by part. Spoilt crossings are marked last, when the table is complete. */
static int launch_crossings(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                            struct lw_crossings table, struct lw_error *err)
{
    int rc = LW_OK;
    for (int64_t end = piece->first + piece->count; end > piece->first && rc == LW_OK;) {
        const struct part part = part_of(op, piece, end);
        const struct lw_cuda_ols_search search = search_of(op, work, &part, table);
        rc = lw_ols_filter(op, work, &part.piece, NULL, &search, err);
        end = part.piece.first + part.before;
    }
    if (rc || op->spec.nan == LW_NAN_ZERO)
        return rc;
    const struct lw_repair repair = lw_ols_repair(op, work, piece, NULL);
    return lw_cuda_check(lw_cuda_spoil_crossings(&repair, &table, piece->first, work->block.channel + piece->channel, work->stream),
                         "dropping crossings that are not a number", err);
}

/* Enqueue the search of a piece for the best filter, part by part. All bits set are NaN, and filter -1. */
static int launch_best(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                       struct lw_error *err)
{
    const struct lw_best_outputs best = best_of(op, work);
    const struct lw_crossings table = {.end_filter = ((const struct lw_ols_state *)op->state)->n_held,
                                       .sign = op->spec.ols.search.sign};
    const size_t bytes = lw_type_bytes(op->plan.products[lw_op_find_product(&op->plan, LW_OP_BEST_VALUE)].type),
                 n = work->goes_on ? 0 : (size_t)(best.count * work->block.n_channels);
    cudaError_t status = cudaMemsetAsync(best.values, 0xff, n * bytes, work->stream);
    if (status == cudaSuccess)
        status = cudaMemsetAsync(best.filters, 0xff, n * sizeof *best.filters, work->stream);
    int rc = lw_cuda_check(status, "clearing the best filter", err);
    for (int64_t end = piece->first + piece->count; end > piece->first && rc == LW_OK;) {
        const struct part part = part_of(op, piece, end);
        const int64_t at = part.piece.first - piece->first;
        const int64_t first = op->spec.layout == LW_TIME_SLOW ? at * work->block.n_channels : at;
        struct lw_cuda_ols_search search = search_of(op, work, &part, table);
        search.values = (char *)best.values + (size_t)first * bytes;
        search.filters = best.filters + first;
        rc = lw_ols_filter(op, work, &part.piece, NULL, &search, err);
        end = part.piece.first + part.before;
    }
    return rc;
}

static int search_by_kernels(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                             struct lw_error *err)
{
    const struct lw_block *const block = &work->block;
    const struct lw_crossings table = table_of(op, work, NULL, 0, ((const struct lw_ols_state *)op->state)->n_held);
    const struct lw_ols_piece own = piece_of(op, block, block->first, block->first + block->count);
    int rc = LW_OK;
    if ((wants(&op->spec, LW_PEAKS) && (rc = launch_crossings(op, work, piece, table, err))) ||
        (wants(&op->spec, LW_BEST) && (rc = launch_best(op, work, &own, err))) || op->spec.nan == LW_NAN_ZERO)
        return rc;
    /* Report samples that are not finite, and mark the best values of spoilt outputs. */
    struct lw_repair repair = lw_ols_repair(op, work, &own, product_of(op, work, LW_OP_BEST_VALUE));
    repair.filters = product_of(op, work, LW_OP_BEST_FILTER);
    repair.n_planes = wants(&op->spec, LW_BEST) ? 1 : 0;
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
    struct lw_ols_piece piece = piece_of(op, &work->block, part->first - reach, part->first + part->count + reach);
    piece.channel = part->channel - work->block.channel;
    piece.n_channels = part->n_channels;
    if (finds(op))
        return launch_crossings(op, work, &piece, table_of(op, work, part, part->filter, part->n_filters), err);
    const struct lw_series series = lw_ols_series(op, &work->block, &piece, memory);
    const int rc = compute(op, work, &piece, memory, true, err);
    return rc ? rc : lw_ols_find(op, work, &series, part, part->filter, part->n_filters, err);
}

int lw_ols_join_best(const struct lw_op *op, const struct lw_cuda_op_block *work, int64_t first, int64_t n, const void *values,
                     const int32_t *filters, struct lw_error *err)
{
    const struct lw_block *const block = &work->block;
    const struct lw_ols_piece piece = piece_of(op, block, block->first, block->first + block->count);
    const struct lw_series series = lw_ols_series(op, block, &piece, NULL);
    const struct lw_best_outputs best = best_of(op, work);
    return lw_cuda_check(lw_cuda_join_best(&series, finds(op), &best, first, n, values, filters, work->stream),
                         "comparing the best filters of ranks", err);
}
