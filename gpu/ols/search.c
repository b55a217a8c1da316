#include "gpu/ols/search.h"

#include "base/integers.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/scales.h"
#include "gpu/ols/find.h"

/* ---- scales ------------------------------------------------------------------------------------------------------ */

int64_t lw_ols_scales_bytes(const struct lw_op_spec *spec)
{
    return lw_cuda_scales_bytes(&spec->ols.search, spec->n_channels * spec->ols.n_filters, spec->precision);
}

void lw_ols_scales(const struct lw_op_spec *spec, void *scales)
{
    if (lw_search_is_needed(&spec->ols.search))
        lw_cuda_scales(&spec->ols.search, spec->n_channels * spec->ols.n_filters, spec->precision, scales);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

int64_t lw_ols_search_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels)
{
    if (!lw_search_is_needed(&spec->ols.search))
        return 0;
    return lw_ols_series_bytes(spec, min64(plan->before + count + plan->after, plan->n_outputs), n_channels);
}

/* Outputs first .. end - 1, those of them that lie on the axis; first is a multiple of the unit. */
static struct lw_ols_piece piece_of(const struct lw_op *op, const struct lw_block *block, int64_t first, int64_t end)
{
    const int64_t begin = max64(first, 0);
    return (struct lw_ols_piece){
        .first = begin,
        .count = min64(end, op->plan.n_outputs) - begin,
        .n_channels = block->n_channels,
        .skip = begin - (block->first - op->plan.before),
    };
}

static struct lw_series series_of(const struct lw_op *op, const struct lw_block *block, const struct lw_ols_piece *piece,
                                  const void *values)
{
    return (struct lw_series){
        .values = values,
        .precision = op->spec.precision,
        .layout = op->spec.layout,
        .is_complex = op->spec.output.is_complex,
        .n_filters = op->spec.ols.n_filters,
        .count = piece->count,
        .n_channels = piece->n_channels,
        .first = piece->first,
        .channel = block->channel + piece->channel,
        .scales = ((const struct lw_ols_state *)op->state)->scales,
    };
}

static int compute(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *memory,
                   bool is_silent, struct lw_error *err)
{
    const int rc = lw_ols_filter(op, work, piece, memory, err);
    return rc ? rc : lw_ols_mark(op, work, piece, memory, is_silent, err);
}

static int find_crossings(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_series *series,
                          struct lw_crossings table, struct lw_error *err)
{
    const int product = lw_op_find_product(&op->plan, LW_OP_CROSSINGS);
    if (product < 0)
        return LW_OK;
    const int64_t cluster = op->spec.ols.search.cluster;
    table.rows = work->products[product];
    table.most_rows = work->most_rows[product];
    table.n_rows = &work->report->n_rows;
    table.first -= cluster;
    table.end += cluster;
    return lw_cuda_check(lw_cuda_find_crossings(series, &table, work->stream), "looking for crossings", err);
}

static int find_best(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_series *series,
                     struct lw_error *err)
{
    const int value = lw_op_find_product(&op->plan, LW_OP_BEST_VALUE), filter = lw_op_find_product(&op->plan, LW_OP_BEST_FILTER);
    if (value < 0)
        return LW_OK;
    return lw_cuda_check(lw_cuda_find_best(series, work->block.first, work->block.count, work->products[value],
                                           work->products[filter], work->stream), "looking for the best filter", err);
}

static void *product_of(const struct lw_op *op, const struct lw_cuda_op_block *work, enum lw_op_product_kind kind)
{
    const int product = lw_op_find_product(&op->plan, kind);
    return product < 0 ? NULL : work->products[product];
}

static int find_blocks(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_series *series,
                       struct lw_error *err)
{
    if (!(lw_search_products(&op->spec.ols.search) & LW_BLOCKS))
        return LW_OK;
    const int64_t every = op->spec.ols.search.every, end = work->block.first + work->block.count;
    const struct lw_statistics statistics = {
        .first = divide_up(work->block.first, every),
        .count = divide_up(end, every) - divide_up(work->block.first, every),
        .every = every,
        .n_outputs = op->plan.n_outputs,
        .max = product_of(op, work, LW_OP_BLOCK_MAX),
        .mean = product_of(op, work, LW_OP_BLOCK_MEAN),
        .rms = product_of(op, work, LW_OP_BLOCK_RMS),
    };
    return lw_cuda_check(lw_cuda_find_blocks(series, &statistics, work->stream), "computing blocks", err);
}

int lw_ols_search(const struct lw_op *op, const struct lw_cuda_op_block *work, void *memory, struct lw_error *err)
{
    if (!lw_search_is_needed(&op->spec.ols.search))
        return LW_OK;
    const struct lw_block *const block = &work->block;
    const int64_t first = block->first, end = block->first + block->count;
    const struct lw_ols_piece piece = piece_of(op, block, first - op->plan.before, end + op->plan.after);
    const struct lw_series series = series_of(op, block, &piece, memory);
    const struct lw_crossings table = {.first = first, .end = end, .end_filter = op->spec.ols.n_filters};
    int rc;
    if ((rc = compute(op, work, &piece, memory, false, err)) || (rc = find_crossings(op, work, &series, table, err)) ||
        (rc = find_best(op, work, &series, err)))
        return rc;
    return find_blocks(op, work, &series, err);
}

int lw_ols_search_again(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, void *memory,
                        struct lw_error *err)
{
    const struct lw_block *const block = &work->block;
    const int64_t reach = op->plan.before, end = part->first + part->count;
    struct lw_ols_piece piece = piece_of(op, block, part->first - reach, end + reach);
    piece.channel = part->channel - block->channel;
    piece.n_channels = part->n_channels;
    const struct lw_series series = series_of(op, block, &piece, memory);
    const struct lw_crossings table = {.first = part->first, .end = end, .filter = part->filter,
                                       .end_filter = part->filter + part->n_filters};
    const int rc = compute(op, work, &piece, memory, true, err);
    return rc ? rc : find_crossings(op, work, &series, table, err);
}
