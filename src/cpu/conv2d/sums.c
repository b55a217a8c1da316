/* sums.c - tiles in the space domain: sums over the kernel, or a pass along the columns and one along the rows. */
#include "cpu/conv2d/conv2d.h"

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
        is_any |= lw_cpu_outputs2d_are_needed(tile, i);
    if (is_any)
        shape->kernels->stencil(&stencil, lw_cpu_real2d(conv2d, tile->lane->x, row * stencil.stride),
                                tile->n_columns * shape->width, tile->y, stride);
    if (is_any && shape->has_weights) {
        const struct lw_cpu_stencil squares = {conv2d->kernels[tile->kernel].second.taps, stencil.rows, stencil.columns,
                                               stencil.stride, 1};
        shape->kernels->stencil(&squares, lw_cpu_window2d_row(tile, 1, row), tile->n_columns, lw_cpu_row2d_b(conv2d, tile->y),
                                stride);
    }
    for (int64_t i = row; i < end; i++)
        lw_cpu_outputs2d_finish_or_skip(tile, i, lw_cpu_real2d(conv2d, tile->y, (i - row) * stride));
}

/* Make one row of outputs: by a sum, or by a pass along the columns and one along the row. */
static void sum_row(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const struct lw_cpu_terms *terms = &conv2d->kernels[tile->kernel].first;
    const void *from = lw_cpu_real2d(conv2d, tile->lane->x, row * shape->window_stride);
    if (shape->method == LW_CPU_CONV2D_SEPARABLE) {
        char *const between = tile->lane->between;
        shape->kernels->direct(terms, from, between, shape->columns * shape->width);
        if (shape->kernel_complex)
            shape->kernels->quarter_turn(between, lw_cpu_real2d(conv2d, between, shape->between_turned), shape->columns);
        terms = &conv2d->kernels[tile->kernel].second;
        from = between;
    }
    shape->kernels->direct(terms, from, tile->y, tile->n_columns * shape->width);
    if (shape->has_weights)
        shape->kernels->direct(&conv2d->kernels[tile->kernel].second, lw_cpu_window2d_row(tile, 1, row),
                               lw_cpu_row2d_b(conv2d, tile->y), tile->n_columns);
    lw_cpu_outputs2d_finish(tile, row, tile->y);
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
        else if (lw_cpu_outputs2d_are_needed(tile, row))
            sum_row(tile, row);
        else
            lw_cpu_flaws2d_apply(tile, row, NULL);
    }
}

void lw_cpu_conv2d_sum(struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    char *const x = tile->lane->x;
    lw_cpu_flaws2d_clear(tile);
    if (shape->has_weights)
        lw_cpu_window2d_weigh(tile);
    for (int64_t row = 0; !shape->has_weights && row < tile->needed_rows; row++) {
        void *const reals = lw_cpu_real2d(tile->conv2d, x, row * shape->window_stride);
        lw_cpu_window2d_load(tile, row, reals);
        lw_cpu_window2d_inspect(tile, row, reals);
    }
    if (shape->kernel_complex)
        shape->kernels->quarter_turn(x, lw_cpu_real2d(tile->conv2d, x, shape->window_turned),
                                     tile->needed_rows * shape->window_stride / 2);
    if (!shape->has_weights)
        lw_cpu_flaws2d_settle(tile);
    for (tile->kernel = tile->work->kernel; tile->kernel < tile->work->end_kernel; tile->kernel++)
        sum_tile(tile);
}
