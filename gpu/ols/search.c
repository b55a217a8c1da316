#include "gpu/ols/search.h"

#include "base/integers.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/noise_scales.h"
#include "gpu/ols/find.h"

#include <math.h>

/* ---- scales ------------------------------------------------------------------------------------------------------ */

static int64_t n_scales(const struct lw_op_spec *spec) { return spec->n_channels * spec->ols.n_filters; }

int64_t lw_ols_scales_bytes(const struct lw_op_spec *spec)
{
    return lw_cuda_scales_bytes(&spec->ols.search, n_scales(spec), spec->precision);
}

int64_t lw_ols_strengths_bytes(const struct lw_op_spec *spec)
{
    return lw_search_products(&spec->ols.search) & LW_BEST ? lw_ols_scales_bytes(spec) : 0;
}

void lw_ols_scales(const struct lw_op_spec *spec, void *scales)
{
    if (lw_ols_scales_bytes(spec) > 0)
        lw_cuda_scales(&spec->ols.search, n_scales(spec), spec->precision, scales);
}

static double norm_of(const struct lw_ols_spec *ols, int64_t filter)
{
    const int64_t n = ols->n_taps * (ols->taps_complex ? 2 : 1);
    double norm = 0;
    for (int64_t i = 0; i < n; i++)
        norm = hypot(norm, ols->taps[filter * n + i]);
    return norm;
}

void lw_ols_strengths(const struct lw_op_spec *spec, void *strengths)
{
    const struct lw_search *const search = &spec->ols.search;
    const int64_t n_filters = spec->ols.n_filters;
    for (int64_t channel = 0; channel < spec->n_channels && lw_ols_strengths_bytes(spec) > 0; channel++) {
        double strongest = 0;
        for (int64_t f = 0; f < n_filters; f++)
            strongest = fmax(strongest, lw_cuda_scale_of(search, channel * n_filters + f) * norm_of(&spec->ols, f));
        for (int64_t f = 0; f < n_filters; f++) {
            const int64_t i = channel * n_filters + f;
            const double scale = lw_cuda_scale_of(search, i), strength = scale / (strongest > 0 ? strongest : 1);
            lw_cuda_put_scale(spec->precision, strengths, i,
                              scale == 0 ? NAN : search->sign == LW_SIGN_NEGATIVE ? -strength : strength);
        }
    }
}

/* ---- in the series ------------------------------------------------------------------------------------------------- */

bool lw_ols_may_find(const struct lw_op_spec *spec)
{
    return lw_search_is_needed(&spec->ols.search) && !(lw_search_products(&spec->ols.search) & LW_BLOCKS);
}

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
        .sign = op->spec.ols.search.sign,
    };
}

static int compute(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *memory,
                   bool is_silent, struct lw_error *err)
{
    const int rc = lw_ols_filter(op, work, piece, memory, NULL, err);
    return rc ? rc : lw_ols_mark(op, work, piece, memory, is_silent, err);
}

/* The table for crossings of outputs first .. end - 1 and of those near them. */
static struct lw_crossings table_of(const struct lw_op *op, const struct lw_cuda_op_block *work, int64_t first, int64_t end)
{
    const int product = lw_op_find_product(&op->plan, LW_OP_CROSSINGS);
    const int64_t cluster = op->spec.ols.search.cluster;
    return (struct lw_crossings){
        .rows = work->products[product],
        .most_rows = work->most_rows[product],
        .n_rows = &work->report->n_rows,
        .first = first - cluster,
        .end = end + cluster,
        .end_filter = op->spec.ols.n_filters,
        .sign = op->spec.ols.search.sign,
    };
}

static struct lw_crossings table_of_part(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part)
{
    struct lw_crossings table = table_of(op, work, part->first, part->first + part->count);
    table.filter = part->filter;
    table.end_filter = part->filter + part->n_filters;
    return table;
}

static bool wants(const struct lw_op *op, unsigned products) { return lw_search_products(&op->spec.ols.search) & products; }

static int find_crossings(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_series *series,
                          struct lw_error *err)
{
    if (!wants(op, LW_PEAKS))
        return LW_OK;
    const struct lw_crossings table = table_of(op, work, work->block.first, work->block.first + work->block.count);
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
    if (!wants(op, LW_BLOCKS))
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

static int search_series(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                         void *memory, struct lw_error *err)
{
    const struct lw_series series = series_of(op, &work->block, piece, memory);
    int rc;
    if ((rc = compute(op, work, piece, memory, false, err)) || (rc = find_crossings(op, work, &series, err)) ||
        (rc = find_best(op, work, &series, err)))
        return rc;
    return find_blocks(op, work, &series, err);
}

/* ---- by the kernels ------------------------------------------------------------------------------------------------ */

static bool finds(const struct lw_op *op) { return ((const struct lw_ols_state *)op->state)->resolved.kernel.finds; }

static struct lw_cuda_ols_search search_of(const struct lw_op *op, const struct lw_cuda_op_block *work,
                                           const struct lw_ols_piece *piece)
{
    return (struct lw_cuda_ols_search){
        .scales = ((const struct lw_ols_state *)op->state)->scales,
        .n_filters = op->spec.ols.n_filters,
        .channel = work->block.channel + piece->channel,
        .index = piece->first,
        .table = {.end_filter = op->spec.ols.n_filters},
    };
}

/* Crossings that what is not a number has touched are known when all have been found. */
static int launch_crossings(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                            struct lw_crossings table, struct lw_error *err)
{
    struct lw_cuda_ols_search search = search_of(op, work, piece);
    search.table = table;
    const int rc = lw_ols_filter(op, work, piece, NULL, &search, err);
    if (rc || op->spec.nan == LW_NAN_ZERO)
        return rc;
    const struct lw_repair repair = lw_ols_repair(op, work, piece, NULL);
    return lw_cuda_check(lw_cuda_spoil_crossings(&repair, &table, search.index, search.channel, work->stream),
                         "dropping what is not a number", err);
}

static int launch_best(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                       struct lw_error *err)
{
    const int value = lw_op_find_product(&op->plan, LW_OP_BEST_VALUE), filter = lw_op_find_product(&op->plan, LW_OP_BEST_FILTER);
    const size_t n = (size_t)(piece->count * piece->n_channels);
    struct lw_cuda_ols_search search = search_of(op, work, piece);
    search.scales = ((const struct lw_ols_state *)op->state)->strengths;
    search.values = work->products[value];
    search.filters = work->products[filter];
    search.is_signed = op->spec.ols.search.sign != LW_SIGN_BOTH;
    cudaError_t status = cudaMemsetAsync(search.values, 0xff, n * lw_type_bytes(op->plan.products[value].type), work->stream);
    if (status == cudaSuccess)
        status = cudaMemsetAsync(search.filters, 0xff, n * sizeof *search.filters, work->stream);
    const int rc = lw_cuda_check(status, "clearing the best filter", err);
    return rc ? rc : lw_ols_filter(op, work, piece, NULL, &search, err);
}

/* What is not a number is reported, and spoils the best of its outputs. */
static int mark_best(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                     struct lw_error *err)
{
    if (op->spec.nan == LW_NAN_ZERO)
        return LW_OK;
    struct lw_repair repair = lw_ols_repair(op, work, piece, product_of(op, work, LW_OP_BEST_VALUE));
    repair.filters = product_of(op, work, LW_OP_BEST_FILTER);
    repair.n_planes = wants(op, LW_BEST) ? 1 : 0;
    return lw_cuda_check(lw_cuda_repair_nan(&repair, work->stream), "marking what is not a number", err);
}

static int search_by_kernels(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                             struct lw_error *err)
{
    const struct lw_block *const block = &work->block;
    const int64_t end = block->first + block->count;
    const struct lw_ols_piece own = piece_of(op, block, block->first, end);
    int rc;
    if ((wants(op, LW_PEAKS) && (rc = launch_crossings(op, work, piece, table_of(op, work, block->first, end), err))) ||
        (wants(op, LW_BEST) && (rc = launch_best(op, work, &own, err))))
        return rc;
    return mark_best(op, work, &own, err);
}

/* ---- either way ---------------------------------------------------------------------------------------------------- */

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
    const struct lw_crossings table = table_of_part(op, work, part);
    struct lw_ols_piece piece = piece_of(op, &work->block, part->first - reach, part->first + part->count + reach);
    piece.channel = part->channel - work->block.channel;
    piece.n_channels = part->n_channels;
    if (finds(op))
        return launch_crossings(op, work, &piece, table, err);
    const struct lw_series series = series_of(op, &work->block, &piece, memory);
    const int rc = compute(op, work, &piece, memory, true, err);
    return rc ? rc : lw_cuda_check(lw_cuda_find_crossings(&series, &table, work->stream), "looking for crossings", err);
}
