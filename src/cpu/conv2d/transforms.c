/* transforms.c - tiles by transforms of their windows; steps of these are also those of a padded image (padded.c). */
#include "cpu/conv2d/conv2d.h"

#include <math.h>
#include <stdlib.h>

/* A tile's rows lie far from each other, and the processor does not foresee the next: rows are prefetched this many ahead. */
#define ROWS_AHEAD 3

/* Load the window, repair its flaws, and find its largest magnitude. */
static double load_window(const struct lw_cpu_tile2d *tile)
{
    double largest = 0;
    for (int64_t row = 0; row < tile->needed_rows; row++) {
        lw_cpu_window2d_load(tile, row, lw_cpu_window2d_row(tile, 0, row));
        largest = fmax(largest, lw_cpu_window2d_inspect(tile, row, lw_cpu_window2d_row(tile, 0, row)));
    }
    return largest;
}

double lw_cpu_transform2d_inspect(const struct lw_cpu_tile2d *tile, int64_t begin, int64_t end)
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
            found = lw_cpu_window2d_inspect(tile, row, tile->y);
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
        lw_cpu_window2d_weigh(tile);
        tile->exponent = tile->rms[0] > tile->rms[1] ? ilogb(tile->rms[0] / tile->rms[1]) : 0;
        tile->rms[0] = ldexp(tile->rms[0], -tile->exponent);
        return;
    }
    const double largest = tile->window ? load_window(tile) : lw_cpu_transform2d_inspect(tile, 0, tile->needed_rows);
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
            shape->kernels->scale(lw_cpu_window2d_row(tile, 0, row), shape->columns * shape->width, -tile->exponent);
        return lw_cpu_window2d_row(tile, 0, row);
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
    return lw_cpu_real2d(tile->conv2d, tile->lane->x, 2 * (plane * fft->rows + row) * fft->pitch);
}

/* Load a row of a narrow tile's pixels and weights. @return the pixels; the weights are the row B beside them */
static void *widen_row(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_cpu_kernels *const k = tile->conv2d->shape.kernels;
    const struct lw_cpu_panel panel = {.scalar = LW_FLOAT32, .rows = 1, .columns = tile->conv2d->shape.columns};
    k->load(&panel, lw_cpu_window2d_row(tile->narrow, 0, row), tile->y);
    k->load(&panel, lw_cpu_window2d_row(tile->narrow, 1, row), lw_cpu_row2d_b(tile->conv2d, tile->y));
    if (tile->exponent != 0)
        k->scale(tile->y, panel.columns, -tile->exponent);
    return tile->y;
}

void lw_cpu_transform2d_forward(const struct lw_cpu_tile2d *tiles, int64_t row)
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
        k->pack(widen_row(&tiles[0], row), lw_cpu_row2d_b(conv2d, tiles->y), points, conv2d->shape.columns);
    } else if (conv2d->shape.has_weights) {
        k->pack(find_row(&tiles[0], row, NULL), lw_cpu_window2d_row(&tiles[0], 1, row), points, conv2d->shape.columns);
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

void lw_cpu_transform2d_columns(const struct lw_cpu_conv2d *conv2d, int kernel, const struct lw_cpu_conv2d_lane *lane,
                                int64_t begin, int64_t end)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const struct lw_cpu_fft2d *const fft = conv2d->fft;
    for (int plane = 0; plane < lw_cpu_shape2d_planes(&conv2d->shape); plane++) {
        const int64_t kept = 2 * plane * fft->rows * fft->bins;
        const void *const spectrum = lw_cpu_real2d(conv2d, conv2d->kernels[kernel].spectrum, kept);
        void *const points = lw_cpu_real2d(conv2d, lane->x, 2 * plane * fft->rows * fft->pitch);
        if (conv2d->shape.n_kernels == 1)
            k->fft2d_columns(fft, spectrum, points, lane->between, begin, end);
        else
            k->fft2d_product(fft, spectrum, lw_cpu_real2d(conv2d, lane->kept, kept), points, lane->between, begin, end);
    }
}

void lw_cpu_transform2d_keep(const struct lw_cpu_conv2d *conv2d, const struct lw_cpu_conv2d_lane *lane, int64_t begin, int64_t end)
{
    const struct lw_cpu_fft2d *const fft = conv2d->fft;
    for (int plane = 0; conv2d->shape.n_kernels > 1 && plane < lw_cpu_shape2d_planes(&conv2d->shape); plane++)
        conv2d->shape.kernels->fft2d_forward(fft, lw_cpu_real2d(conv2d, lane->x, 2 * plane * fft->rows * fft->pitch),
                                             lw_cpu_real2d(conv2d, lane->kept, 2 * plane * fft->rows * fft->bins), begin, end);
}

/* Transform a row back. @param outputs  set to each tile's outputs of the row */
static void inverse_row(const struct lw_cpu_tile2d *tiles, int64_t row, void *outputs[LW_CPU_CONV2D_PAIR])
{
    const struct lw_cpu_conv2d *const conv2d = tiles->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    char *const points = tiles->lane->row;
    shape->kernels->fft2d_row_inverse(conv2d->fft, points_row(tiles, 0, row + shape->kernel_rows - 1), points);
    outputs[0] = lw_cpu_real2d(conv2d, points, (conv2d->fft->kind == LW_CPU_REAL_ROWS ? 1 : 2) * (shape->kernel_columns - 1));
    if (conv2d->n_tiles == 1 && !shape->has_weights)
        return;
    shape->kernels->unpack(outputs[0], tiles[0].y, shape->has_weights ? lw_cpu_row2d_b(conv2d, tiles[0].y) : tiles[1].y,
                           shape->hop_columns);
    for (int i = 0; i < conv2d->n_tiles; i++)
        outputs[i] = tiles[i].y;
}

void lw_cpu_transform2d_put(const struct lw_cpu_tile2d *tiles, int64_t row)
{
    const struct lw_cpu_conv2d *const conv2d = tiles->conv2d;
    void *outputs[LW_CPU_CONV2D_PAIR] = {NULL};
    bool is_any = false;
    for (int i = 0; i < conv2d->n_tiles; i++) {
        is_any |= lw_cpu_outputs2d_are_needed(&tiles[i], row);
        lw_cpu_outputs2d_fetch(&tiles[i], row);
    }
    if (is_any)
        inverse_row(tiles, row, outputs);
    for (int i = 0; i < conv2d->n_tiles; i++)
        if (row < tiles[i].n_rows)
            lw_cpu_outputs2d_finish_or_skip(&tiles[i], row, outputs[i]);
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
    lw_cpu_transform2d_columns(conv2d, kernel, tiles->lane, 0, conv2d->fft->bins);
    for (int64_t row = 0; row < tiles[0].n_rows; row++)
        lw_cpu_transform2d_put(tiles, row);
}

static void transform(struct lw_cpu_tile2d *tiles)
{
    const struct lw_cpu_conv2d *const conv2d = tiles->conv2d;
    for (int64_t row = 0; row < conv2d->shape.rows; row++)
        lw_cpu_transform2d_forward(tiles, row);
    for (int i = 0; !conv2d->shape.has_weights && i < conv2d->n_tiles; i++)
        lw_cpu_flaws2d_settle(&tiles[i]);
    lw_cpu_transform2d_keep(conv2d, tiles->lane, 0, conv2d->fft->bins);
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

void lw_cpu_conv2d_transform(struct lw_cpu_tile2d *tiles)
{
    const struct lw_cpu_conv2d *const conv2d = tiles->conv2d;
    for (int i = 0; i < conv2d->n_tiles; i++)
        inspect(&tiles[i]);
    if (conv2d->wide && lw_cpu_outputs2d_are_bright(&tiles[0])) {
        transform_wide(&tiles[0]);
        return;
    }
    /* Tiles are scaled to a magnitude near 1. So a faint tile keeps its digits beside a bright one in the same transform, and none
     * leaves the range of numbers. If both are moderate and alike, there is nothing to scale. */
    const int first = tiles[0].exponent;
    bool are_moderate = abs(first) <= LW_CPU_MODERATE_EXPONENT && !conv2d->shape.has_weights;
    for (int i = 0; i < conv2d->n_tiles; i++)
        are_moderate &= tiles[i].exponent == first;
    for (int i = 0; are_moderate && i < conv2d->n_tiles; i++)
        tiles[i].exponent = 0;
    transform(tiles);
}
