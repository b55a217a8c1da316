/* transforms.c - tiles by transforms of their windows, and with the same steps a padded image, or bands of it: all threads share
 * each step of a window. */
#include "cpu/conv2d/conv2d.h"

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

/* Multiply the columns' spectra by a kernel's and transform them back. With one kernel they have not been transformed yet. */
static void columns_back(const struct lw_cpu_conv2d *conv2d, int kernel, const struct lw_cpu_conv2d_lane *lane,
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

/* Transform the columns once, for several kernels: bins [begin, end) of all rows. */
static void keep_columns(const struct lw_cpu_conv2d *conv2d, const struct lw_cpu_conv2d_lane *lane, int64_t begin, int64_t end)
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

static void put_row(const struct lw_cpu_tile2d *tiles, int64_t row)
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
    columns_back(conv2d, kernel, tiles->lane, 0, conv2d->fft->bins);
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

/* ---- a padded image ---------------------------------------------------------------------------------------------------- */

/* A window in work, number `down` of an image. */
struct padded2d {
    const struct lw_cpu_work2d *work;
    int64_t channel, down;
    int exponent, kernel;
};

static struct lw_cpu_tile2d padded_tile(const struct padded2d *padded, const struct lw_slot *slot, struct lw_cpu_conv2d_lane *lane)
{
    struct lw_cpu_tile2d tile = lw_cpu_tile2d_of(padded->work, slot, lane, 0, padded->channel, padded->down, 0);
    tile.exponent = padded->exponent;
    tile.kernel = padded->kernel;
    return tile;
}

/* The first of n things that a task takes. */
static int64_t first_of(int64_t n, int64_t task) { return n * task / LW_CPU_PADDED_TASKS; }

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
    columns_back(conv2d, padded->kernel, lane, first_of(n, task) * strip, first_of(n, task + 1) * strip);
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
    lw_cpu_lanes_continue(lanes, padded_inspect, padded, slot, LW_CPU_PADDED_TASKS, 1);
    for (int i = 0; i < lanes->n; i++) {
        const struct lw_cpu_conv2d_lane *const lane = lw_cpu_lane_at(lanes, i);
        any |= lane->flaws[0].any;
        largest = fmax(largest, lane->largest);
    }
    for (int i = 0; i < lanes->n; i++)
        ((struct lw_cpu_conv2d_lane *)lw_cpu_lane_at(lanes, i))->flaws[0].any = any;
    padded->exponent = largest > 0 ? ilogb(largest) : 0;
    if (abs(padded->exponent) <= LW_CPU_MODERATE_EXPONENT)
        padded->exponent = 0;
}

void lw_cpu_conv2d_padded(const struct lw_cpu_work2d *work, const struct lw_slot *slot)
{
    const struct lw_cpu_lanes *const lanes = &work->conv2d->lanes;
    const int64_t n_down = lw_divide_up(work->end - work->begin, work->conv2d->shape.hop_rows);
    lw_cpu_lanes_run(lanes, padded_inspect, NULL, slot, 0, 1);
    for (int64_t i = 0; i < work->n_channels * n_down; i++) {
        struct padded2d padded = {.work = work, .channel = i / n_down, .down = i % n_down, .kernel = work->kernel};
        find_flaws(&padded, slot);
        lw_cpu_lanes_continue(lanes, padded_forward, &padded, slot, LW_CPU_PADDED_TASKS, 1);
        struct lw_cpu_tile2d tile = padded_tile(&padded, slot, lw_cpu_lane_at(lanes, 0));
        lw_cpu_flaws2d_settle(&tile);
        if (work->conv2d->shape.n_kernels > 1)
            lw_cpu_lanes_continue(lanes, padded_keep, &padded, slot, LW_CPU_PADDED_TASKS, 1);
        for (; padded.kernel < work->end_kernel; padded.kernel++) {
            tile.kernel = padded.kernel;
            lw_cpu_flaws2d_take_kernel(&tile);
            lw_cpu_lanes_continue(lanes, padded_columns, &padded, slot, LW_CPU_PADDED_TASKS, 1);
            lw_cpu_lanes_continue(lanes, padded_back, &padded, slot, LW_CPU_PADDED_TASKS, 1);
        }
    }
}
