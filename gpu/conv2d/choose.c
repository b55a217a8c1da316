/* choose.c - a cost model with fixed numbers, so that every rank, run and memory budget comes to the same choice.
 * The numbers were measured on an H200 (`bench_conv2d_gpu methods`); they need only be right in proportion to each
 * other. */
#include "gpu/conv2d/choose.h"

#include "base/integers.h"
#include "base/memory.h"
#include "gpu/conv2d/bands.h"
#include "gpu/conv2d/direct.h"
#include "gpu/conv2d/passes.h"
#include "gpu/conv2d/strips.h"
#include "signal/separable.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* A kernel whose remainder beside column times row is smaller than this is separable: below what rounding does. */
static double rank_tolerance(enum lw_precision precision) { return precision == LW_DOUBLE ? 5e-16 : 1e-7; }

static const double memory_rate = 4.0e12;           /* bytes a second */
static const double launch_seconds = 2e-6;
static const double direct_seconds = 5.5e-6;         /* of direct sums with any kernel, however small the image */
static const double strips_seconds = 2e-6;           /* of sums in strips */
static const double passes_seconds = 1e-5;          /* of those with any separable kernel */
static const double tile_seconds = 4.2e-6;          /* that tiles take however few they are, beyond what each takes */
static const double large_seconds = 2e-6;            /* and large ones beyond that */
static const double product_rate = 29.6e12;         /* fused multiply-adds a second of the device, single precision */
static const double wanted_points = 3 << 24;         /* of the work area: fills the device, 384 MiB */
enum { MULTIPROCESSORS = 132 };

static bool is_complex(const struct lw_op_spec *spec) { return spec->input.is_complex || spec->conv2d.kernel_complex; }

static int64_t output_rows(const struct lw_op_spec *spec) { return spec->n_outputs > 0 ? spec->n_outputs : 1 << 16; }

static double n_outputs(const struct lw_op_spec *spec)
{
    return (double)spec->n_channels * (double)output_rows(spec) * (double)spec->conv2d.output_columns;
}

/* Bytes of a pixel read and one written, at the least. */
static double memory_seconds(const struct lw_op_spec *spec)
{
    const double reals = is_complex(spec) ? 2 : 1, real = spec->precision == LW_DOUBLE ? 8 : 4;
    return ((double)lw_type_bytes(spec->input) + reals * real) / memory_rate;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* ---- in the space domain ----------------------------------------------------------------------------------------- */

/* Multiply-adds of reals for one tap and pixel; double precision has half the rate. */
static double products_per_tap(const struct lw_op_spec *spec)
{
    return (is_complex(spec) ? 2 : 1) * (spec->conv2d.kernel_complex ? 2 : 1) * (spec->precision == LW_DOUBLE ? 2 : 1);
}

/* Sums in strips, seconds for each output; there must be such for the kernel. */
static struct lw_conv2d_plan in_strips(const struct lw_op_spec *spec, enum lw_conv2d_method method, int side)
{
    const struct lw_conv2d_strips strips = lw_conv2d_cut_strips(output_rows(spec), spec->conv2d.output_columns, spec->n_channels,
                                                                side, method == LW_CONV2D_PRODUCT);
    const double n = n_outputs(spec);
    return (struct lw_conv2d_plan){
        .method = method, .side = side,
        .seconds = larger(1.1 * memory_seconds(spec), strips.seconds / n) + strips_seconds / n,
    };
}

static bool is_real_single(const struct lw_op_spec *spec) { return spec->precision == LW_SINGLE && !is_complex(spec); }

static struct lw_conv2d_plan direct(const struct lw_op_spec *spec)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const int side = is_real_single(spec) ? lw_conv2d_unrolled_side(c->kernel_rows, c->kernel_columns) : 0;
    if (side > 0)
        return in_strips(spec, LW_CONV2D_UNROLLED, side);
    /* in squares */
    const double taps = 64 * (double)lw_divide_up(c->kernel_rows, 8) * (double)lw_divide_up(c->kernel_columns, 8);
    return (struct lw_conv2d_plan){
        .method = LW_CONV2D_DIRECT,
        .seconds = larger(1.1 * memory_seconds(spec), taps * products_per_tap(spec) / (0.3 * product_rate)) +
                   direct_seconds / n_outputs(spec),
    };
}

/* Of a separable kernel. */
static struct lw_conv2d_plan passes(const struct lw_op_spec *spec)
{
    const double taps = (double)(spec->conv2d.kernel_rows + spec->conv2d.kernel_columns);
    const double beyond = taps > 64 ? 2 : 1;        /* the columns' sums are made again for each chunk of the row */
    const struct lw_conv2d_plan any = {
        .method = LW_CONV2D_PASSES,
        .seconds = beyond * (taps + 90) * products_per_tap(spec) / (0.3 * product_rate) + passes_seconds / n_outputs(spec),
    };
    const int side = is_real_single(spec) ? lw_conv2d_product_side(spec->conv2d.kernel_rows, spec->conv2d.kernel_columns) : 0;
    if (side == 0)
        return any;
    const struct lw_conv2d_plan product = in_strips(spec, LW_CONV2D_PRODUCT, side);
    return product.seconds <= any.seconds ? product : any;
}

/* ---- transforms -------------------------------------------------------------------------------------------------- */

/* Transforms one above the other with `pieces` of them in each; what the last one has less of counts as far as its rows
 * are touched. */
static double transforms_down(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid, int pieces)
{
    const int64_t each = pieces * grid->hop_rows, rest = output_rows(spec) % each;
    const double lead = (double)spec->conv2d.kernel_rows - 1;
    const double touched = rest > 0 ? ((double)lw_min64(rest, grid->hop_rows) + lead) / (double)grid->rows : 0;
    return (double)(output_rows(spec) / each) + touched;
}

/* Pieces of a transform. */
static void pair(struct lw_conv2d_grid *grid, int rows, int columns)
{
    grid->pair_rows = rows;
    grid->pair_columns = columns;
    grid->transforms_across = (int)lw_divide_up(grid->n_across, columns);
}

/* A grid of tiles of this size; false if the kernel leaves nothing of them. */
static bool cut(const struct lw_op_spec *spec, int64_t rows, int64_t columns, struct lw_conv2d_grid *grid)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    if (c->kernel_rows > rows || c->kernel_columns > columns)
        return false;
    *grid = (struct lw_conv2d_grid){
        .rows = rows, .columns = columns,
        .hop_rows = rows - c->kernel_rows + 1, .hop_columns = columns - c->kernel_columns + 1,
    };
    grid->n_across = lw_divide_up(c->output_columns, grid->hop_columns);
    pair(grid, 1, 1);
    return true;
}

static int64_t n_transforms(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    return spec->n_channels * grid->transforms_across * lw_divide_up(output_rows(spec), grid->hop_rows * grid->pair_rows);
}

/* Tiles that have a multiprocessor for themselves. */
static bool is_large(const struct lw_conv2d_grid *grid) { return grid->columns == 256; }

bool lw_conv2d_is_large(const struct lw_conv2d_plan *plan) { return plan->method == LW_CONV2D_TILES && is_large(&plan->grid); }

void lw_conv2d_align(const struct lw_conv2d_spec *spec, struct lw_conv2d_grid *grid)
{
    const int64_t unit = spec->columns % 4 != 0 ? 1 : spec->output_columns % 8 != 0 ? 4 : 8;
    const int64_t delay = (lw_round_up(spec->look_ahead_columns, 4) - spec->look_ahead_columns) * (unit > 1);
    const int64_t lead = spec->kernel_columns - 1 + delay, even = lw_round_up(lead, unit);
    if (even >= grid->columns)
        return;
    grid->delay_columns = (int)delay;
    grid->spare_columns = (int)(even - lead);
    grid->hop_columns = grid->columns - even;
    grid->n_across = lw_divide_up(spec->output_columns, grid->hop_columns);
    pair(grid, 1, 1);
}

/* Microseconds that a multiprocessor takes for a tile, with as many of them at a time as it holds. Large ones take longer the more
 * they store, and where pixels cannot be copied as they are while others are transformed. */
static double tile_microseconds(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    const double thousands = 1e-3 * (double)(grid->hop_rows * grid->hop_columns);
    const double loading = spec->input.scalar == LW_FLOAT32 && spec->conv2d.outside == 0 ? 1 : 1.25;
    if (is_large(grid))
        return loading * (grid->rows == 224 ? 15.7 + 0.145 * thousands : 10.2 + 0.09 * thousands);
    return spec->precision == LW_DOUBLE ? 16 : grid->columns == 64 ? 2.85 : 14.8;
}

/* Large tiles begin one after the other, those of multiprocessors that take one more first: see late_cycles in tiles.cu. */
static double late_seconds(int64_t n)
{
    const int64_t gaining = lw_min64(n / lw_min64(n, MULTIPROCESSORS) - 1, 5);
    return 2.1e-6 * (double)gaining * (double)((n - 1) % MULTIPROCESSORS + 1) / MULTIPROCESSORS;
}

static struct lw_conv2d_plan tile(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    struct lw_conv2d_plan plan = {.method = LW_CONV2D_TILES, .grid = *grid};
    const int64_t n = n_transforms(spec, grid), most = lw_divide_up(n, MULTIPROCESSORS);   /* of tiles, on one of them */
    const double each = 1e-6 * tile_microseconds(spec, grid) * (double)most;
    const double beyond = tile_seconds + (is_large(grid) ? large_seconds + late_seconds(n) : 0);
    plan.seconds = (beyond + each) / n_outputs(spec);
    return plan;
}

/* Bytes a second of the row passes, and of the column pass with few long columns that fit beside each other into shared memory. The
 * kernel's spectrum, which the column pass reads as well, does not count. */
static double row_rate(int64_t columns)
{
    return columns <= 2048 ? 4.1e12 : columns < 8192 ? 3.7e12 : 3.3e12;
}

static double column_rate(int64_t rows)
{
    switch (rows) {
    case 512: return 2.25e12;
    case 2048: return 1.5e12;
    case 4096: return 1.35e12;
    default: return 2.4e12;
    }
}

/* Seconds of the three passes for transforms one below the other: by rows pixels, transforms there and back, and outputs; by
 * columns transforms there and back. Rows that neighbours share are transformed once, but for two pieces one above the other. */
static double strip_seconds(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    const double row_bytes = (spec->precision == LW_DOUBLE ? 16 : 8) * (double)grid->columns;
    const double down = transforms_down(spec, grid, grid->pair_rows), window = (double)grid->rows, hop = (double)grid->hop_rows;
    const double lines = grid->pair_rows == 1 ? (double)(output_rows(spec) + spec->conv2d.kernel_rows - 1) : down * window;
    return row_bytes * (2 * (lines + down * hop) / row_rate(grid->columns) + down * (window + hop) / column_rate(grid->rows));
}

static struct lw_conv2d_plan bands(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    struct lw_conv2d_plan plan = {.method = LW_CONV2D_BANDS, .grid = *grid};
    const int64_t n = n_transforms(spec, grid);
    const int64_t wanted = (int64_t)(wanted_points / (double)((grid->rows + grid->hop_rows) * grid->columns));
    plan.batch = lw_min64(n, lw_max64(wanted, grid->transforms_across));
    const double launches = 3 * (double)lw_divide_up(n, plan.batch);
    const double strips = (double)(spec->n_channels * grid->transforms_across);
    plan.seconds = (strips * strip_seconds(spec, grid) + launches * launch_seconds) / n_outputs(spec);
    return plan;
}

static bool fits(const struct lw_device *device, int shared_bytes) { return shared_bytes <= device->shared_bytes; }

static void keep_cheaper(const struct lw_conv2d_plan *plan, bool *is_found, struct lw_conv2d_plan *best)
{
    if (!*is_found || plan->seconds < best->seconds)
        *best = *plan;
    *is_found = true;
}

static void choose_tile(const struct lw_device *device, const struct lw_op_spec *spec, bool *is_found,
                        struct lw_conv2d_plan *best)
{
    struct lw_conv2d_grid grid;
    for (const struct lw_conv2d_tile *t = lw_conv2d_tile_shapes(spec->precision, is_complex(spec)); t->rows; t++) {
        if (!fits(device, lw_conv2d_tile_shared_bytes(spec->precision, t->rows, t->columns)) ||
            !cut(spec, t->rows, t->columns, &grid))
            continue;
        if (is_large(&grid))
            lw_conv2d_align(&spec->conv2d, &grid);
        const struct lw_conv2d_plan plan = tile(spec, &grid);
        keep_cheaper(&plan, is_found, best);
    }
}

/* Pieces as wide as they need be, and of whole 128 bytes if they can: their rows are then written from where such begin on. */
static void align(const struct lw_op_spec *spec, struct lw_conv2d_grid *grid)
{
    const int64_t even = lw_round_up(lw_divide_up(spec->conv2d.output_columns, grid->n_across), 32);
    grid->hop_columns = lw_min64(grid->hop_columns, even);
}

/* The pieces of a transform beside each other, or one above the other. */
static void choose_pair(const struct lw_op_spec *spec, struct lw_conv2d_grid *grid, bool *is_found, struct lw_conv2d_plan *best)
{
    const int pieces = is_complex(spec) ? 1 : 2;
    pair(grid, 1, pieces);
    const struct lw_conv2d_plan beside = bands(spec, grid);
    keep_cheaper(&beside, is_found, best);
    if (pieces == 1)
        return;
    pair(grid, pieces, 1);
    const struct lw_conv2d_plan below = bands(spec, grid);
    keep_cheaper(&below, is_found, best);
}

static void choose_bands(const struct lw_device *device, const struct lw_op_spec *spec, bool *is_found,
                         struct lw_conv2d_plan *best)
{
    struct lw_conv2d_grid grid;
    for (const int *rows = lw_conv2d_column_lengths(spec->precision); *rows; rows++) {
        for (const int *columns = lw_conv2d_row_lengths(spec->precision); *columns; columns++) {
            if (!fits(device, lw_conv2d_bands_shared_bytes(spec->precision, *rows, *columns)) ||
                !cut(spec, *rows, *columns, &grid))
                continue;
            align(spec, &grid);
            choose_pair(spec, &grid, is_found, best);
        }
    }
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* The norm of what column times row leaves of the kernel, relative to the kernel's. */
static int find_residual(const struct lw_conv2d_spec *c, double *residual, struct lw_error *err)
{
    double *const factors = lw_alloc_array(2 * (c->kernel_rows + c->kernel_columns), sizeof *factors,
                                           "a kernel's factors", err);
    if (!factors)
        return LW_ESYSTEM;
    *residual = lw_separate(c->kernel, c->kernel_rows, c->kernel_columns, c->kernel_complex, factors,
                            factors + 2 * c->kernel_rows);
    lw_free(factors);
    return LW_OK;
}

static int take_passes(const struct lw_op_spec *spec, struct lw_conv2d_plan *plan, struct lw_error *err)
{
    double residual;
    const int rc = find_residual(&spec->conv2d, &residual, err);
    if (rc)
        return rc;
    if (residual > rank_tolerance(spec->precision))
        return lw_fail(err, LW_ECONFIG,
                       "--algorithm separable: the kernel is not the product of a column and a row: %.2g of its "
                       "norm would be lost, allowed is %.2g; choose another algorithm", residual,
                       rank_tolerance(spec->precision));
    *plan = passes(spec);
    return LW_OK;
}

static int take_transform(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                          struct lw_error *err)
{
    bool is_found = false;
    if (spec->conv2d.algorithm == LW_CONV2D_ALGORITHM_TILES)
        choose_tile(device, spec, &is_found, plan);
    if (!is_found)
        choose_bands(device, spec, &is_found, plan);
    if (is_found)
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "the transforms of the cuda engine do not hold a kernel of %" PRId64 " x %" PRId64
                   "; try --algorithm direct, or --engine cpu", spec->conv2d.kernel_rows, spec->conv2d.kernel_columns);
}

static int take_cheapest(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                         struct lw_error *err)
{
    bool is_found = true;
    struct lw_conv2d_plan best = direct(spec);
    choose_tile(device, spec, &is_found, &best);
    choose_bands(device, spec, &is_found, &best);
    const struct lw_conv2d_plan separable = passes(spec);
    double residual = 1;
    if (separable.seconds < best.seconds) {
        const int rc = find_residual(&spec->conv2d, &residual, err);
        if (rc)
            return rc;
    }
    *plan = residual <= rank_tolerance(spec->precision) ? separable : best;
    return LW_OK;
}

int lw_conv2d_choose(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                     struct lw_error *err)
{
    assert(spec->kind == LW_OP_CONV2D && spec->layout == LW_TIME_FAST && spec->n_channels >= 1);
    switch (spec->conv2d.algorithm) {
    case LW_CONV2D_ALGORITHM_DIRECT: *plan = direct(spec); return LW_OK;
    case LW_CONV2D_ALGORITHM_SEPARABLE: return take_passes(spec, plan, err);
    case LW_CONV2D_ALGORITHM_TILES:
    case LW_CONV2D_ALGORITHM_FULL: return take_transform(device, spec, plan, err);
    default: return take_cheapest(device, spec, plan, err);
    }
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

void lw_conv2d_describe(const struct lw_conv2d_plan *plan, const struct lw_op_spec *spec, char *text, size_t size)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const struct lw_conv2d_grid *const g = &plan->grid;
    switch (plan->method) {
    case LW_CONV2D_UNROLLED:
    case LW_CONV2D_DIRECT:
        snprintf(text, size, "direct sum of %" PRId64 " x %" PRId64 " taps", c->kernel_rows, c->kernel_columns);
        return;
    case LW_CONV2D_PRODUCT:
        snprintf(text, size, "separable kernel: sums of %" PRId64 " taps along the rows and of %" PRId64 " along the columns",
                 c->kernel_columns, c->kernel_rows);
        return;
    case LW_CONV2D_PASSES:
        snprintf(text, size, "separable kernel: a pass of %" PRId64 " taps along the columns and one of %" PRId64
                 " along the rows", c->kernel_rows, c->kernel_columns);
        return;
    default:
        snprintf(text, size, "overlap-save on tiles of %" PRId64 " x %" PRId64 " %s, hop %" PRId64 " x %" PRId64 "%s",
                 g->rows,
                 g->columns, plan->method == LW_CONV2D_TILES ? "in shared memory" : "in three passes", g->hop_rows,
                 g->hop_columns, is_complex(spec) || plan->method == LW_CONV2D_TILES ? "" : ", two real ones as one complex");
    }
}
