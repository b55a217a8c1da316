/* window.c - tiles of a block, and their windows: flaws are found and repaired, pixels weighed. */
#include "cpu/conv2d/conv2d.h"

#include <math.h>

struct lw_cpu_tile2d lw_cpu_tile2d_of(const struct lw_cpu_work2d *work, const struct lw_slot *slot, struct lw_cpu_conv2d_lane *lane,
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

double lw_cpu_window2d_inspect(const struct lw_cpu_tile2d *tile, int64_t row, void *reals)
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

void lw_cpu_window2d_weigh(struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const struct lw_cpu_kernels *const k = shape->kernels;
    const bool is_sigma = conv2d->spec.conv2d.weights != LW_WEIGHTS_INVERSE;
    const int64_t n = tile->needed_columns;
    int64_t n_none = 0, n_faint = 0;
    double largest = 0, squares[2] = {0};
    for (int64_t row = 0; row < tile->needed_rows; row++) {
        void *const x = lw_cpu_window2d_row(tile, 0, row), *const v = lw_cpu_window2d_row(tile, 1, row);
        lw_cpu_window2d_load(tile, row, x);
        lw_cpu_window2d_load_weights(tile, row, v);
        n_none += k->take_weights(x, v, n, is_sigma);
        largest = fmax(largest, k->largest(v, n));
        lw_cpu_window2d_inspect(tile, row, x);
    }
    const bool is_covered = n_none < shape->kernel_rows * shape->kernel_columns;
    lw_cpu_flaws2d_settle_weights(tile, is_covered ? NULL : lw_cpu_window2d_row(tile, 1, 0));
    const int exponent = largest > 0 ? ilogb(largest) : 0;
    tile->unit = is_sigma ? exponent : (exponent - (exponent & 1)) / 2;
    for (int64_t row = 0; row < tile->needed_rows; row++)
        n_faint += k->weigh_pixels(lw_cpu_window2d_row(tile, 0, row), lw_cpu_window2d_row(tile, 1, row), n, is_sigma, tile->unit,
                                   squares);
    tile->is_uneven = n_faint > (tile->needed_rows * n - n_none) / 20;
    for (int i = 0; i < 2; i++)
        tile->rms[i] = sqrt(squares[i] / (double)(shape->rows * shape->columns));
}
