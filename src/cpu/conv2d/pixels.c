/* pixels.c - the pixels of a tile's window. */
#include "cpu/conv2d/conv2d.h"

#include "signal/convolution.h"

#include <string.h>

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

static void load_repeated(const struct lw_cpu_tile2d *tile, int64_t row_number, const char *stored, void *to)
{
    const struct lw_conv2d_spec *const c = &tile->conv2d->spec.conv2d;
    const size_t bytes = lw_type_bytes(tile->conv2d->spec.input);
    char *const row = tile->lane->repeated_row;
    const bool has_sky = tile->conv2d->background.tables != NULL;
    float *const sky = tile->lane->sky, *const whole = has_sky ? sky + tile->conv2d->shape.columns : NULL;
    if (has_sky)
        make_sky(tile, row_number, 0, c->columns, whole);
    for (int64_t i = 0; i < tile->needed_columns; i++) {
        const int64_t source = lw_boundary_index(c->boundary, tile->window_column + i, c->columns);
        memcpy(row + (size_t)i * bytes, stored + (size_t)source * bytes, bytes);
        if (has_sky)
            sky[i] = whole[source];
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

void lw_cpu_window2d_load_weights(const struct lw_cpu_tile2d *tile, int64_t row, void *reals)
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
