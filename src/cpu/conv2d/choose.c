/* choose.c - choice of method and tile for a convolution of images, by a cost model with fixed numbers, so that every rank, run and
 * memory budget makes the same choice. */
#include "cpu/conv2d/conv2d.h"

#include "cpu/dispatch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* Output reals of a row, and rows of a tile, that the methods in the space domain make at a time. Window and taps then fit the
 * second cache for the kernels that suit these methods. */
#define SUM_COLUMNS 2048
#define SUM_ROWS 16

/* Limits of kernels for which several rows of outputs are made at a time; larger sums are divided further, for accuracy. */
#define STENCIL_COLUMNS 16
#define STENCIL_TAPS 128

/* Columns of a tile are whole strips in either precision; rows only need small factors. */
#define COLUMN_UNIT 16
#define ROW_UNIT 4
#define MOST_LENGTH (1 << 17)
#define MOST_POINTS ((int64_t)1 << 31)
#define MOST_PADDED ((int64_t)1 << 29)          /* reals of a padded image's transform, if the kernel leaves the choice */
#define MOST_LENGTHS 2048       /* up to MOST_LENGTH there are 1100 multiples of 4 without a prime factor above 7 */

/* Fewer than WANTED_TRANSFORMS begin to leave ranks and threads without work. That is worth up to WORTH more arithmetic. */
#define WANTED_TRANSFORMS 64
#define WORTH 0.25

/* Nanoseconds per item below, tests/bench/conv2d_cpu, a core of a 4 GHz server, single precision. Only ratios matter. */
static const struct costs {
    double row_point[14];       /* complex point of a row of 2^i points */
    double column_point[14];    /* the same along the columns, in strips */
    double product_point;       /* complex point: product with the spectrum */
    double second_cache_miss, third_cache_miss;         /* complex point, if a tile exceeds that cache */
    double load_real, store_real;
    double weigh_real;          /* pixel: weighing it */
    double row_start;           /* row of a tile, in or out, in either precision */
    double vector_product;      /* one fused multiply-add of a whole vector */
    double tap_start;           /* tap of a row of outputs */
    double stencil;             /* share of the time for products if several rows are made at a time */
} costs = {
    .row_point = {4, 4, 3, 2, 0.9, 0.6, 0.5, 0.48, 0.5, 0.53, 0.58, 0.65, 0.9, 1.5},
    .column_point = {4, 3, 2, 0.8, 0.5, 0.4, 0.4, 0.6, 0.85, 1.25, 1.7, 2.2, 3, 4},
    .product_point = 0.3, .second_cache_miss = 0.5, .third_cache_miss = 2,
    .load_real = 0.35, .store_real = 0.3, .weigh_real = 1, .row_start = 15, .vector_product = 0.32, .tap_start = 1, .stencil = 0.45,
};

static int64_t output_rows(const struct lw_op_spec *spec)
{
    return spec->n_outputs > 0 ? spec->n_outputs : INT64_MAX / MOST_POINTS;
}

/* ---- lengths of transforms ------------------------------------------------------------------------------------------ */

static int64_t odd_part(int64_t n) { return n >> __builtin_ctzll((unsigned long long)n); }

/* Return how much slower FFTW's estimated plans are, for lengths that are no power of two, along rows and in strips of columns. */
static double slowness(int64_t n, bool is_strip, enum lw_precision precision)
{
    switch (odd_part(n)) {
    case 1: return 1;
    case 5: return is_strip ? 1.25 : 1.1;
    case 3: return is_strip || precision == LW_DOUBLE ? 1.7 : 1.3;
    default: return 1.8;
    }
}

static double power_cost(const double table[14], int64_t n)
{
    const int power = 63 - __builtin_clzll((unsigned long long)n);
    return table[power < 13 ? power : 13];
}

/* List the lengths of a transform along one dimension, from the kernel's to the first that takes all outputs at once.
 * @return  their number */
static int list_lengths(int64_t kernel, int64_t n_outputs, int64_t unit, int64_t lengths[MOST_LENGTHS])
{
    const int64_t least = lw_round_up(lw_max64(kernel, COLUMN_UNIT), unit);
    const int64_t enough = lw_min64(n_outputs, MOST_LENGTH) + kernel - 1;
    int n = 0;
    for (int64_t length = least; n < MOST_LENGTHS && length <= MOST_LENGTH; length += unit) {
        if (!lw_has_factors_up_to(7, length))
            continue;
        lengths[n++] = length;
        if (length >= enough)
            break;
    }
    return n;
}

/* ---- what a method costs -------------------------------------------------------------------------------------------- */

static struct lw_cpu_shape2d base_shape(const struct lw_op_spec *spec, enum lw_cpu_conv2d_method method)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const bool is_complex = spec->input.is_complex || c->kernel_complex;
    return (struct lw_cpu_shape2d){
        .kernels = lw_cpu_kernels(spec->precision), .method = method, .n_kernels = c->n_kernels, .width = is_complex ? 2 : 1,
        .has_weights = c->weights != LW_WEIGHTS_NONE,
        .has_window = (method == LW_CPU_CONV2D_TILES && c->background) || c->weights != LW_WEIGHTS_NONE,
        .widens = is_complex && !spec->input.is_complex, .kernel_rows = c->kernel_rows, .kernel_columns = c->kernel_columns,
        .kernel_complex = c->kernel_complex, .pair_rows = 1, .pair_columns = 1,
    };
}

/* Return the nanoseconds per output of a sum of `taps` taps over `reals` reals, which make a row of hop_columns outputs. */
static double sum_cost(const struct lw_cpu_shape2d *shape, int64_t taps, int64_t reals)
{
    const double n = (double)lw_round_up(reals, shape->kernels->direct_step);
    const double products = n * 8 / (double)shape->kernels->direct_step * costs.vector_product;
    const double per_tap = (shape->has_stencil ? costs.stencil : 1) * products + costs.tap_start;
    return (double)taps * (shape->kernel_complex ? 2 : 1) * per_tap / (double)shape->hop_columns;
}

static double strips_cost(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape)
{
    const double loads = (double)(shape->rows * shape->columns) / (double)(shape->hop_rows * shape->hop_columns);
    const double factor = spec->precision == LW_DOUBLE ? 2 : 1;
    const double load = costs.load_real + (shape->has_weights ? costs.weigh_real : 0);
    const double moved = shape->width * factor * (load * loads + shape->n_kernels * costs.store_real);
    const int64_t outputs = shape->hop_columns * shape->width;
    if (shape->method == LW_CPU_CONV2D_DIRECT)
        return moved + shape->n_kernels * lw_cpu_shape2d_planes(shape) *
                           sum_cost(shape, shape->kernel_rows * shape->kernel_columns, outputs);
    return moved + shape->n_kernels * (sum_cost(shape, shape->kernel_rows, shape->columns * shape->width) +
                                       sum_cost(shape, shape->kernel_columns, outputs));
}

/* Return the length of a padded row in reals: direct() reads up to a step beyond its range. */
static int64_t padded_reals(const struct lw_cpu_shape2d *shape, int64_t reals)
{
    return lw_round_up(reals + shape->kernels->direct_step, LW_ALIGNMENT / (int64_t)shape->kernels->real_bytes);
}

/* Return tiles for the methods in the space domain, with the columns shared out evenly. */
static struct lw_cpu_shape2d strips(const struct lw_op_spec *spec, enum lw_cpu_conv2d_method method)
{
    struct lw_cpu_shape2d shape = base_shape(spec, method);
    const int64_t n = spec->conv2d.output_columns, real_bytes = (int64_t)shape.kernels->real_bytes;
    shape.hop_columns = lw_divide_up(n, lw_divide_up(n * shape.width, SUM_COLUMNS));
    shape.hop_rows = SUM_ROWS;
    shape.n_across = lw_divide_up(n, shape.hop_columns);
    shape.columns = shape.hop_columns + shape.kernel_columns - 1;
    shape.rows = shape.hop_rows + shape.kernel_rows - 1;
    shape.has_stencil = method == LW_CPU_CONV2D_DIRECT && !shape.kernel_complex && shape.kernel_columns <= STENCIL_COLUMNS &&
                        shape.kernel_rows * shape.kernel_columns <= STENCIL_TAPS;
    shape.between_turned = shape.window_stride = padded_reals(&shape, shape.columns * shape.width);
    /* A row stride is never a multiple of 4 KiB, because a column would then lie in few cache sets. */
    shape.window_stride += shape.window_stride * real_bytes % 4096 == 0 ? LW_ALIGNMENT / real_bytes : 0;
    shape.window_turned = shape.rows * shape.window_stride + padded_reals(&shape, 0);
    shape.outputs_stride = padded_reals(&shape, shape.hop_columns * shape.width);
    shape.outputs = LW_CPU_STENCIL_ROWS * shape.outputs_stride;
    if (!shape.has_stencil)
        shape.outputs = padded_reals(&shape, shape.columns * shape.width);
    shape.cost = strips_cost(spec, &shape);
    return shape;
}

/* Return the nanoseconds for one transform and the tiles in it. */
static double transform_cost(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape)
{
    const double points = (double)(shape->rows * shape->columns), factor = spec->precision == LW_DOUBLE ? 2 : 1;
    const double bytes = points * 2 * (double)shape->kernels->real_bytes;
    const double kernels = shape->n_kernels, trips = (1 + kernels) / 2;
    const double used_rows = (double)shape->rows + kernels * (double)lw_min64(shape->hop_rows, output_rows(spec));
    double cost = used_rows * (double)shape->columns * power_cost(costs.row_point, shape->columns) *
                  slowness(shape->columns, false, spec->precision);
    cost += 2 * trips * points * power_cost(costs.column_point, shape->rows) * slowness(shape->rows, true, spec->precision);
    cost += kernels * points * costs.product_point;
    cost += trips * points * ((bytes > 768e3 ? costs.second_cache_miss : 0) + (bytes > 16e6 ? costs.third_cache_miss : 0));
    cost += shape->has_weights ? points * costs.weigh_real : 0;
    cost += 2 * points * costs.load_real + 2 * kernels * (double)(shape->hop_rows * shape->hop_columns) * costs.store_real;
    return cost * factor + 2 * used_rows * costs.row_start;
}

static struct lw_cpu_shape2d tiled_shape(const struct lw_op_spec *spec, int64_t rows, int64_t columns)
{
    struct lw_cpu_shape2d shape = base_shape(spec, LW_CPU_CONV2D_TILES);
    shape.rows = rows;
    shape.columns = shape.window_stride = columns;
    shape.window_stride *= shape.width;
    shape.outputs = padded_reals(&shape, columns * shape.width);
    shape.hop_rows = rows - shape.kernel_rows + 1;
    shape.hop_columns = columns - shape.kernel_columns + 1;
    shape.n_across = lw_divide_up(spec->conv2d.output_columns, shape.hop_columns);
    if (shape.has_weights)
        shape.pair_rows = 1;            /* pixels and weights make a pair */
    else if (shape.width == 1 && shape.n_across > 1)
        shape.pair_columns = 2;
    else if (shape.width == 1)
        shape.pair_rows = 2;

    const double down = (double)lw_divide_up(output_rows(spec), shape.hop_rows * shape.pair_rows);
    const double n_transforms = down * (double)lw_divide_up(shape.n_across, shape.pair_columns);
    shape.cost = n_transforms * transform_cost(spec, &shape) / (double)output_rows(spec) / (double)spec->conv2d.output_columns;
    const double share = n_transforms * (double)spec->n_channels / WANTED_TRANSFORMS;
    shape.cost *= share < 1 ? 1 + WORTH * (1 - share) : 1;
    return shape;
}

/* The plan for a padded image. @param is_large  set to whether a transform is too large to be chosen unasked */
static struct lw_cpu_shape2d padded_shape(const struct lw_op_spec *spec, bool *is_large)
{
    const struct lw_bands bands = lw_op_conv2d_bands(spec, ROW_UNIT, COLUMN_UNIT, MOST_PADDED);
    struct lw_cpu_shape2d shape = base_shape(spec, LW_CPU_CONV2D_PADDED);
    shape.rows = bands.rows;
    shape.columns = bands.columns;
    shape.hop_rows = bands.hop_rows;
    shape.hop_columns = spec->conv2d.output_columns;
    shape.outputs = padded_reals(&shape, shape.columns * shape.width);
    shape.n_across = 1;
    /* Real numbers take half the work of complex ones. One transform keeps all threads at work, but leaves ranks idle. */
    const double share = (shape.width == 1 ? 0.5 : 1) * (1 + WORTH);
    shape.cost = share * (double)bands.n * transform_cost(spec, &shape) / (double)(bands.n * bands.hop_rows * shape.hop_columns);
    *is_large = bands.is_large;
    return shape;
}

/* ---- the choice ----------------------------------------------------------------------------------------------------- */

/* Find the cheapest tile; of equal ones the first, which is the smallest. */
static bool choose_tile(const struct lw_op_spec *spec, bool is_full, struct lw_cpu_shape2d *best)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    int64_t rows[MOST_LENGTHS], columns[MOST_LENGTHS];
    const int n_rows = list_lengths(c->kernel_rows, output_rows(spec), ROW_UNIT, rows);
    const int n_columns = list_lengths(c->kernel_columns, c->output_columns, COLUMN_UNIT, columns);
    bool is_found = false;
    for (int j = 0; j < n_columns; j++) {
        if (is_full && columns[j] < c->output_columns + c->kernel_columns - 1)
            continue;
        for (int i = 0; i < n_rows && rows[i] * columns[j] <= MOST_POINTS; i++) {
            const struct lw_cpu_shape2d shape = tiled_shape(spec, rows[i], columns[j]);
            if (!is_found || shape.cost < best->cost)
                *best = shape;
            is_found = true;
        }
    }
    return is_found;
}

static int take_tile(const struct lw_op_spec *spec, bool is_full, struct lw_cpu_shape2d *shape, struct lw_error *err)
{
    if (choose_tile(spec, is_full, shape))
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "no transform of at most %" PRId64 " points holds %s for a kernel of %" PRId64 " x %" PRId64
                   "; try --algorithm direct", MOST_POINTS, is_full ? "rows as wide as the image" : "a tile",
                   spec->conv2d.kernel_rows, spec->conv2d.kernel_columns);
}

static int take_cheapest(const struct lw_op_spec *spec, struct lw_cpu_shape2d *shape, struct lw_error *err)
{
    struct lw_cpu_shape2d best = strips(spec, LW_CPU_CONV2D_DIRECT), other = strips(spec, LW_CPU_CONV2D_SEPARABLE);
    bool is_product = false, is_large;
    const int rc = other.cost < best.cost && !best.has_weights ? lw_op_conv2d_separable(spec, &is_product, err) : LW_OK;
    if (rc)
        return rc;
    if (is_product)
        best = other;
    if (choose_tile(spec, false, &other) && other.cost < best.cost)
        best = other;
    other = padded_shape(spec, &is_large);
    if (!is_large && other.cost < best.cost && !best.has_weights)
        best = other;
    *shape = best;
    return LW_OK;
}

int lw_cpu_shape2d(const struct lw_op_spec *spec, struct lw_cpu_shape2d *shape, struct lw_error *err)
{
    assert(spec->kind == LW_OP_CONV2D && spec->layout == LW_TIME_FAST && spec->n_channels >= 1);
    assert(spec->conv2d.n_kernels >= 1);
    assert(spec->conv2d.kernel_rows >= 1 && spec->conv2d.kernel_columns >= 1 && spec->conv2d.output_columns >= 1);
    assert(!lw_search_is_needed(&spec->conv2d.search) || (spec->n_outputs > 0 && spec->conv2d.search.threshold > 0));
    bool is_large;
    if (spec->input.is_complex && spec->conv2d.background)
        return lw_fail(err, LW_ECONFIG, "a background mesh is for real images, and the image is complex: leave the mesh out");
    if (spec->conv2d.weights != LW_WEIGHTS_NONE && lw_op_is_complex(spec))
        return lw_fail(err, LW_ECONFIG, "weights are for real images and kernels, and the %s complex: leave the weights out",
                       spec->input.is_complex ? "image is" : "kernel is");
    if (spec->conv2d.weights != LW_WEIGHTS_NONE && (spec->conv2d.algorithm == LW_CONV2D_ALGORITHM_SEPARABLE ||
                                                    spec->conv2d.algorithm == LW_CONV2D_ALGORITHM_PADDED))
        return lw_fail(err, LW_ECONFIG, "--algorithm %s does not know weights of pixels: choose auto, tiles, full or direct",
                       spec->conv2d.algorithm == LW_CONV2D_ALGORITHM_SEPARABLE ? "separable" : "padded");
    switch (spec->conv2d.algorithm) {
    case LW_CONV2D_ALGORITHM_DIRECT: *shape = strips(spec, LW_CPU_CONV2D_DIRECT); return LW_OK;
    case LW_CONV2D_ALGORITHM_TILES: return take_tile(spec, false, shape, err);
    case LW_CONV2D_ALGORITHM_FULL: return take_tile(spec, true, shape, err);
    case LW_CONV2D_ALGORITHM_PADDED: *shape = padded_shape(spec, &is_large); return LW_OK;
    case LW_CONV2D_ALGORITHM_SEPARABLE:
        *shape = strips(spec, LW_CPU_CONV2D_SEPARABLE);
        return lw_op_conv2d_separable(spec, NULL, err);
    default: return take_cheapest(spec, shape, err);
    }
}

/* ---- in words ------------------------------------------------------------------------------------------------------- */

static void describe(const struct lw_cpu_shape2d *shape, char *text, size_t size)
{
    const char *const packing = shape->has_weights ? ", pixels and weights as one complex"
                                : shape->width == 2 ? "" : ", two real ones as one complex";
    if (shape->method == LW_CPU_CONV2D_DIRECT)
        snprintf(text, size, "direct sum of %" PRId64 " x %" PRId64 " taps", shape->kernel_rows, shape->kernel_columns);
    else if (shape->method == LW_CPU_CONV2D_SEPARABLE)
        snprintf(text, size, "separable kernel: a pass of %" PRId64 " taps along the columns and one of %" PRId64
                 " along the rows", shape->kernel_rows, shape->kernel_columns);
    else if (shape->method == LW_CPU_CONV2D_PADDED)
        snprintf(text, size, "padded to %" PRId64 " x %" PRId64 ", one transform by FFTW for %" PRId64 " rows of outputs",
                 shape->rows, shape->columns, shape->hop_rows);
    else
        snprintf(text, size, "overlap-save on %s of %" PRId64 " x %" PRId64 ", hop %" PRId64 " x %" PRId64 "%s",
                 shape->n_across == 1 ? "full-width bands" : "tiles", shape->rows, shape->columns, shape->hop_rows,
                 shape->hop_columns, packing);
}

int lw_cpu_conv2d_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    struct lw_cpu_shape2d shape;
    const int rc = lw_cpu_shape2d(spec, &shape, err);
    if (rc)
        return rc;
    *plan = (struct lw_op_plan){
        .halo = shape.kernel_rows - 1, .unit = lw_cpu_shape2d_has_fft(&shape) ? shape.hop_rows * shape.pair_rows : 1,
        .channel_unit = 1, .input_width = spec->conv2d.columns, .n_outputs = spec->n_outputs,
        .segment = lw_cpu_shape2d_has_fft(&shape) ? (int)shape.columns : 0,
        .parts = shape.method == LW_CPU_CONV2D_PADDED ? LW_CPU_PADDED_TASKS : lw_divide_up(shape.n_across, shape.pair_columns),
        .seconds_per_output = 1e-9 * shape.cost / shape.n_kernels,
    };
    lw_op_conv2d_products(spec, plan);
    describe(&shape, plan->text, sizeof plan->text);
    return LW_OK;
}
