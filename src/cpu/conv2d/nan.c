/* nan.c - flaws: pixels of a tile's window that are not finite, and their effect on the outputs. */
#include "cpu/conv2d/conv2d.h"

/* Integers have no flaws, but their weights may have. */
static bool has_flaws(const struct lw_op_spec *spec)
{
    return !lw_scalar_is_integer(spec->input.scalar) || spec->conv2d.weights != LW_WEIGHTS_NONE;
}

void lw_cpu_flaws2d_lay_out(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, struct lw_arena *arena,
                            struct lw_cpu_flaws2d *flaws)
{
    const int64_t weights = spec->nan == LW_NAN_INTERPOLATE ? shape->hop_rows * shape->hop_columns * (int64_t)sizeof(double) : 0;
    const bool has_any = has_flaws(spec);
    flaws->map = lw_cpu_take(arena, has_any ? shape->rows * shape->columns : 0);
    flaws->is_flawed = lw_cpu_take(arena, has_any ? shape->rows : 0);
    flaws->weights = lw_cpu_take(arena, has_any ? weights : 0);
}

void lw_cpu_flaws2d_lay_out_own(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, struct lw_arena *arena,
                                struct lw_cpu_flaws2d *flaws)
{
    const int64_t columns = has_flaws(spec) ? shape->hop_columns : 0;
    flaws->touched = lw_cpu_take(arena, columns);
    flaws->hits = lw_cpu_take(arena, columns * (int64_t)sizeof *flaws->hits);
}

void lw_cpu_flaws2d_clear(const struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    struct lw_cpu_flaws2d *const flaws = tile->flaws;
    for (int64_t row = 0; flaws->any && row < shape->rows; row++) {
        if (flaws->is_flawed[row])
            memset(flaws->map + row * shape->columns, 0, (size_t)shape->columns);
        flaws->is_flawed[row] = 0;
    }
    flaws->any = false;
}

void lw_cpu_flaws2d_repair(const struct lw_cpu_tile2d *tile, int64_t row, void *reals)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    struct lw_cpu_repair found = {
        .width = shape->width, .n_taps = 1, .halo = 0, .n_samples = tile->needed_columns, .n_outputs = tile->needed_columns,
        .touched = tile->flaws->map + row * shape->columns,
    };
    shape->kernels->repair(&found, reals);
    tile->flaws->is_flawed[row] = 1;
    tile->flaws->any = true;
}

static void count(const struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const int64_t halo = shape->kernel_rows - 1;
    const int64_t own = tile->window_column + shape->kernel_columns - 1;     /* tiles on the left count the columns before */
    const int64_t begin = tile->column == 0 ? 0 : lw_max64(own, 0);
    const int64_t end = lw_min64(own + tile->n_columns, conv2d->spec.conv2d.columns);
    const int64_t sample = tile->row - conv2d->plan.after, first_row = lw_max64(0, -sample);
    const int64_t end_row = lw_min64(tile->n_rows, tile->slot->block.count - sample);
    for (int64_t row = first_row; row < end_row; row++) {
        const uint8_t *const map = tile->flaws->map + (halo + row) * shape->columns;
        for (int64_t at = begin; tile->flaws->is_flawed[halo + row] && at < end; at++)
            if (map[at - tile->window_column])
                lw_cpu_tally_add(&tile->lane->base.not_finite, (struct lw_cpu_tally){1, sample + row, tile->channel, at});
    }
}

/* ---- effect on the outputs --------------------------------------------------------------------------------------------- */

/* Add to each output of a row the taps of one row of the kernel that multiply the pixels [begin, end) of the window's row. */
static void add_run(const double *sums, int64_t kernel_columns, int64_t begin, int64_t end, int64_t n_columns, double *weights)
{
    const int64_t last = lw_min64(end, n_columns);
    for (int64_t j = lw_max64(begin - kernel_columns + 1, 0); j < last; j++)
        weights[j] += sums[lw_min64(j + kernel_columns - begin, kernel_columns)] - sums[lw_max64(j + kernel_columns - end, 0)];
}

/* Add the taps that multiply flaws in row `row` of the window to the weights of all outputs that need this row. */
static void add_row(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    const uint8_t *const map = tile->flaws->map + row * shape->columns;
    const int64_t n = tile->needed_columns, halo = shape->kernel_rows - 1;
    const double *const sums = tile->conv2d->kernels[tile->kernel].sums;
    const int64_t from = lw_max64(row - halo, 0), to = lw_min64(row + 1, tile->n_rows);
    for (int64_t begin = 0; begin < n; begin++) {
        if (!map[begin])
            continue;
        int64_t end = begin + 1;
        while (end < n && map[end])
            end++;
        for (int64_t i = from; i < to; i++)
            add_run(sums + (i + halo - row) * (shape->kernel_columns + 1), shape->kernel_columns, begin, end,
                    tile->n_columns, tile->flaws->weights + i * shape->hop_columns);
        begin = end;
    }
}

/* Turn the weight of the flaws into the factor of an output; NaN if next to nothing of the kernel is left. */
static void invert_weights(const struct lw_cpu_tile2d *tile)
{
    const double least = 1e-6, sum = tile->conv2d->kernels[tile->kernel].sum;
    for (int64_t i = 0; i < tile->n_rows; i++) {
        double *const row = tile->flaws->weights + i * tile->conv2d->shape.hop_columns;
        for (int64_t j = 0; j < tile->n_columns; j++) {
            const double valid = (sum - row[j]) / sum;
            row[j] = row[j] == 0 ? 1 : valid < least ? (double)NAN : 1 / valid;
        }
    }
}

/* Set map[j] to whether any of map[j .. j + length - 1] is set. */
static void dilate(uint8_t *map, int64_t n_outputs, int64_t length)
{
    int64_t last = -1;
    for (int64_t i = 0; i < length - 1; i++)
        last = map[i] ? i : last;
    for (int64_t j = 0; j < n_outputs; j++) {
        last = map[j + length - 1] ? j + length - 1 : last;
        map[j] = last >= j;
    }
}

static void add_hits(const struct lw_cpu_tile2d *tile, int64_t row, int32_t step)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    const struct lw_cpu_flaws2d *const flaws = tile->flaws;
    const uint8_t *const map = flaws->map + row * shape->columns;
    for (int64_t j = 0; flaws->is_flawed[row] && j < shape->hop_columns; j++)
        flaws->hits[j] += step * map[j];
}

void lw_cpu_flaws2d_settle(const struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    struct lw_cpu_flaws2d *const flaws = tile->flaws;
    if (!flaws->any)
        return;
    count(tile);
    for (int64_t row = 0; tile->conv2d->spec.nan != LW_NAN_INTERPOLATE && row < tile->needed_rows; row++)
        if (flaws->is_flawed[row])
            dilate(flaws->map + row * shape->columns, shape->hop_columns, shape->kernel_columns);
}

/* The map is then that of the pixels with a weight, instead of the flaws. */
void lw_cpu_flaws2d_settle_weights(const struct lw_cpu_tile2d *tile, const char *weights)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    struct lw_cpu_flaws2d *const flaws = tile->flaws;
    if (flaws->any)
        count(tile);
    if (!weights)
        lw_cpu_flaws2d_clear(tile);
    for (int64_t row = 0; weights && row < tile->needed_rows; row++) {
        uint8_t *const map = flaws->map + row * shape->columns;
        shape->kernels->mark_weights(weights + (size_t)(row * shape->window_stride) * shape->kernels->real_bytes, map,
                                     tile->needed_columns);
        dilate(map, tile->n_columns, shape->kernel_columns);
        flaws->is_flawed[row] = 1;
        flaws->any = true;
    }
}

void lw_cpu_flaws2d_take_kernel(const struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    struct lw_cpu_flaws2d *const flaws = tile->flaws;
    if (!flaws->any || tile->conv2d->spec.nan != LW_NAN_INTERPOLATE || shape->has_weights)
        return;
    memset(flaws->weights, 0, (size_t)(shape->hop_rows * shape->hop_columns) * sizeof *flaws->weights);
    for (int64_t row = 0; row < tile->needed_rows; row++)
        if (flaws->is_flawed[row])
            add_row(tile, row);
    invert_weights(tile);
}

void lw_cpu_flaws2d_begin(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    if (!tile->flaws->any)
        return;
    memset(tile->flaws->hits, 0, (size_t)shape->hop_columns * sizeof *tile->flaws->hits);
    for (int64_t i = row; i < row + shape->kernel_rows - 1; i++)
        add_hits(tile, i, 1);
}

void lw_cpu_flaws2d_apply(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    const struct lw_cpu_flaws2d *const flaws = tile->flaws;
    const enum lw_nan nan = tile->conv2d->spec.nan;
    if (!flaws->any || (nan == LW_NAN_ZERO && !shape->has_weights))
        return;
    if (nan == LW_NAN_INTERPOLATE && !shape->has_weights) {
        if (outputs)
            shape->kernels->weigh(outputs, flaws->weights + row * shape->hop_columns, tile->n_columns, shape->width);
        return;
    }
    add_hits(tile, row + shape->kernel_rows - 1, 1);
    for (int64_t j = 0; outputs && j < tile->n_columns; j++)
        flaws->touched[j] = (flaws->hits[j] > 0) != shape->has_weights;
    if (outputs)
        shape->kernels->blank(outputs, flaws->touched, tile->n_columns, shape->width);
    add_hits(tile, row, -1);
}
