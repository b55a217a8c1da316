/* conv2d.c - 2-D convolution of one block: threads take tiles, or the pairs of tiles of a transform, each in buffers of
 * its own.
 *
 *   DIRECT, SEPARABLE   load the window -> repair -> per row of outputs, or per some rows: sum, or a pass along the columns
 *                       and one along the row -> finish -> store
 *   TILES               look for flaws and magnitude -> per row: load, pack, transform -> columns forward, product and back
 *                       -> per row that is kept: transform back, unpack -> finish -> store
 *
 * Where peaks are sought, rows before and after a block's own are computed, too, whole tiles; crossings are looked for in finished
 * rows. Nothing that is computed depends on the thread, the block or the slot. */
#include "cpu/conv2d/lane.h"
#include "cpu/op.h"
#include "cpu/pick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums over a tile of pixels up to 2^this and kernels near 1 stay far from the ends of either precision's range. */
#define MODERATE_EXPONENT 16

/* A tile's rows lie far from each other, and the processor does not foresee the next: they are asked for this many ahead. */
#define ROWS_AHEAD 3

static void *real_at(const struct lw_cpu_conv2d *conv2d, void *buffer, int64_t real)
{
    return (char *)buffer + (size_t)real * conv2d->shape.kernels->real_bytes;
}

/* ---- lifecycle ------------------------------------------------------------------------------------------------------ */

static int64_t n_tasks(const struct lw_cpu_shape2d *shape, int64_t count, int64_t n_channels)
{
    return n_channels * lw_divide_up(count, shape->hop_rows * shape->pair_rows) *
           lw_divide_up(shape->n_across, shape->pair_columns);
}

static int n_lanes(const struct lw_cpu_shape2d *shape, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size)
{
    return lw_cpu_lanes_needed(size->n_threads, n_tasks(shape, plan->before + size->count + plan->after, size->n_channels));
}

/* FFTW's tables of roots: about one complex number per point of a plan, for each direction. */
static int64_t plan_bytes(const struct lw_cpu_shape2d *shape)
{
    return shape->method == LW_CPU_CONV2D_TILES ? 4 * (shape->rows + shape->columns) * (int64_t)shape->kernels->real_bytes : 0;
}

static int64_t n_noises(const struct lw_op_spec *spec)
{
    return lw_search_is_needed(&spec->conv2d.search) ? spec->n_channels : 0;
}

static int64_t conv2d_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size)
{
    struct lw_cpu_shape2d shape;
    if (lw_cpu_shape2d(spec, &shape, NULL))
        return 0;                       /* the plan has said why */
    const int64_t lane = (int64_t)sizeof(struct lw_cpu_conv2d_lane) + lw_cpu_conv2d_lane_bytes(spec, &shape);
    return (int64_t)sizeof(struct lw_cpu_conv2d) + lw_cpu_kernel2d_bytes(&shape, spec->nan) + plan_bytes(&shape) +
           n_noises(spec) * (int64_t)sizeof(double) + n_lanes(&shape, plan, size) * lane;
}

static int take_noise(const struct lw_op_spec *spec, double **out, struct lw_error *err)
{
    const double *const given = spec->conv2d.search.noise;
    const int64_t n = n_noises(spec);
    if (n == 0)
        return LW_OK;
    double *const noise = lw_alloc_array(n, sizeof *noise, "the noise of the images", err);
    if (!noise)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < n; i++)
        noise[i] = given ? given[i] : 1;
    *out = noise;
    return LW_OK;
}

static int plan_fft(struct lw_cpu_conv2d *conv2d, struct lw_error *err)
{
    if (conv2d->shape.method != LW_CPU_CONV2D_TILES)
        return LW_OK;
    const struct lw_cpu_conv2d_lane *const lane = lw_cpu_lane_at(&conv2d->lanes, 0);
    return conv2d->shape.kernels->fft2d_create(conv2d->shape.rows, conv2d->shape.columns, lane->row, lane->x, lane->between,
                                               &conv2d->fft, err);
}

static void conv2d_destroy(void *state)
{
    struct lw_cpu_conv2d *const conv2d = state;
    if (!conv2d)
        return;
    if (conv2d->fft)
        conv2d->shape.kernels->fft2d_destroy(conv2d->fft);
    lw_cpu_lanes_close(&conv2d->lanes);
    lw_cpu_kernel2d_release(&conv2d->kernel);
    lw_free(conv2d->noise);
    lw_free(conv2d);
}

static int conv2d_create(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size,
                         void **out, struct lw_error *err)
{
    struct lw_cpu_conv2d *const conv2d = lw_alloc(sizeof *conv2d, "an operation", err);
    if (!conv2d)
        return LW_ESYSTEM;
    conv2d->spec = *spec;
    conv2d->spec.conv2d.kernel = conv2d->spec.conv2d.search.noise = NULL;       /* borrowed during this call only */
    conv2d->plan = *plan;
    conv2d->series = lw_op_find_product(plan, LW_OP_SERIES);
    conv2d->crossings = lw_op_find_product(plan, LW_OP_CROSSINGS);
    int rc;
    if ((rc = lw_cpu_shape2d(spec, &conv2d->shape, err)) || (rc = take_noise(spec, &conv2d->noise, err)) ||
        (rc = lw_cpu_kernel2d_create(spec, &conv2d->shape, &conv2d->kernel, err)) ||
        (rc = lw_cpu_conv2d_lanes_open(conv2d, n_lanes(&conv2d->shape, plan, size), err)) || (rc = plan_fft(conv2d, err))) {
        conv2d_destroy(conv2d);
        return rc;
    }
    *out = conv2d;
    return LW_OK;
}

/* ---- outputs of a row ----------------------------------------------------------------------------------------------- */

static bool is_within(int64_t row, int64_t begin, int64_t end) { return row >= begin && row < end; }

/* Whether row `row` of a tile's outputs is stored; whether it may have crossings. */
static bool is_stored(const struct lw_cpu_conv2d *conv2d, const struct lw_cpu_tile2d *tile, int64_t row)
{
    return is_within(tile->row + row, tile->work->stored_begin, tile->work->stored_end) &&
           (tile->slot->block.first + tile->row + row) % lw_conv2d_every(&conv2d->spec.conv2d) == 0;
}

static bool is_searched(const struct lw_cpu_tile2d *tile, int64_t row)
{
    return is_within(tile->row + row, tile->work->crossings_begin, tile->work->crossings_end);
}

static bool is_needed(const struct lw_cpu_conv2d *conv2d, const struct lw_cpu_tile2d *tile, int64_t row)
{
    return row < tile->n_rows && (is_stored(conv2d, tile, row) || is_searched(tile, row));
}

static void search_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane, const struct lw_cpu_tile2d *tile,
                       int64_t row, const void *outputs)
{
    const struct lw_block *const block = &tile->slot->block;
    const int64_t channel = block->channel + tile->channel;
    const struct lw_cpu_outputs searched = {
        .kernels = conv2d->shape.kernels,
        .y = outputs,
        .width = conv2d->shape.width,
        .end = tile->n_columns,
        .is_row = true,
        .first = {.index = block->first + tile->row + row, .channel = (int32_t)channel, .column = tile->column},
        .noise = conv2d->noise[channel],
        .threshold = conv2d->spec.conv2d.search.threshold,
        .sign = conv2d->spec.conv2d.search.sign,
    };
    lw_cpu_crossings_find(&searched, &lane->found, tile->work->table);
}

/* Where a row of a tile's outputs is stored, of whose columns every D-th is kept. */
struct stored_row {
    int64_t first, n;           /* columns, of those that are kept */
    char *at;
};

static struct stored_row stored_row(const struct lw_cpu_conv2d *conv2d, const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_block *const block = &tile->slot->block;
    const int64_t every = lw_conv2d_every(&conv2d->spec.conv2d), first = lw_divide_up(tile->column, every);
    const int64_t kept_row = (block->first + tile->row + row) / every - lw_op_first_output(&conv2d->plan, conv2d->series, block);
    const int64_t line = tile->channel * lw_op_outputs(&conv2d->plan, conv2d->series, block) + kept_row;
    const int64_t index = line * conv2d->plan.products[conv2d->series].width + first;
    return (struct stored_row){
        .first = first,
        .n = lw_divide_up(tile->column + tile->n_columns, every) - first,
        .at = (char *)tile->slot->products[conv2d->series].data + (size_t)index * lw_type_bytes(conv2d->spec.output),
    };
}

/* Ask for the memory of outputs that are about to be computed. */
static void fetch_row(const struct lw_cpu_conv2d *conv2d, const struct lw_cpu_tile2d *tile, int64_t row)
{
    if (row >= tile->n_rows || !is_stored(conv2d, tile, row))
        return;
    const struct stored_row to = stored_row(conv2d, tile, row);
    lw_cpu_fetch(to.at, to.n * (int64_t)lw_type_bytes(conv2d->spec.output));
}

/* Keep every D-th column of the image, and store them. */
static void store_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane, const struct lw_cpu_tile2d *tile,
                      int64_t row, void *outputs)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t every = lw_conv2d_every(&conv2d->spec.conv2d), width = conv2d->shape.width;
    const struct stored_row to = stored_row(conv2d, tile, row);
    if (to.n == 0)
        return;
    if (every > 1)
        lw_cpu_pick(outputs, real_at(conv2d, outputs, (to.first * every - tile->column) * width), to.n, every,
                    (size_t)width * k->real_bytes);
    const struct lw_cpu_panel panel = lw_cpu_output_panel(&conv2d->spec, 1, to.n);
    k->store(&panel, outputs, to.at, &lane->base.loss);
}

/* Undo the scaling, treat the flaws, look for crossings and store. */
static void finish_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                       const struct lw_cpu_tile2d *tile, int which, int64_t row, void *outputs)
{
    const int exponent = conv2d->kernel.exponent + lane->exponents[which];
    if (exponent != 0)
        conv2d->shape.kernels->scale(outputs, tile->n_columns * conv2d->shape.width, exponent);
    lw_cpu_flaws2d_apply(&conv2d->spec, &conv2d->shape, tile, row, &lane->flaws[which], outputs);
    if (is_searched(tile, row))
        search_row(conv2d, lane, tile, row, outputs);
    if (is_stored(conv2d, tile, row))
        store_row(conv2d, lane, tile, row, outputs);
}

static void skip_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane, int which, int64_t row)
{
    lw_cpu_flaws2d_skip(&conv2d->spec, &conv2d->shape, row, &lane->flaws[which]);
}

/* Count the flaws of a tile and find out what they do; all rows of its window have been inspected. */
static void settle_flaws(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                         const struct lw_cpu_tile2d *tile, int which)
{
    struct lw_cpu_flaws2d *const flaws = &lane->flaws[which];
    lw_cpu_flaws2d_count(&lane->window, tile, flaws, &lane->base.not_finite);
    lw_cpu_flaws2d_spread(&conv2d->spec, &conv2d->shape, &conv2d->kernel, tile, flaws);
}

/* ---- in the space domain -------------------------------------------------------------------------------------------- */

/* Repair the flaws in a row of the window. Integers have none, and their magnitude is not needed.
 * @return  the largest magnitude in the row */
static double inspect_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                          const struct lw_cpu_tile2d *tile, int which, int64_t row, void *reals)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t n = lw_cpu_needed_columns(&conv2d->shape, tile) * conv2d->shape.width;
    if (lw_scalar_is_integer(conv2d->spec.input.scalar))
        return 0;
    const double largest = k->largest(reals, n);
    if (isfinite(largest))
        return largest;
    lw_cpu_flaws2d_repair(&conv2d->shape, tile, row, reals, &lane->flaws[which]);
    return k->largest(reals, n);
}

static void load_window(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                        const struct lw_cpu_tile2d *tile)
{
    const int64_t stride = lw_cpu_window2d_stride(&conv2d->shape), n_rows = lw_cpu_needed_rows(&conv2d->shape, tile);
    for (int64_t row = 0; row < n_rows; row++) {
        void *const reals = real_at(conv2d, lane->x, row * stride);
        lw_cpu_window2d_load(&lane->window, tile, row, reals);
        inspect_row(conv2d, lane, tile, 0, row, reals);
    }
    if (conv2d->shape.kernel_complex)
        conv2d->shape.kernels->quarter_turn(lane->x, real_at(conv2d, lane->x, lw_cpu_window2d_turned(&conv2d->shape)),
                                            n_rows * stride / 2);
}

static void pass_columns(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane, const void *window_row)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t n = conv2d->shape.columns * conv2d->shape.width;
    k->direct(&conv2d->kernel.first, window_row, lane->between, n);
    if (conv2d->shape.kernel_complex)
        k->quarter_turn(lane->between, real_at(conv2d, lane->between, lw_cpu_between2d_turned(&conv2d->shape)),
                        conv2d->shape.columns);
}

/* Rows of outputs from `row` on; those after the tile's last are made of whatever stands in the window, and dropped. */
static void sum_rows(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane, const struct lw_cpu_tile2d *tile,
                     int64_t row)
{
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const struct lw_cpu_stencil stencil = {conv2d->kernel.first.taps, shape->kernel_rows, shape->kernel_columns,
                                           lw_cpu_window2d_stride(shape), shape->width};
    const int64_t end = lw_min64(row + LW_CPU_STENCIL_ROWS, tile->n_rows), stride = lw_cpu_outputs2d_stride(shape);
    bool is_any = false;
    for (int64_t i = row; i < end; i++)
        is_any |= is_needed(conv2d, tile, i);
    if (is_any)
        shape->kernels->stencil(&stencil, real_at(conv2d, lane->x, row * stencil.stride), tile->n_columns * shape->width,
                                lane->y[0], stride);
    for (int64_t i = row; i < end; i++)
        if (is_needed(conv2d, tile, i))
            finish_row(conv2d, lane, tile, 0, i, real_at(conv2d, lane->y[0], (i - row) * stride));
        else
            skip_row(conv2d, lane, 0, i);
}

static void sum_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane, const struct lw_cpu_tile2d *tile,
                    int64_t row)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const void *const from = real_at(conv2d, lane->x, row * lw_cpu_window2d_stride(&conv2d->shape));
    const bool has_passes = conv2d->shape.method == LW_CPU_CONV2D_SEPARABLE;
    if (has_passes)
        pass_columns(conv2d, lane, from);
    k->direct(has_passes ? &conv2d->kernel.second : &conv2d->kernel.first, has_passes ? lane->between : from, lane->y[0],
              tile->n_columns * conv2d->shape.width);
    finish_row(conv2d, lane, tile, 0, row, lane->y[0]);
}

static void run_window(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                       const struct lw_cpu_tile2d *tile)
{
    lw_cpu_flaws2d_clear(&conv2d->shape, &lane->flaws[0]);
    lane->exponents[0] = 0;
    load_window(conv2d, lane, tile);
    settle_flaws(conv2d, lane, tile, 0);
    for (int64_t row = 0; row < tile->n_rows; row += conv2d->shape.has_stencil ? LW_CPU_STENCIL_ROWS : 1) {
        if (conv2d->shape.has_stencil)
            sum_rows(conv2d, lane, tile, row);
        else if (is_needed(conv2d, tile, row))
            sum_row(conv2d, lane, tile, row);
        else
            skip_row(conv2d, lane, 0, row);
    }
}

/* ---- tiles ---------------------------------------------------------------------------------------------------------- */

/* Ask for a row of the window. */
static void fetch_window_row(const struct lw_cpu_conv2d *conv2d, const struct lw_cpu_conv2d_lane *lane,
                             const struct lw_cpu_tile2d *tile, int64_t row)
{
    const void *const stored =
        row < lw_cpu_needed_rows(&conv2d->shape, tile) ? lw_cpu_window2d_stored(&lane->window, tile, row) : NULL;
    if (stored)
        lw_cpu_fetch(stored, conv2d->shape.columns * (int64_t)lw_type_bytes(conv2d->spec.input));
}

/* The largest magnitude in a row of the window, whose flaws are repaired. */
static double inspect_tile_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                               const struct lw_cpu_tile2d *tile, int which, int64_t row)
{
    const void *const stored = lw_cpu_window2d_stored(&lane->window, tile, row);
    const double largest = stored ? conv2d->shape.kernels->largest(stored, conv2d->shape.columns * conv2d->shape.width) : INFINITY;
    if (isfinite(largest))
        return largest;
    lw_cpu_window2d_load(&lane->window, tile, row, lane->y[which]);
    return inspect_row(conv2d, lane, tile, which, row, lane->y[which]);
}

/* Find the flaws and the magnitude of a tile. */
static void inspect(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                    const struct lw_cpu_tile2d *tile, int which)
{
    double largest = 0;
    lane->exponents[which] = 0;
    lw_cpu_flaws2d_clear(&conv2d->shape, &lane->flaws[which]);
    if (lw_scalar_is_integer(conv2d->spec.input.scalar))
        return;
    const int64_t n_rows = lw_cpu_needed_rows(&conv2d->shape, tile);
    for (int64_t row = 0; row < n_rows; row++) {
        fetch_window_row(conv2d, lane, tile, row + ROWS_AHEAD);
        largest = fmax(largest, inspect_tile_row(conv2d, lane, tile, which, row));
    }
    lane->exponents[which] = largest > 0 ? ilogb(largest) : 0;
}

/* Tiles are brought to a magnitude near 1: then a faint one keeps its digits beside a bright one in the same transform, and
 * none leaves the range of numbers. Where neither is far from it and both are alike, nothing is to be done. */
static void settle_exponents(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane)
{
    const int first = lane->exponents[0];
    for (int i = 0; i < conv2d->n_tiles; i++)
        if (lane->exponents[i] != first)
            return;
    if (abs(first) <= MODERATE_EXPONENT)
        memset(lane->exponents, 0, sizeof lane->exponents);
}

static bool is_flawed(const struct lw_cpu_conv2d_lane *lane, int which, int64_t row)
{
    return lane->flaws[which].any && lane->flaws[which].is_flawed[row];
}

/* A row of the window, ready to be transformed. */
static void load_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                     const struct lw_cpu_tile2d *tile, int which, int64_t row, void *reals)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t n = conv2d->shape.columns * conv2d->shape.width;
    if (row >= lw_cpu_needed_rows(&conv2d->shape, tile)) {
        k->fill(reals, n, 0);
        return;
    }
    lw_cpu_window2d_load(&lane->window, tile, row, reals);
    if (is_flawed(lane, which, row))
        lw_cpu_flaws2d_repair(&conv2d->shape, tile, row, reals, &lane->flaws[which]);
    if (lane->exponents[which] != 0)
        k->scale(reals, n, -lane->exponents[which]);
}

/* The same, where it is stored if it is ready there. */
static const void *find_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                            const struct lw_cpu_tile2d *tile, int which, int64_t row)
{
    const bool is_ready = row < lw_cpu_needed_rows(&conv2d->shape, tile) && lane->exponents[which] == 0 &&
                          !is_flawed(lane, which, row);
    const void *const stored = is_ready ? lw_cpu_window2d_stored(&lane->window, tile, row) : NULL;
    if (stored)
        return stored;
    load_row(conv2d, lane, tile, which, row, lane->y[which]);
    return lane->y[which];
}

static void *points_row(const struct lw_cpu_conv2d *conv2d, const struct lw_cpu_conv2d_lane *lane, int64_t row)
{
    return real_at(conv2d, lane->x, 2 * row * conv2d->fft->pitch);
}

static void forward_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                        const struct lw_cpu_tile2d *tiles, int64_t row)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t needed = lw_max64(lw_cpu_needed_rows(&conv2d->shape, &tiles[0]),
                                 lw_cpu_needed_rows(&conv2d->shape, &tiles[conv2d->n_tiles - 1]));
    if (row >= needed) {
        k->fill(points_row(conv2d, lane, row), 2 * conv2d->shape.columns, 0);
        return;
    }
    if (conv2d->n_tiles == 1) {
        load_row(conv2d, lane, &tiles[0], 0, row, lane->row);
    } else {
        const void *const first = find_row(conv2d, lane, &tiles[0], 0, row);
        k->pack(first, find_row(conv2d, lane, &tiles[1], 1, row), lane->row, conv2d->shape.columns);
    }
    k->fft2d_row_forward(conv2d->fft, lane->row, points_row(conv2d, lane, row));
}

/* @param outputs  set to each tile's outputs of the row */
static void inverse_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane, int64_t row,
                        void *outputs[LW_CPU_CONV2D_PAIR])
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    k->fft2d_row_inverse(conv2d->fft, points_row(conv2d, lane, row + conv2d->shape.kernel_rows - 1), lane->row);
    outputs[0] = real_at(conv2d, lane->row, 2 * (conv2d->shape.kernel_columns - 1));
    if (conv2d->n_tiles == 1)
        return;
    k->unpack(outputs[0], lane->y[0], lane->y[1], conv2d->shape.hop_columns);
    for (int i = 0; i < conv2d->n_tiles; i++)
        outputs[i] = lane->y[i];
}

static void put_row(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane, const struct lw_cpu_tile2d *tiles,
                    int64_t row)
{
    void *outputs[LW_CPU_CONV2D_PAIR] = {NULL};
    bool is_any = false;
    for (int i = 0; i < conv2d->n_tiles; i++) {
        is_any |= is_needed(conv2d, &tiles[i], row);
        fetch_row(conv2d, &tiles[i], row);
    }
    if (is_any)
        inverse_row(conv2d, lane, row, outputs);
    for (int i = 0; i < conv2d->n_tiles; i++) {
        if (is_needed(conv2d, &tiles[i], row))
            finish_row(conv2d, lane, &tiles[i], i, row, outputs[i]);
        else if (row < tiles[i].n_rows)
            skip_row(conv2d, lane, i, row);
    }
}

static void run_transform(const struct lw_cpu_conv2d *conv2d, struct lw_cpu_conv2d_lane *lane,
                          const struct lw_cpu_tile2d *tiles)
{
    for (int i = 0; i < conv2d->n_tiles; i++)
        inspect(conv2d, lane, &tiles[i], i);
    settle_exponents(conv2d, lane);
    for (int64_t row = 0; row < conv2d->shape.rows; row++)
        forward_row(conv2d, lane, tiles, row);
    for (int i = 0; i < conv2d->n_tiles; i++)
        settle_flaws(conv2d, lane, &tiles[i], i);
    conv2d->shape.kernels->fft2d_columns(conv2d->fft, conv2d->kernel.spectrum, lane->x, lane->between);
    for (int64_t row = 0; row < tiles[0].n_rows; row++)
        put_row(conv2d, lane, tiles, row);
}

/* ---- a block -------------------------------------------------------------------------------------------------------- */

/* Tile number (down, across) of image number `channel` of those that are computed. */
static struct lw_cpu_tile2d tile_of(const struct lw_cpu_work2d *work, const struct lw_slot *slot, int64_t channel, int64_t down,
                                    int64_t across)
{
    const struct lw_cpu_shape2d *const shape = &work->conv2d->shape;
    struct lw_cpu_tile2d tile = {
        .work = work, .slot = slot, .channel = work->channel + channel, .row = work->begin + down * shape->hop_rows,
        .column = across * shape->hop_columns,
    };
    tile.n_columns = lw_min64(shape->hop_columns, work->conv2d->spec.conv2d.output_columns - tile.column);
    tile.n_rows = lw_min64(shape->hop_rows, work->end - tile.row);
    if (tile.n_rows <= 0 || tile.n_columns <= 0)
        tile.n_rows = tile.n_columns = 0;
    return tile;
}

/* The tiles of one transform, or a single one. */
static void compute(const void *state, void *memory, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_work2d *const work = state;
    const struct lw_cpu_conv2d *const conv2d = work->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    struct lw_cpu_conv2d_lane *const lane = memory;
    const int64_t across = lw_divide_up(shape->n_across, shape->pair_columns);
    const int64_t down = lw_divide_up(work->end - work->begin, shape->hop_rows * shape->pair_rows);
    const int64_t channel = task / across / down, row = task / across % down, column = task % across;
    struct lw_cpu_tile2d tiles[LW_CPU_CONV2D_PAIR];
    for (int i = 0; i < conv2d->n_tiles; i++)
        tiles[i] = tile_of(work, slot, channel, row * shape->pair_rows + i % shape->pair_rows,
                           column * shape->pair_columns + i % shape->pair_columns);
    if (shape->method == LW_CPU_CONV2D_TILES)
        run_transform(conv2d, lane, tiles);
    else
        run_window(conv2d, lane, &tiles[0]);
    if (work->table)
        lw_cpu_crossings_flush(&lane->found, work->table);
}

static void compute_all(const struct lw_cpu_work2d *work, const struct lw_slot *slot)
{
    const struct lw_cpu_conv2d *const conv2d = work->conv2d;
    lw_cpu_lanes_run(&conv2d->lanes, compute, work, slot, n_tasks(&conv2d->shape, work->end - work->begin, work->n_channels), 1);
}

/* All products of a block. */
static struct lw_cpu_work2d whole_work(const struct lw_cpu_conv2d *conv2d, const struct lw_block *block)
{
    return (struct lw_cpu_work2d){
        .conv2d = conv2d,
        .end = block->count,
        .stored_end = conv2d->series >= 0 ? block->count : 0,
        .n_channels = block->n_channels,
    };
}

/* Rows of the block that crossings of `count` rows from `first` on are chosen among, and the tiles that hold them. */
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
    struct lw_cpu_work2d work = whole_work(conv2d, &slot->block);
    struct lw_cpu_table table;
    if (conv2d->crossings >= 0 && slot->block.count > 0) {
        add_search(conv2d, &slot->block, 0, slot->block.count, &work);
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
        .conv2d = conv2d, .channel = part->channel - slot->block.channel, .n_channels = part->n_channels, .table = &table,
    };
    add_search(conv2d, &slot->block, part->first - slot->block.first, part->count, &work);
    lw_cpu_table_begin(&table, &slot->products[conv2d->crossings]);
    compute_all(&work, slot);
    lw_cpu_table_end(&table);
}

static void conv2d_warm_up(void *state) { lw_cpu_lanes_warm_up(&((struct lw_cpu_conv2d *)state)->lanes); }

const struct lw_cpu_op_ops lw_cpu_op_conv2d = {
    .plan = lw_cpu_conv2d_plan,
    .bytes = conv2d_bytes,
    .create = conv2d_create,
    .destroy = conv2d_destroy,
    .warm_up = conv2d_warm_up,
    .run = conv2d_run,
    .again = conv2d_again,
};
