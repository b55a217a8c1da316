/* conv2d.c - 2-D convolution of one block: threads take tiles, or the pairs of tiles of a transform, each in its own buffers.
 *
 *   DIRECT, SEPARABLE   load the window -> repair -> per row of outputs, or per several rows: sum, or a pass along the columns and
 *                       one along the row -> finish -> store
 *   TILES               find flaws and magnitude -> per row: load, pack, transform -> columns forward, product and back -> per row
 *                       that is kept: transform back, unpack -> finish -> store
 *   PADDED              the same, one window after the other; all threads share the rows, then the columns, then the rows
 *
 * All kernels of a bank use the window once it is loaded. Its columns are then transformed once and kept, and product and inverse
 * are made for one kernel after the other.
 *
 * A search for peaks also computes rows before and after a block's own, in whole tiles, and looks for crossings in finished rows.
 * No result depends on the thread, the block or the slot. */
#include "cpu/conv2d/conv2d.h"

#include "cpu/dispatch.h"
#include "signal/convolution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums over a tile of pixels up to 2^this and kernels near 1 stay far from the ends of either precision's range. */
#define MODERATE_EXPONENT 16

/* A tile's rows lie far from each other, and the processor does not foresee the next: rows are prefetched this many ahead. */
#define ROWS_AHEAD 3

/* Tasks of each step of a padded image. */
#define PADDED_TASKS 256

static void *real_at(const struct lw_cpu_conv2d *conv2d, void *buffer, int64_t real)
{
    return (char *)buffer + (size_t)real * conv2d->shape.kernels->real_bytes;
}

/* ---- the memory of a thread ----------------------------------------------------------------------------------------- */

static int64_t strengths_bytes(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape)
{
    const bool is_kept = lw_search_products(&spec->conv2d.search) & LW_BEST;
    return is_kept ? shape->hop_rows * shape->hop_columns * (int64_t)sizeof(double) : 0;
}

static int64_t lay_out(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, char *memory,
                       struct lw_cpu_conv2d_lane *lane)
{
    const int64_t real = (int64_t)shape->kernels->real_bytes, planes = lw_cpu_shape2d_planes(shape);
    const struct lw_cpu_fft2d fft = lw_cpu_shape2d_fft(shape);
    const bool is_repeated = spec->conv2d.boundary != LW_BOUNDARY_ZERO && !shape->has_weights;
    const bool is_tiled = lw_cpu_shape2d_has_fft(shape);
    const bool is_padded = shape->method == LW_CPU_CONV2D_PADDED;
    const int64_t points = is_padded ? 0 : planes * shape->rows * fft.pitch * 2;
    const int64_t turned = shape->window_turned * (shape->kernel_complex ? 2 : planes);
    const int64_t passes = shape->method == LW_CPU_CONV2D_SEPARABLE ? 2 * shape->between_turned : 0;
    const int64_t kept = is_padded || shape->n_kernels == 1 ? 0 : planes * shape->rows * fft.bins * 2;
    const int64_t window = shape->has_window && is_tiled ? planes * shape->rows * shape->window_stride : 0;
    const bool has_sky = spec->conv2d.background || spec->conv2d.weights == LW_WEIGHTS_MESH;
    const int64_t sky = shape->columns + (is_repeated ? spec->conv2d.columns : 0);
    struct lw_cpu_arena arena = {.base = memory};
    lane->x = lw_cpu_take(&arena, lw_cpu_padded((is_tiled ? points : turned) * real));
    lane->between = lw_cpu_take(&arena, lw_cpu_padded((is_tiled ? shape->rows * fft.strip * 2 : passes) * real));
    lane->row = lw_cpu_take(&arena, lw_cpu_padded(is_tiled ? planes * shape->columns * 2 * real : 0));
    lane->repeated_row = lw_cpu_take(&arena, lw_cpu_padded(is_repeated ? shape->columns * (int64_t)lw_type_bytes(spec->input) : 0));
    lane->sky = lw_cpu_take(&arena, lw_cpu_padded(has_sky ? sky * (int64_t)sizeof *lane->sky : 0));
    lane->kept = lw_cpu_take(&arena, lw_cpu_padded(kept * real));
    for (int i = 0; i < shape->pair_rows * shape->pair_columns; i++) {
        lane->window[i] = lw_cpu_take(&arena, lw_cpu_padded(window * real));
        lane->strengths[i] = lw_cpu_take(&arena, is_padded ? 0 : lw_cpu_padded(strengths_bytes(spec, shape)));
        lane->y[i] = lw_cpu_take(&arena, lw_cpu_padded(planes * shape->outputs * real));
        lw_cpu_take(&arena, lw_cpu_padded(lw_cpu_flaws2d_lay_out_own(spec, shape, lw_cpu_take(&arena, 0), &lane->flaws[i])));
        if (!is_padded)
            lw_cpu_take(&arena, lw_cpu_padded(lw_cpu_flaws2d_lay_out(spec, shape, lw_cpu_take(&arena, 0), &lane->flaws[i])));
    }
    return arena.used;
}

/* Lay out the memory that all threads share, and let a lane point to it. */
static int64_t lay_out_shared(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, void *memory,
                              struct lw_cpu_conv2d_lane *lane)
{
    const struct lw_cpu_fft2d fft = lw_cpu_shape2d_fft(shape);
    struct lw_cpu_arena arena = {.base = memory};
    if (shape->method != LW_CPU_CONV2D_PADDED)
        return 0;
    const int64_t complex_bytes = 2 * (int64_t)shape->kernels->real_bytes;
    lane->x = lw_cpu_take(&arena, lw_cpu_padded(fft.rows * fft.pitch * complex_bytes));
    lane->kept = lw_cpu_take(&arena, lw_cpu_padded(shape->n_kernels == 1 ? 0 : fft.rows * fft.bins * complex_bytes));
    lane->strengths[0] = lw_cpu_take(&arena, lw_cpu_padded(strengths_bytes(spec, shape)));
    lw_cpu_take(&arena, lw_cpu_flaws2d_lay_out(spec, shape, lw_cpu_take(&arena, 0), &lane->flaws[0]));
    return arena.used;
}

/* ---- lifecycle ------------------------------------------------------------------------------------------------------ */

static int64_t n_tasks(const struct lw_cpu_shape2d *shape, int64_t count, int64_t n_channels)
{
    if (shape->method == LW_CPU_CONV2D_PADDED)
        return PADDED_TASKS;
    return n_channels * lw_divide_up(count, shape->hop_rows * shape->pair_rows) *
           lw_divide_up(shape->n_across, shape->pair_columns);
}

static int n_lanes(const struct lw_cpu_shape2d *shape, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size)
{
    return lw_cpu_lanes_needed(size->n_threads, n_tasks(shape, plan->before + size->count + plan->after, size->n_channels));
}

static int64_t n_noises(const struct lw_op_spec *spec)
{
    return lw_search_is_needed(&spec->conv2d.search) ? spec->n_channels * spec->conv2d.n_kernels : 0;
}

static int64_t mesh_bytes(const struct lw_mesh *mesh) { return mesh ? lw_mesh_values(mesh) * (int64_t)sizeof *mesh->tables : 0; }

/* Return whether windows with bright stars are transformed in double precision; find the operation that does so. */
static bool is_widened(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, struct lw_op_spec *wide,
                       struct lw_cpu_shape2d *wide_shape)
{
    *wide = *spec;
    wide->precision = LW_DOUBLE;
    wide->nan = LW_NAN_ZERO;
    wide->conv2d.background = wide->conv2d.sigma = NULL;
    wide->conv2d.weights = LW_WEIGHTS_INVERSE;
    wide->conv2d.search = (struct lw_search){0};
    *wide_shape = *shape;
    wide_shape->kernels = lw_cpu_kernels(LW_DOUBLE);
    wide_shape->has_window = false;     /* it takes that of the tile in single precision */
    return shape->has_weights && spec->precision == LW_SINGLE && lw_cpu_shape2d_has_fft(shape);
}

static int64_t bytes_of(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, const struct lw_op_plan *plan,
                        const struct lw_cpu_op_size *size)
{
    struct lw_cpu_conv2d_lane lane;
    const int64_t lane_bytes = (int64_t)sizeof lane + lay_out(spec, shape, NULL, &lane);
    /* FFTW's tables of roots: about one complex number per point of a plan, for each direction. */
    const int64_t tables = 4 * (shape->rows + shape->columns) * (int64_t)shape->kernels->real_bytes;
    const int64_t work = (lw_cpu_shape2d_has_fft(shape) ? tables : 0) + lay_out_shared(spec, shape, NULL, &lane) +
                         n_lanes(shape, plan, size) * lane_bytes;
    const int64_t kernel = (int64_t)sizeof(struct lw_cpu_kernel2d) + lw_cpu_kernel2d_bytes(shape, spec->nan);
    const int64_t kept = (int64_t)sizeof(struct lw_cpu_conv2d) + shape->n_kernels * kernel +
                         n_noises(spec) * (int64_t)sizeof(double) + mesh_bytes(spec->conv2d.background) +
                         mesh_bytes(spec->conv2d.sigma);
    return kept + lw_max64(work, lw_cpu_kernel2d_setup_bytes(shape));      /* the kernel is prepared before the lanes are opened */
}

static int64_t conv2d_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size)
{
    struct lw_cpu_shape2d shape, wide_shape;
    struct lw_op_spec wide;
    if (lw_cpu_shape2d(spec, &shape, NULL))
        return 0;                       /* cannot happen: the plan was made from the same spec */
    return bytes_of(spec, &shape, plan, size) +
           (is_widened(spec, &shape, &wide, &wide_shape) ? bytes_of(&wide, &wide_shape, plan, size) : 0);
}

static int take_noise(const struct lw_op_spec *spec, double **out, struct lw_error *err)
{
    const double *const given = spec->conv2d.search.noise;
    const int64_t n = n_noises(spec);
    double *const noise = lw_alloc_array(n, sizeof *noise, "the noise of the images", err);
    for (int64_t i = 0; noise && i < n; i++)
        noise[i] = given ? given[i] : 1;
    *out = noise;
    return noise ? LW_OK : LW_ESYSTEM;
}

/* Copy a mesh; none if `given` is NULL. */
static int take_mesh(const struct lw_mesh *given, struct lw_mesh *out, struct lw_error *err)
{
    if (!given)
        return LW_OK;
    *out = *given;
    out->tables = lw_alloc((size_t)mesh_bytes(given), "a mesh", err);
    if (!out->tables)
        return LW_ESYSTEM;
    memcpy(out->tables, given->tables, (size_t)mesh_bytes(given));
    return LW_OK;
}

static int take_kernels(struct lw_cpu_conv2d *conv2d, const struct lw_op_spec *spec, struct lw_error *err)
{
    const int n = conv2d->shape.n_kernels;
    if (!(conv2d->kernels = lw_alloc_array(n, sizeof *conv2d->kernels, "the kernels", err)))
        return LW_ESYSTEM;
    int rc = LW_OK;
    for (int k = 0; rc == LW_OK && k < n; k++)
        rc = lw_cpu_kernel2d_create(spec, &conv2d->shape, k, &conv2d->kernels[k], err);
    return rc;
}

/* Open the lanes, and plan the transform for their memory. */
static int open_lanes(struct lw_cpu_conv2d *conv2d, int n, struct lw_error *err)
{
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    struct lw_cpu_conv2d_lane counted;
    const int64_t bytes = lay_out(&conv2d->spec, shape, NULL, &counted);
    const int64_t shared = lay_out_shared(&conv2d->spec, shape, NULL, &counted);
    int rc = lw_cpu_lanes_open(&conv2d->lanes, n, sizeof counted, bytes, err);
    if (rc == LW_OK && shared > 0 && !(conv2d->shared = lw_alloc((size_t)shared, "a padded image", err)))
        rc = LW_ESYSTEM;
    for (int i = 0; rc == LW_OK && i < n; i++) {
        struct lw_cpu_conv2d_lane *const lane = lw_cpu_lane_at(&conv2d->lanes, i);
        lay_out(&conv2d->spec, shape, lane->base.memory, lane);
        lay_out_shared(&conv2d->spec, shape, conv2d->shared, lane);
    }
    if (rc || !lw_cpu_shape2d_has_fft(shape))
        return rc;
    const struct lw_cpu_conv2d_lane *const lane = lw_cpu_lane_at(&conv2d->lanes, 0);
    const struct lw_cpu_fft2d fft = lw_cpu_shape2d_fft(shape);
    return shape->kernels->fft2d_create(&fft, lane->row, lane->x, lane->between, &conv2d->fft, err);
}

static void conv2d_destroy(void *state)
{
    struct lw_cpu_conv2d *const conv2d = state;
    if (!conv2d)
        return;
    if (conv2d->fft)
        conv2d->shape.kernels->fft2d_destroy(conv2d->fft);
    lw_cpu_lanes_close(&conv2d->lanes);
    for (int k = 0; conv2d->kernels && k < conv2d->shape.n_kernels; k++)
        lw_cpu_kernel2d_release(&conv2d->kernels[k]);
    lw_free(conv2d->kernels);
    lw_free(conv2d->background.tables);
    lw_free(conv2d->sigma.tables);
    lw_free(conv2d->shared);
    lw_free(conv2d->noise);
    conv2d_destroy(conv2d->wide);
    lw_free(conv2d);
}

static int create_of(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, const struct lw_op_plan *plan,
                     const struct lw_cpu_op_size *size, struct lw_cpu_conv2d **out, struct lw_error *err)
{
    struct lw_cpu_conv2d *const conv2d = lw_alloc(sizeof *conv2d, "an operation", err);
    if (!conv2d)
        return LW_ESYSTEM;
    conv2d->spec = *spec;
    conv2d->spec.conv2d.kernel = conv2d->spec.conv2d.search.noise = NULL;       /* borrowed during this call only */
    conv2d->spec.conv2d.background = spec->conv2d.background ? &conv2d->background : NULL;
    conv2d->spec.conv2d.sigma = spec->conv2d.sigma ? &conv2d->sigma : NULL;
    if (spec->conv2d.weights != LW_WEIGHTS_NONE) {      /* pixels beyond the sides have no weight */
        conv2d->spec.conv2d.boundary = LW_BOUNDARY_ZERO;
        conv2d->spec.conv2d.outside = 0;
    }
    conv2d->plan = *plan;
    conv2d->series = lw_op_find_product(plan, LW_OP_SERIES);
    conv2d->crossings = lw_op_find_product(plan, LW_OP_CROSSINGS);
    conv2d->best_value = lw_op_find_product(plan, LW_OP_BEST_VALUE);
    conv2d->best_filter = lw_op_find_product(plan, LW_OP_BEST_FILTER);
    conv2d->shape = *shape;
    conv2d->n_tiles = shape->pair_rows * shape->pair_columns;
    int rc;
    if ((rc = take_noise(spec, &conv2d->noise, err)) ||
        (rc = take_mesh(spec->conv2d.background, &conv2d->background, err)) ||
        (rc = take_mesh(spec->conv2d.sigma, &conv2d->sigma, err)) || (rc = take_kernels(conv2d, spec, err)) ||
        (rc = open_lanes(conv2d, n_lanes(&conv2d->shape, plan, size), err))) {
        conv2d_destroy(conv2d);
        return rc;
    }
    *out = conv2d;
    return LW_OK;
}

static int conv2d_create(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size,
                         void **out, struct lw_error *err)
{
    struct lw_cpu_shape2d shape, wide_shape;
    struct lw_op_spec wide;
    struct lw_cpu_conv2d *conv2d = NULL;
    int rc;
    if ((rc = lw_cpu_shape2d(spec, &shape, err)) || (rc = create_of(spec, &shape, plan, size, &conv2d, err)))
        return rc;
    if (is_widened(spec, &shape, &wide, &wide_shape) &&
        (rc = create_of(&wide, &wide_shape, plan, size, &conv2d->wide, err))) {
        conv2d_destroy(conv2d);
        return rc;
    }
    *out = conv2d;
    return LW_OK;
}

/* ---- outputs of a row ----------------------------------------------------------------------------------------------- */

static bool is_within(int64_t row, int64_t begin, int64_t end) { return row >= begin && row < end; }

/* Return whether row `row` of a tile's outputs is stored. has_best returns whether the best of its outputs are, and is_searched
 * whether it may have crossings. */
static bool is_stored(const struct lw_cpu_tile2d *tile, int64_t row)
{
    return tile->conv2d->series >= 0 && is_within(tile->row + row, tile->work->stored_begin, tile->work->stored_end) &&
           (tile->conv2d->spec.conv2d.every <= 1 ||
            (tile->slot->block.first + tile->row + row) % tile->conv2d->spec.conv2d.every == 0);
}

static bool has_best(const struct lw_cpu_tile2d *tile, int64_t row)
{
    return tile->conv2d->best_value >= 0 && is_within(tile->row + row, tile->work->stored_begin, tile->work->stored_end);
}

static bool is_searched(const struct lw_cpu_tile2d *tile, int64_t row)
{
    return is_within(tile->row + row, tile->work->crossings_begin, tile->work->crossings_end);
}

static bool is_needed(const struct lw_cpu_tile2d *tile, int64_t row)
{
    return row < tile->n_rows && (is_stored(tile, row) || has_best(tile, row) || is_searched(tile, row));
}

static double noise_of(const struct lw_cpu_tile2d *tile, int kernel)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    return conv2d->noise[(tile->slot->block.channel + tile->channel) * conv2d->shape.n_kernels + kernel];
}

/* Return the row B that belongs to a row A of outputs. */
static void *b_of(const struct lw_cpu_conv2d *conv2d, const void *outputs)
{
    return real_at(conv2d, (void *)outputs, conv2d->shape.outputs);
}

static void search_row(const struct lw_cpu_tile2d *tile, int64_t row, const void *outputs)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_block *const block = &tile->slot->block;
    const int64_t channel = block->channel + tile->channel;
    const struct lw_cpu_outputs searched = {
        .kernels = conv2d->shape.kernels, .y = outputs, .width = conv2d->shape.width, .end = tile->n_columns, .is_row = true,
        .first = {.index = block->first + tile->row + row, .channel = (int32_t)channel, .filter = tile->kernel,
                  .column = tile->column},
        .noise = noise_of(tile, tile->kernel), .threshold = conv2d->spec.conv2d.search.threshold,
        .sign = conv2d->spec.conv2d.search.sign,
        .b = conv2d->shape.has_weights ? b_of(conv2d, outputs) : NULL,
        .exponent = -(tile->unit + conv2d->kernels[tile->kernel].exponent),
    };
    lw_cpu_crossings_find(&searched, &tile->lane->found, tile->work->table);
}

/* Place of a stored row of a tile's outputs; every D-th column is kept. */
struct stored_row {
    int64_t first, n;           /* range of columns among the kept ones */
    char *at;
};

/* Return how many of n rows or columns are kept. Divisions would take a good part of the time of a row. */
static int64_t kept(int64_t n, int64_t every) { return every == 1 ? n : lw_divide_up(n, every); }

static struct stored_row stored_row(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_block *const block = &tile->slot->block;
    const int64_t every = lw_conv2d_every(&conv2d->spec.conv2d), first = kept(tile->column, every);
    const int64_t plane = tile->kernel * block->n_channels + tile->channel;
    const int64_t line = plane * tile->work->n_kept + kept(block->first + tile->row + row, every) - tile->work->first_kept;
    const int64_t index = line * conv2d->plan.products[conv2d->series].width + first;
    return (struct stored_row){
        .first = first, .n = kept(tile->column + tile->n_columns, every) - first,
        .at = (char *)tile->slot->products[conv2d->series].data + (size_t)index * lw_type_bytes(conv2d->spec.output),
    };
}

/* Keep every D-th column of the image, and store these. */
static void store_row(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t every = lw_conv2d_every(&conv2d->spec.conv2d), width = conv2d->shape.width;
    const struct stored_row to = stored_row(tile, row);
    if (to.n == 0)
        return;
    if (every > 1)
        lw_cpu_pick(outputs, 1, real_at(conv2d, outputs, (to.first * every - tile->column) * width), every, to.n,
                    (size_t)width * k->real_bytes);
    const struct lw_cpu_panel panel = lw_cpu_output_panel(&conv2d->spec, 1, to.n);
    k->store(&panel, outputs, to.at, &tile->lane->base.loss);
}

/* Let a row of outputs compete with those of the kernels before. */
static void keep_best(const struct lw_cpu_tile2d *tile, int64_t row, const void *outputs)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const struct lw_search *const search = &conv2d->spec.conv2d.search;
    const int64_t n = tile->n_columns, width = conv2d->shape.width;
    const int64_t line = tile->channel * tile->slot->block.count + tile->row + row;
    const int64_t at = line * conv2d->spec.conv2d.output_columns + tile->column;
    const struct lw_cpu_best best = {
        .values = real_at(conv2d, tile->slot->products[conv2d->best_value].data, at * width),
        .strengths = tile->strengths + row * conv2d->shape.hop_columns,
        .filters = (int32_t *)tile->slot->products[conv2d->best_filter].data + at,
    };
    if (tile->kernel == 0) {
        k->fill(best.values, n * width, (double)NAN);
        for (int64_t i = 0; i < n; i++) {
            best.strengths[i] = -INFINITY;
            best.filters[i] = -1;
        }
    }
    double least = INFINITY;
    for (int i = 0; i < conv2d->shape.n_kernels; i++)
        if (noise_of(tile, i) > 0)
            least = fmin(least, noise_of(tile, i));
    const double noise = noise_of(tile, tile->kernel);
    if (noise > 0)
        k->keep_best(outputs, n, (int)width, search->sign, least / noise, tile->kernel, &best);
}

static void *window_row(const struct lw_cpu_tile2d *tile, int plane, int64_t row)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    return real_at(tile->conv2d, tile->window, (plane * shape->rows + row) * shape->window_stride);
}

/* Find the smallest B for which A and B are as exact as engine.h promises, for a kernel of norm 1. A transform's error is alike at
 * all outputs: about `rounding` times the rms value of what is transformed and the norm of the kernel. */
static void least_of(const struct lw_cpu_tile2d *tile, double *a, double *b)
{
    const bool is_single = tile->conv2d->shape.kernels->real_bytes == sizeof(float);
    const double rounding = is_single ? 2e-7 : 4e-16, most = is_single || tile->narrow ? 1e-5 : 1e-10;
    const double error = ldexp(rounding * (tile->rms[0] + tile->rms[1]) / (10 * most), tile->exponent);
    *a = error * error;
    *b = rounding * tile->rms[1] / most;
}

/* Return the smallest B of the tile's kernel. Errors of direct sums are small beside each output. */
static double least_b(const struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    const double norm = tile->conv2d->kernels[tile->kernel].norm;
    double a, b;
    least_of(tile, &a, &b);
    const double least = shape->kernels->real_bytes == sizeof(float) ? 0x1p-100 : 0x1p-900;
    return lw_cpu_shape2d_has_fft(shape) ? fmax(a, b) * norm * norm : least;
}

/* Return whether the error of A, or faint weights, would leave many outputs to sums: B is about norm^2 times the weights' rms. */
static bool is_bright(const struct lw_cpu_tile2d *tile)
{
    double a, b;
    least_of(tile, &a, &b);
    return a > 0.1 * tile->rms[1] || tile->is_uneven;
}

/* Make those outputs of a row whose B is below `least` as sums in double precision. */
static void sum_faint(const struct lw_cpu_tile2d *tile, int64_t row, double least, void *outputs)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const bool is_single = shape->kernels->real_bytes == sizeof(float);
    const struct lw_cpu_tile2d *const window = tile->narrow ? tile->narrow : tile;
    void *const b = b_of(conv2d, outputs);
    for (int64_t j = 0; j < tile->n_columns; j++) {
        const double its = is_single ? (double)((const float *)b)[j] : ((const double *)b)[j];
        if (!(its < least) || (tile->flaws->any && tile->flaws->touched[j]))
            continue;
        double sums[2];
        const void *const x = real_at(window->conv2d, window_row(window, 0, row), j);
        const void *const v = real_at(window->conv2d, window_row(window, 1, row), j);
        window->conv2d->shape.kernels->weighted_sum(conv2d->kernels[tile->kernel].taps, shape->kernel_rows,
                                                    shape->kernel_columns, x, v, shape->window_stride, sums);
        /* divide_row multiplies by 2^exponent; only the window of a narrow tile has been divided by it */
        const double y = sums[1] > 0 ? ldexp(sums[0] / sqrt(sums[1]), tile->narrow ? -tile->exponent : 0) : 0;
        shape->kernels->round_reals(&y, real_at(conv2d, outputs, j), 1);
        shape->kernels->round_reals(&sums[1], real_at(conv2d, b, j), 1);
    }
}

/* Make A / sqrt(B) of a row. */
static void divide_row(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    const struct lw_cpu_kernels *const k = tile->conv2d->shape.kernels;
    const double least = least_b(tile);
    const bool has_faint = k->divide_by_root(outputs, b_of(tile->conv2d, outputs), tile->n_columns, least);
    lw_cpu_flaws2d_apply(tile, row, outputs);
    if (has_faint)
        sum_faint(tile, row, least, outputs);
    if (tile->exponent != 0)
        k->scale(outputs, tile->n_columns, tile->exponent);
}

/* Undo the scaling and treat the flaws. */
static void restore_row(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const int exponent = conv2d->kernels[tile->kernel].exponent + tile->exponent;
    if (exponent != 0)
        conv2d->shape.kernels->scale(outputs, tile->n_columns * conv2d->shape.width, exponent);
    lw_cpu_flaws2d_apply(tile, row, outputs);
}

/* Complete a row of outputs, search it for crossings and the best kernel, and store it. */
static void finish_row(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    struct lw_cpu_tile2d narrow;
    if (tile->conv2d->shape.has_weights)
        divide_row(tile, row, outputs);
    else
        restore_row(tile, row, outputs);
    if (tile->narrow) {
        narrow = *tile->narrow;
        narrow.kernel = tile->kernel;
        narrow.conv2d->shape.kernels->round_reals(outputs, narrow.y, narrow.n_columns);
        narrow.conv2d->shape.kernels->round_reals(b_of(tile->conv2d, outputs), b_of(narrow.conv2d, narrow.y), narrow.n_columns);
        outputs = narrow.y;
        tile = &narrow;
    }
    if (is_searched(tile, row))
        search_row(tile, row, outputs);
    if (has_best(tile, row))
        keep_best(tile, row, outputs);
    if (is_stored(tile, row))
        store_row(tile, row, outputs);
}

static void finish_or_skip_row(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    if (is_needed(tile, row))
        finish_row(tile, row, outputs);
    else
        lw_cpu_flaws2d_apply(tile, row, NULL);
}

/* ---- in the space domain -------------------------------------------------------------------------------------------- */

/* Repair the flaws in a row of the window. Integers have none, and their magnitude is not needed.
 * @return  the largest magnitude in the row */
static double inspect_row(const struct lw_cpu_tile2d *tile, int64_t row, void *reals)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const int64_t n = tile->needed_columns * conv2d->shape.width;
    if (lw_scalar_is_integer(conv2d->spec.input.scalar))
        return 0;
    const double largest = conv2d->shape.kernels->largest(reals, n);
    if (isfinite(largest))
        return largest;
    lw_cpu_flaws2d_repair(tile, row, reals);
    return conv2d->shape.kernels->largest(reals, n);
}

/* Load a window of pixels and weights, and weigh the pixels. The weights are scaled to a largest one near 1. */
static void load_weighted(struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const struct lw_cpu_kernels *const k = shape->kernels;
    const bool is_sigma = conv2d->spec.conv2d.weights != LW_WEIGHTS_INVERSE;
    const int64_t n = tile->needed_columns;
    int64_t n_none = 0, n_faint = 0;
    double largest = 0, squares[2] = {0};
    for (int64_t row = 0; row < tile->needed_rows; row++) {
        void *const x = window_row(tile, 0, row), *const v = window_row(tile, 1, row);
        lw_cpu_window2d_load(tile, row, x);
        lw_cpu_window2d_load_weights(tile, row, v);
        n_none += k->take_weights(x, v, n, is_sigma);
        largest = fmax(largest, k->largest(v, n));
        inspect_row(tile, row, x);
    }
    lw_cpu_flaws2d_settle_weights(tile, n_none < shape->kernel_rows * shape->kernel_columns ? NULL : window_row(tile, 1, 0));
    const int exponent = largest > 0 ? ilogb(largest) : 0;
    tile->unit = is_sigma ? exponent : (exponent - (exponent & 1)) / 2;
    for (int64_t row = 0; row < tile->needed_rows; row++)
        n_faint += k->weigh_pixels(window_row(tile, 0, row), window_row(tile, 1, row), n, is_sigma, tile->unit, squares);
    tile->is_uneven = n_faint > (tile->needed_rows * n - n_none) / 20;
    for (int i = 0; i < 2; i++)
        tile->rms[i] = sqrt(squares[i] / (double)(shape->rows * shape->columns));
}

/* Make LW_CPU_STENCIL_ROWS rows of outputs from `row` on. Those beyond the tile's last row are meaningless, and dropped. */
static void sum_rows(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const struct lw_cpu_stencil stencil = {conv2d->kernels[tile->kernel].first.taps, shape->kernel_rows, shape->kernel_columns,
                                           shape->window_stride, shape->width};
    const int64_t end = lw_min64(row + LW_CPU_STENCIL_ROWS, tile->n_rows), stride = shape->outputs_stride;
    bool is_any = false;
    for (int64_t i = row; i < end; i++)
        is_any |= is_needed(tile, i);
    if (is_any)
        shape->kernels->stencil(&stencil, real_at(conv2d, tile->lane->x, row * stencil.stride), tile->n_columns * shape->width,
                                tile->y, stride);
    if (is_any && shape->has_weights) {
        const struct lw_cpu_stencil squares = {conv2d->kernels[tile->kernel].second.taps, stencil.rows, stencil.columns,
                                               stencil.stride, 1};
        shape->kernels->stencil(&squares, window_row(tile, 1, row), tile->n_columns, b_of(conv2d, tile->y), stride);
    }
    for (int64_t i = row; i < end; i++)
        finish_or_skip_row(tile, i, real_at(conv2d, tile->y, (i - row) * stride));
}

/* Make one row of outputs: by a sum, or by a pass along the columns and one along the row. */
static void sum_row(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const struct lw_cpu_terms *terms = &conv2d->kernels[tile->kernel].first;
    const void *from = real_at(conv2d, tile->lane->x, row * shape->window_stride);
    if (shape->method == LW_CPU_CONV2D_SEPARABLE) {
        char *const between = tile->lane->between;
        shape->kernels->direct(terms, from, between, shape->columns * shape->width);
        if (shape->kernel_complex)
            shape->kernels->quarter_turn(between, real_at(conv2d, between, shape->between_turned), shape->columns);
        terms = &conv2d->kernels[tile->kernel].second;
        from = between;
    }
    shape->kernels->direct(terms, from, tile->y, tile->n_columns * shape->width);
    if (shape->has_weights)
        shape->kernels->direct(&conv2d->kernels[tile->kernel].second, window_row(tile, 1, row), b_of(conv2d, tile->y),
                               tile->n_columns);
    finish_row(tile, row, tile->y);
}

/* Make all rows of the tile's kernel. */
static void sum_tile(const struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    lw_cpu_flaws2d_take_kernel(tile);
    lw_cpu_flaws2d_begin(tile, 0);
    for (int64_t row = 0; row < tile->n_rows; row += shape->has_stencil ? LW_CPU_STENCIL_ROWS : 1) {
        if (shape->has_stencil)
            sum_rows(tile, row);
        else if (is_needed(tile, row))
            sum_row(tile, row);
        else
            lw_cpu_flaws2d_apply(tile, row, NULL);
    }
}

static void run_window(struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    char *const x = tile->lane->x;
    lw_cpu_flaws2d_clear(tile);
    if (shape->has_weights)
        load_weighted(tile);
    for (int64_t row = 0; !shape->has_weights && row < tile->needed_rows; row++) {
        void *const reals = real_at(tile->conv2d, x, row * shape->window_stride);
        lw_cpu_window2d_load(tile, row, reals);
        inspect_row(tile, row, reals);
    }
    if (shape->kernel_complex)
        shape->kernels->quarter_turn(x, real_at(tile->conv2d, x, shape->window_turned),
                                     tile->needed_rows * shape->window_stride / 2);
    if (!shape->has_weights)
        lw_cpu_flaws2d_settle(tile);
    for (tile->kernel = tile->work->kernel; tile->kernel < tile->work->end_kernel; tile->kernel++)
        sum_tile(tile);
}

/* ---- tiles ---------------------------------------------------------------------------------------------------------- */

/* Load the window, repair its flaws, and find its largest magnitude. */
static double load_window(const struct lw_cpu_tile2d *tile)
{
    double largest = 0;
    for (int64_t row = 0; row < tile->needed_rows; row++) {
        lw_cpu_window2d_load(tile, row, window_row(tile, 0, row));
        largest = fmax(largest, inspect_row(tile, row, window_row(tile, 0, row)));
    }
    return largest;
}

/* Find the flaws and the largest magnitude in the rows [begin, end) of a window. Rows that cannot be used as stored are loaded. */
static double inspect_rows(const struct lw_cpu_tile2d *tile, int64_t begin, int64_t end)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    const struct lw_type input = tile->conv2d->spec.input;
    double largest = 0;
    for (int64_t row = begin; !lw_scalar_is_integer(input.scalar) && row < end; row++) {
        const int64_t later = row + ROWS_AHEAD;
        const void *const ahead = later < end ? lw_cpu_window2d_stored(tile, later) : NULL;
        const void *const stored = lw_cpu_window2d_stored(tile, row);
        if (ahead)
            lw_cpu_fetch(ahead, shape->columns * (int64_t)lw_type_bytes(input));
        double found = stored ? shape->kernels->largest(stored, shape->columns * shape->width) : INFINITY;
        if (!isfinite(found)) {
            lw_cpu_window2d_load(tile, row, tile->y);
            found = inspect_row(tile, row, tile->y);
        }
        largest = fmax(largest, found);
    }
    return largest;
}

static void inspect(struct lw_cpu_tile2d *tile)
{
    lw_cpu_flaws2d_clear(tile);
    if (tile->conv2d->shape.has_weights) {
        /* Both windows have a like rms value in the transform, so that the error of either stays small beside it. */
        load_weighted(tile);
        tile->exponent = tile->rms[0] > tile->rms[1] ? ilogb(tile->rms[0] / tile->rms[1]) : 0;
        tile->rms[0] = ldexp(tile->rms[0], -tile->exponent);
        return;
    }
    const double largest = tile->window ? load_window(tile) : inspect_rows(tile, 0, tile->needed_rows);
    tile->exponent = largest > 0 ? ilogb(largest) : 0;
}

static bool is_flawed(const struct lw_cpu_tile2d *tile, int64_t row) { return tile->flaws->any && tile->flaws->is_flawed[row]; }

/* Load a row of the window, ready to be transformed. */
static void load_row(const struct lw_cpu_tile2d *tile, int64_t row, void *reals)
{
    const struct lw_cpu_kernels *const k = tile->conv2d->shape.kernels;
    const int64_t n = tile->conv2d->shape.columns * tile->conv2d->shape.width;
    if (row >= tile->needed_rows) {
        k->fill(reals, n, 0);
        return;
    }
    lw_cpu_window2d_load(tile, row, reals);
    if (is_flawed(tile, row))
        lw_cpu_flaws2d_repair(tile, row, reals);
    if (tile->exponent != 0)
        k->scale(reals, n, -tile->exponent);
}

/* Return the same row: of the loaded window, or as stored if it can be used so, or loaded into `memory`. */
static void *find_row(const struct lw_cpu_tile2d *tile, int64_t row, void *memory)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    const bool is_ready = row < tile->needed_rows && tile->exponent == 0 && !is_flawed(tile, row);
    if (tile->window && row < tile->needed_rows) {
        if (tile->exponent != 0)
            shape->kernels->scale(window_row(tile, 0, row), shape->columns * shape->width, -tile->exponent);
        return window_row(tile, 0, row);
    }
    const void *const stored = is_ready ? lw_cpu_window2d_stored(tile, row) : NULL;
    if (stored)
        return (void *)stored;
    load_row(tile, row, memory);
    return memory;
}

static void *points_row(const struct lw_cpu_tile2d *tile, int plane, int64_t row)
{
    const struct lw_cpu_fft2d *const fft = tile->conv2d->fft;
    return real_at(tile->conv2d, tile->lane->x, 2 * (plane * fft->rows + row) * fft->pitch);
}

/* Load a row of a narrow tile's pixels and weights. @return the pixels; the weights are the row B beside them */
static void *widen_row(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_cpu_kernels *const k = tile->conv2d->shape.kernels;
    const struct lw_cpu_panel panel = {.scalar = LW_FLOAT32, .rows = 1, .columns = tile->conv2d->shape.columns};
    k->load(&panel, window_row(tile->narrow, 0, row), tile->y);
    k->load(&panel, window_row(tile->narrow, 1, row), b_of(tile->conv2d, tile->y));
    if (tile->exponent != 0)
        k->scale(tile->y, panel.columns, -tile->exponent);
    return tile->y;
}

static void forward_row(const struct lw_cpu_tile2d *tiles, int64_t row)
{
    const struct lw_cpu_conv2d *const conv2d = tiles->conv2d;
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    void *points = tiles->lane->row;
    if (row >= lw_max64(tiles[0].needed_rows, tiles[conv2d->n_tiles - 1].needed_rows)) {
        for (int plane = 0; plane < lw_cpu_shape2d_planes(&conv2d->shape); plane++)
            k->fill(points_row(tiles, plane, row), 2 * conv2d->fft->bins, 0);
        return;
    }
    if (tiles->narrow) {
        k->pack(widen_row(&tiles[0], row), b_of(conv2d, tiles->y), points, conv2d->shape.columns);
    } else if (conv2d->shape.has_weights) {
        k->pack(find_row(&tiles[0], row, NULL), window_row(&tiles[0], 1, row), points, conv2d->shape.columns);
    } else if (conv2d->n_tiles == 1 && tiles->window) {
        points = find_row(&tiles[0], row, points);
    } else if (conv2d->n_tiles == 1) {
        load_row(&tiles[0], row, points);
    } else {
        const void *const first = find_row(&tiles[0], row, tiles[0].y);
        k->pack(first, find_row(&tiles[1], row, tiles[1].y), points, conv2d->shape.columns);
    }
    k->fft2d_row_forward(conv2d->fft, points, points_row(tiles, 0, row));
}

/* Multiply the columns' spectra by a kernel's and transform them back: bins [begin, end) of all rows. With one kernel they have not
 * been transformed yet. */
static void transform_columns(const struct lw_cpu_conv2d *conv2d, int kernel, const struct lw_cpu_conv2d_lane *lane, int64_t begin,
                              int64_t end)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const struct lw_cpu_fft2d *const fft = conv2d->fft;
    for (int plane = 0; plane < lw_cpu_shape2d_planes(&conv2d->shape); plane++) {
        const int64_t kept = 2 * plane * fft->rows * fft->bins;
        const void *const spectrum = real_at(conv2d, conv2d->kernels[kernel].spectrum, kept);
        void *const points = real_at(conv2d, lane->x, 2 * plane * fft->rows * fft->pitch);
        if (conv2d->shape.n_kernels == 1)
            k->fft2d_columns(fft, spectrum, points, lane->between, begin, end);
        else
            k->fft2d_product(fft, spectrum, real_at(conv2d, lane->kept, kept), points, lane->between, begin, end);
    }
}

/* Transform the columns once, for several kernels. */
static void keep_columns(const struct lw_cpu_conv2d *conv2d, const struct lw_cpu_conv2d_lane *lane, int64_t begin, int64_t end)
{
    const struct lw_cpu_fft2d *const fft = conv2d->fft;
    for (int plane = 0; conv2d->shape.n_kernels > 1 && plane < lw_cpu_shape2d_planes(&conv2d->shape); plane++)
        conv2d->shape.kernels->fft2d_forward(fft, real_at(conv2d, lane->x, 2 * plane * fft->rows * fft->pitch),
                                             real_at(conv2d, lane->kept, 2 * plane * fft->rows * fft->bins), begin, end);
}

/* Transform a row back. @param outputs  set to each tile's outputs of the row */
static void inverse_row(const struct lw_cpu_tile2d *tiles, int64_t row, void *outputs[LW_CPU_CONV2D_PAIR])
{
    const struct lw_cpu_conv2d *const conv2d = tiles->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    char *const points = tiles->lane->row;
    shape->kernels->fft2d_row_inverse(conv2d->fft, points_row(tiles, 0, row + shape->kernel_rows - 1), points);
    outputs[0] = real_at(conv2d, points, (conv2d->fft->kind == LW_CPU_REAL_ROWS ? 1 : 2) * (shape->kernel_columns - 1));
    if (conv2d->n_tiles == 1 && !shape->has_weights)
        return;
    shape->kernels->unpack(outputs[0], tiles[0].y, shape->has_weights ? b_of(conv2d, tiles[0].y) : tiles[1].y, shape->hop_columns);
    for (int i = 0; i < conv2d->n_tiles; i++)
        outputs[i] = tiles[i].y;
}

static void put_row(const struct lw_cpu_tile2d *tiles, int64_t row)
{
    const struct lw_cpu_conv2d *const conv2d = tiles->conv2d;
    void *outputs[LW_CPU_CONV2D_PAIR] = {NULL};
    bool is_any = false;
    for (int i = 0; i < conv2d->n_tiles; i++) {
        is_any |= is_needed(&tiles[i], row);
        if (row >= tiles[i].n_rows || !is_stored(&tiles[i], row))
            continue;
        const struct stored_row to = stored_row(&tiles[i], row);       /* prefetches the memory to be written */
        lw_cpu_fetch(to.at, to.n * (int64_t)lw_type_bytes(conv2d->spec.output));
    }
    if (is_any)
        inverse_row(tiles, row, outputs);
    for (int i = 0; i < conv2d->n_tiles; i++)
        if (row < tiles[i].n_rows)
            finish_or_skip_row(&tiles[i], row, outputs[i]);
}

/* Make the outputs of kernel number `kernel`. */
static void run_kernel(struct lw_cpu_tile2d *tiles, int kernel)
{
    const struct lw_cpu_conv2d *const conv2d = tiles->conv2d;
    for (int i = 0; i < conv2d->n_tiles; i++) {
        tiles[i].kernel = kernel;
        lw_cpu_flaws2d_take_kernel(&tiles[i]);
        lw_cpu_flaws2d_begin(&tiles[i], 0);
    }
    transform_columns(conv2d, kernel, tiles->lane, 0, conv2d->fft->bins);
    for (int64_t row = 0; row < tiles[0].n_rows; row++)
        put_row(tiles, row);
}

static void transform(struct lw_cpu_tile2d *tiles)
{
    const struct lw_cpu_conv2d *const conv2d = tiles->conv2d;
    for (int64_t row = 0; row < conv2d->shape.rows; row++)
        forward_row(tiles, row);
    for (int i = 0; !conv2d->shape.has_weights && i < conv2d->n_tiles; i++)
        lw_cpu_flaws2d_settle(&tiles[i]);
    keep_columns(conv2d, tiles->lane, 0, conv2d->fft->bins);
    for (int k = tiles->work->kernel; k < tiles->work->end_kernel; k++)
        run_kernel(tiles, k);
}

/* Transform a tile of weighted pixels in double precision. */
static void transform_wide(struct lw_cpu_tile2d *narrow)
{
    const struct lw_cpu_conv2d *const wide = narrow->conv2d->wide;
    const int64_t number = ((const char *)narrow->lane - narrow->conv2d->lanes.lanes) / (int64_t)narrow->conv2d->lanes.lane_bytes;
    struct lw_cpu_tile2d tile = *narrow;
    tile.conv2d = wide;
    tile.lane = lw_cpu_lane_at(&wide->lanes, (int)number);
    tile.y = tile.lane->y[0];
    tile.narrow = narrow;
    transform(&tile);
}

static void run_transform(struct lw_cpu_tile2d *tiles)
{
    const struct lw_cpu_conv2d *const conv2d = tiles->conv2d;
    for (int i = 0; i < conv2d->n_tiles; i++)
        inspect(&tiles[i]);
    if (conv2d->wide && is_bright(&tiles[0])) {
        transform_wide(&tiles[0]);
        return;
    }
    /* Tiles are scaled to a magnitude near 1. So a faint tile keeps its digits beside a bright one in the same transform, and none
     * leaves the range of numbers. If both are moderate and alike, there is nothing to scale. */
    const int first = tiles[0].exponent;
    bool are_moderate = abs(first) <= MODERATE_EXPONENT && !conv2d->shape.has_weights;
    for (int i = 0; i < conv2d->n_tiles; i++)
        are_moderate &= tiles[i].exponent == first;
    for (int i = 0; are_moderate && i < conv2d->n_tiles; i++)
        tiles[i].exponent = 0;
    transform(tiles);
}

/* ---- a block -------------------------------------------------------------------------------------------------------- */

/* Return tile `which` of a transform, number (down, across) in the image. @param channel  counted from the work's first */
static struct lw_cpu_tile2d tile_of(const struct lw_cpu_work2d *work, const struct lw_slot *slot, struct lw_cpu_conv2d_lane *lane,
                                    int which, int64_t channel, int64_t down, int64_t across)
{
    const struct lw_cpu_conv2d *const conv2d = work->conv2d;
    const struct lw_conv2d_spec *const c = &conv2d->spec.conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const int64_t row = work->begin + down * shape->hop_rows, column = across * shape->hop_columns;
    struct lw_cpu_tile2d tile = {
        .conv2d = conv2d, .work = work, .slot = slot, .lane = lane, .y = lane->y[which],
        .window = !shape->has_window ? NULL : shape->method == LW_CPU_CONV2D_TILES ? lane->window[which] : lane->x,
        .strengths = lane->strengths[which], .flaws = &lane->flaws[which],
        .channel = work->channel + channel, .row = row, .column = column, .n_rows = lw_min64(shape->hop_rows, work->end - row),
        .n_columns = lw_min64(shape->hop_columns, c->output_columns - column),
        .window_row = slot->block.first + c->look_ahead_rows - (shape->kernel_rows - 1) + row,
        .window_column = column + c->look_ahead_columns - (shape->kernel_columns - 1),
    };
    if (tile.n_rows <= 0 || tile.n_columns <= 0)
        tile.n_rows = tile.n_columns = 0;
    tile.needed_rows = tile.n_rows > 0 ? tile.n_rows + shape->kernel_rows - 1 : 0;
    tile.needed_columns = tile.n_columns + shape->kernel_columns - 1;
    return tile;
}

/* Compute the tiles of one transform, or a single tile. */
static void compute(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_work2d *const work = state;
    const struct lw_cpu_shape2d *const shape = &work->conv2d->shape;
    const int64_t across = lw_divide_up(shape->n_across, shape->pair_columns);
    const int64_t down = lw_divide_up(work->end - work->begin, shape->hop_rows * shape->pair_rows);
    const int64_t channel = task / across / down, row = task / across % down, column = task % across;
    struct lw_cpu_tile2d tiles[LW_CPU_CONV2D_PAIR] = {{0}};
    for (int i = 0; i < work->conv2d->n_tiles; i++)
        tiles[i] = tile_of(work, slot, lane, i, channel, row * shape->pair_rows + i % shape->pair_rows,
                           column * shape->pair_columns + i % shape->pair_columns);
    if (shape->method == LW_CPU_CONV2D_TILES)
        run_transform(tiles);
    else
        run_window(&tiles[0]);
    if (work->table)
        lw_cpu_crossings_flush(&tiles->lane->found, work->table);
}

/* ---- a padded image: each step is shared out to all threads ----------------------------------------------------------- */

/* A window in work, number `down` of an image. */
struct padded2d {
    const struct lw_cpu_work2d *work;
    int64_t channel, down;
    int exponent, kernel;
};

static struct lw_cpu_tile2d padded_tile(const struct padded2d *padded, const struct lw_slot *slot, struct lw_cpu_conv2d_lane *lane)
{
    struct lw_cpu_tile2d tile = tile_of(padded->work, slot, lane, 0, padded->channel, padded->down, 0);
    tile.exponent = padded->exponent;
    tile.kernel = padded->kernel;
    return tile;
}

/* The first of n things that a task takes. */
static int64_t first_of(int64_t n, int64_t task) { return n * task / PADDED_TASKS; }

static void padded_inspect(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    struct lw_cpu_conv2d_lane *const own = lane;
    const struct lw_cpu_tile2d tile = padded_tile(state, slot, own);
    const int64_t n = tile.needed_rows;
    own->largest = fmax(own->largest, inspect_rows(&tile, first_of(n, task), first_of(n, task + 1)));
}

static void padded_forward(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_tile2d tiles[LW_CPU_CONV2D_PAIR] = {padded_tile(state, slot, lane)};
    const int64_t n = tiles->conv2d->shape.rows;
    for (int64_t row = first_of(n, task); row < first_of(n, task + 1); row++)
        forward_row(tiles, row);
}

static void padded_keep(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_conv2d *const conv2d = ((const struct padded2d *)state)->work->conv2d;
    const int64_t strip = conv2d->fft->strip, n = conv2d->fft->bins / strip;
    (void)slot;
    keep_columns(conv2d, lane, first_of(n, task) * strip, first_of(n, task + 1) * strip);
}

static void padded_columns(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct padded2d *const padded = state;
    const struct lw_cpu_conv2d *const conv2d = padded->work->conv2d;
    const int64_t strip = conv2d->fft->strip, n = conv2d->fft->bins / strip;
    (void)slot;
    transform_columns(conv2d, padded->kernel, lane, first_of(n, task) * strip, first_of(n, task + 1) * strip);
}

static void padded_back(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_tile2d tiles[LW_CPU_CONV2D_PAIR] = {padded_tile(state, slot, lane)};
    const int64_t begin = first_of(tiles->n_rows, task), end = first_of(tiles->n_rows, task + 1);
    if (begin < end)
        lw_cpu_flaws2d_begin(tiles, begin);
    for (int64_t row = begin; row < end; row++)
        put_row(tiles, row);
    if (tiles->work->table)
        lw_cpu_crossings_flush(&tiles->lane->found, tiles->work->table);
}

/* Find the flaws of a window, and the exponent of its pixels. The lanes share the map, and all must know whether it is empty. */
static void find_flaws(struct padded2d *padded, const struct lw_slot *slot)
{
    const struct lw_cpu_lanes *const lanes = &padded->work->conv2d->lanes;
    const struct lw_cpu_tile2d first = padded_tile(padded, slot, lw_cpu_lane_at(lanes, 0));
    double largest = 0;
    bool any = false;
    lw_cpu_flaws2d_clear(&first);
    for (int i = 0; i < lanes->n; i++) {
        struct lw_cpu_conv2d_lane *const lane = lw_cpu_lane_at(lanes, i);
        lane->flaws[0].any = false;
        lane->largest = 0;
    }
    lw_cpu_lanes_continue(lanes, padded_inspect, padded, slot, PADDED_TASKS, 1);
    for (int i = 0; i < lanes->n; i++) {
        const struct lw_cpu_conv2d_lane *const lane = lw_cpu_lane_at(lanes, i);
        any |= lane->flaws[0].any;
        largest = fmax(largest, lane->largest);
    }
    for (int i = 0; i < lanes->n; i++)
        ((struct lw_cpu_conv2d_lane *)lw_cpu_lane_at(lanes, i))->flaws[0].any = any;
    padded->exponent = largest > 0 ? ilogb(largest) : 0;
    if (abs(padded->exponent) <= MODERATE_EXPONENT)
        padded->exponent = 0;
}

static void run_padded(const struct lw_cpu_work2d *work, const struct lw_slot *slot)
{
    const struct lw_cpu_lanes *const lanes = &work->conv2d->lanes;
    const int64_t n_down = lw_divide_up(work->end - work->begin, work->conv2d->shape.hop_rows);
    lw_cpu_lanes_run(lanes, padded_inspect, NULL, slot, 0, 1);
    for (int64_t i = 0; i < work->n_channels * n_down; i++) {
        struct padded2d padded = {.work = work, .channel = i / n_down, .down = i % n_down, .kernel = work->kernel};
        find_flaws(&padded, slot);
        lw_cpu_lanes_continue(lanes, padded_forward, &padded, slot, PADDED_TASKS, 1);
        struct lw_cpu_tile2d tile = padded_tile(&padded, slot, lw_cpu_lane_at(lanes, 0));
        lw_cpu_flaws2d_settle(&tile);
        if (work->conv2d->shape.n_kernels > 1)
            lw_cpu_lanes_continue(lanes, padded_keep, &padded, slot, PADDED_TASKS, 1);
        for (; padded.kernel < work->end_kernel; padded.kernel++) {
            tile.kernel = padded.kernel;
            lw_cpu_flaws2d_take_kernel(&tile);
            lw_cpu_lanes_continue(lanes, padded_columns, &padded, slot, PADDED_TASKS, 1);
            lw_cpu_lanes_continue(lanes, padded_back, &padded, slot, PADDED_TASKS, 1);
        }
    }
}

static void compute_all(const struct lw_cpu_work2d *work, const struct lw_slot *slot)
{
    const struct lw_cpu_conv2d *const conv2d = work->conv2d;
    if (conv2d->shape.method == LW_CPU_CONV2D_PADDED) {
        run_padded(work, slot);
        return;
    }
    lw_cpu_lanes_run(&conv2d->lanes, compute, work, slot, n_tasks(&conv2d->shape, work->end - work->begin, work->n_channels), 1);
}

/* Add the rows among which crossings of `count` rows from `first` on are chosen, and the tiles that hold these rows. */
static void add_search(const struct lw_cpu_conv2d *conv2d, const struct lw_block *block, int64_t first, int64_t count,
                       struct lw_cpu_work2d *work)
{
    const int64_t cluster = conv2d->spec.conv2d.search.cluster, unit = conv2d->plan.unit, rows = conv2d->spec.n_outputs;
    const int64_t begin = lw_max64(0, block->first + first - cluster);
    const int64_t end = lw_min64(rows, block->first + first + count + cluster);
    work->crossings_begin = begin - block->first;
    work->crossings_end = end - block->first;
    work->begin = begin / unit * unit - block->first;
    work->end = lw_min64(rows, lw_round_up(end, unit)) - block->first;
}

static void conv2d_run(void *state, struct lw_slot *slot)
{
    const struct lw_cpu_conv2d *const conv2d = state;
    const int64_t count = slot->block.count;
    struct lw_cpu_table table;
    struct lw_cpu_work2d work = {
        .conv2d = conv2d, .end = count, .stored_end = conv2d->series >= 0 || conv2d->best_value >= 0 ? count : 0,
        .n_channels = slot->block.n_channels, .end_kernel = conv2d->shape.n_kernels,
    };
    if (conv2d->series >= 0) {
        work.first_kept = lw_op_first_output(&conv2d->plan, conv2d->series, &slot->block);
        work.n_kept = lw_op_outputs(&conv2d->plan, conv2d->series, &slot->block);
    }
    if (conv2d->crossings >= 0 && count > 0) {
        add_search(conv2d, &slot->block, 0, count, &work);
        lw_cpu_table_begin(&table, &slot->products[conv2d->crossings]);
        work.table = &table;
    }
    compute_all(&work, slot);
    if (work.table)
        lw_cpu_table_end(&table);
    lw_cpu_lanes_report(&conv2d->lanes, slot);
}

static void conv2d_again(void *state, struct lw_slot *slot, const struct lw_part *part)
{
    const struct lw_cpu_conv2d *const conv2d = state;
    struct lw_cpu_table table;
    struct lw_cpu_work2d work = {
        .conv2d = conv2d, .channel = part->channel - slot->block.channel, .n_channels = part->n_channels,
        .kernel = part->filter, .end_kernel = part->filter + part->n_filters, .table = &table,
    };
    add_search(conv2d, &slot->block, part->first - slot->block.first, part->count, &work);
    lw_cpu_table_begin(&table, &slot->products[conv2d->crossings]);
    compute_all(&work, slot);
    lw_cpu_table_end(&table);
}

const struct lw_cpu_op_ops lw_cpu_op_conv2d = {
    .plan = lw_cpu_conv2d_plan,
    .bytes = conv2d_bytes,
    .create = conv2d_create,
    .destroy = conv2d_destroy,
    .run = conv2d_run,
    .again = conv2d_again,
};
