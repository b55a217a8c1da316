/* window.c - tiles of a block, and the pixels of their windows: they are loaded, flaws found and repaired, and weighed. */
#include "cpu/conv2d/conv2d.h"

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

/* ---- pixels ---------------------------------------------------------------------------------------------------------- */

static void *pixel_at(const struct lw_cpu_shape2d *shape, void *reals, int64_t pixel)
{
    return (char *)reals + (size_t)(pixel * shape->width) * shape->kernels->real_bytes;
}

/* Return the place of the window's row among the rows of the slot. */
static int64_t row_number(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_op_plan *const plan = &tile->conv2d->plan;
    return tile->channel * (plan->halo + tile->slot->block.count) + plan->before + tile->row + row;
}

static const char *stored_row(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_op_spec *const spec = &tile->conv2d->spec;
    return (const char *)tile->slot->input + (size_t)(row_number(tile, row) * spec->conv2d.columns) * lw_type_bytes(spec->input);
}

static void convert(const struct lw_cpu_conv2d *conv2d, const char *stored, int64_t n, void *to)
{
    const struct lw_cpu_panel panel = lw_cpu_panel_of(conv2d->spec.input, 1, n);
    lw_cpu_load(conv2d->shape.kernels, &panel, conv2d->shape.widens, stored, to);
}

/* Fill n pixels outside the image with the value given for them. */
static void put_outside(const struct lw_cpu_conv2d *conv2d, int64_t n, void *to)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const double value = conv2d->spec.conv2d.outside;
    if (n <= 0)
        return;
    if (conv2d->shape.width == 1 || value == 0) {
        k->fill(to, n * conv2d->shape.width, value);
    } else {
        k->fill((char *)to + (size_t)n * k->real_bytes, n, value);
        k->widen(to, n);
    }
}

/* Set n values of the background in row `row` of the window. */
static void make_sky(const struct lw_cpu_tile2d *tile, int64_t row, int64_t first, int64_t n, float *sky)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_conv2d_spec *const c = &conv2d->spec.conv2d;
    lw_mesh_row(&conv2d->background, tile->slot->block.channel + tile->channel,
                lw_boundary_index(c->boundary, tile->window_row + row, c->rows), first, n, sky);
}

/* Convert the columns in the image, less their background; fill the columns on either side with the value outside. */
static void load_open(const struct lw_cpu_tile2d *tile, int64_t row, const char *stored, void *to)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const int64_t first = tile->window_column, n = tile->needed_columns, begin = lw_min64(lw_max64(-first, 0), n);
    const int64_t end = lw_max64(begin, lw_min64(conv2d->spec.conv2d.columns - first, n));
    put_outside(conv2d, begin, to);
    if (end > begin) {
        void *const pixels = pixel_at(&conv2d->shape, to, begin);
        convert(conv2d, stored + (size_t)(first + begin) * lw_type_bytes(conv2d->spec.input), end - begin, pixels);
        if (conv2d->background.tables) {
            make_sky(tile, row, first + begin, end - begin, tile->lane->sky);
            conv2d->shape.kernels->subtract(pixels, tile->lane->sky, end - begin, conv2d->shape.width);
        }
    }
    put_outside(conv2d, n - end, pixel_at(&conv2d->shape, to, end));
}

/* Convert a row that reaches beyond the image, whose columns the boundary repeats there, less the background of these columns. */
static void load_repeated(const struct lw_cpu_tile2d *tile, int64_t row_number, const char *stored, void *to)
{
    const struct lw_conv2d_spec *const c = &tile->conv2d->spec.conv2d;
    const size_t bytes = lw_type_bytes(tile->conv2d->spec.input);
    char *const row = tile->lane->repeated_row;
    const bool has_sky = tile->conv2d->background.tables != NULL;
    float *const sky = tile->lane->sky, *const whole = has_sky ? sky + tile->conv2d->shape.columns : NULL;
    if (has_sky)
        make_sky(tile, row_number, 0, c->columns, whole);
    for (int64_t i = 0, n; i < tile->needed_columns; i += n) {
        const int64_t column = tile->window_column + i, source = lw_boundary_index(c->boundary, column, c->columns);
        n = column == source ? lw_min64(c->columns - column, tile->needed_columns - i) : 1;
        memcpy(row + (size_t)i * bytes, stored + (size_t)source * bytes, (size_t)n * bytes);
        if (has_sky)
            memcpy(sky + i, whole + source, (size_t)n * sizeof *sky);
    }
    convert(tile->conv2d, row, tile->needed_columns, to);
    if (has_sky)
        tile->conv2d->shape.kernels->subtract(to, sky, tile->needed_columns, tile->conv2d->shape.width);
}

/* Return whether row `row` of the window is a row of the image. has_columns returns whether all needed columns are in the image. */
static bool has_row(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const int64_t position = tile->window_row + row;
    return position >= 0 && position < tile->conv2d->spec.conv2d.rows;
}

static bool has_columns(const struct lw_cpu_tile2d *tile)
{
    return tile->window_column >= 0 && tile->window_column + tile->needed_columns <= tile->conv2d->spec.conv2d.columns;
}

const void *lw_cpu_window2d_stored(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_op_spec *const spec = &tile->conv2d->spec;
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    const bool is_working = !spec->input.is_swapped && !shape->widens && !tile->conv2d->background.tables &&
                            spec->input.scalar == (spec->precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32);
    if (!is_working || shape->columns > tile->needed_columns || !has_columns(tile) || !has_row(tile, row))
        return NULL;
    return stored_row(tile, row) + (size_t)tile->window_column * lw_type_bytes(spec->input);
}

/* Load the weights, or sigmas, of a row of the window, for lw_cpu_kernels.take_weights; zeros where no pixels are. */
static void load_weights(const struct lw_cpu_tile2d *tile, int64_t row, void *reals)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const struct lw_conv2d_spec *const c = &conv2d->spec.conv2d;
    const int64_t first = tile->window_column, begin = lw_max64(-first, 0);
    const int64_t end = lw_min64(c->columns - first, tile->needed_columns), n = end - begin;
    shape->kernels->fill(reals, shape->columns, 0);
    if (!has_row(tile, row) || n <= 0)
        return;
    const bool is_mesh = c->weights == LW_WEIGHTS_MESH;
    const struct lw_type type = is_mesh ? (struct lw_type){.scalar = LW_FLOAT32} : c->map;
    const void *from = tile->lane->sky;
    if (is_mesh)
        lw_mesh_row(&conv2d->sigma, tile->slot->block.channel + tile->channel, tile->window_row + row, first + begin, n,
                    tile->lane->sky);
    else
        from = (const char *)tile->slot->map + (size_t)(row_number(tile, row) * c->columns + first + begin) * lw_type_bytes(type);
    const struct lw_cpu_panel panel = lw_cpu_panel_of(type, 1, n);
    lw_cpu_load(shape->kernels, &panel, false, from, pixel_at(shape, reals, begin));
}

void lw_cpu_window2d_load(const struct lw_cpu_tile2d *tile, int64_t row, void *reals)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    const int64_t n = tile->needed_columns;
    const bool is_open = tile->conv2d->spec.conv2d.boundary == LW_BOUNDARY_ZERO;
    if (is_open && !has_row(tile, row))
        put_outside(tile->conv2d, n, reals);
    else if (is_open || has_columns(tile))
        load_open(tile, row, stored_row(tile, row), reals);
    else
        load_repeated(tile, row, stored_row(tile, row), reals);
    shape->kernels->fill(pixel_at(shape, reals, n), (shape->columns - n) * shape->width, 0);
}

/* ---- flaws and weights ------------------------------------------------------------------------------------------------- */

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
        load_weights(tile, row, v);
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
