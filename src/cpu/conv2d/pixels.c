#include "cpu/conv2d/pixels.h"

#include "base/integers.h"
#include "signal/convolution.h"

#include <string.h>

bool lw_cpu_window2d_repeats(const struct lw_op_spec *spec) { return spec->conv2d.boundary != LW_BOUNDARY_ZERO; }

int64_t lw_cpu_needed_rows(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *tile)
{
    return tile->n_rows > 0 ? tile->n_rows + shape->kernel_rows - 1 : 0;
}

int64_t lw_cpu_needed_columns(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *tile)
{
    return tile->n_columns + shape->kernel_columns - 1;
}

/* ---- pixels --------------------------------------------------------------------------------------------------------- */

static void *pixel_at(const struct lw_cpu_shape2d *shape, void *reals, int64_t pixel)
{
    return (char *)reals + (size_t)(pixel * shape->width) * shape->kernels->real_bytes;
}

int64_t lw_cpu_window2d_column(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *tile)
{
    return tile->column + window->spec->conv2d.look_ahead_columns - (window->shape->kernel_columns - 1);
}

/* Position in the image, continued beyond its ends, of the window's row `row`. */
static int64_t row_position(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *tile, int64_t row)
{
    return tile->slot->block.first + window->spec->conv2d.look_ahead_rows - (window->shape->kernel_rows - 1) + tile->row + row;
}

static const char *stored_row(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *tile, int64_t row)
{
    const int64_t slot_rows = window->plan->halo + tile->slot->block.count, first = window->plan->before + tile->row;
    const int64_t index = (tile->channel * slot_rows + first + row) * window->spec->conv2d.columns;
    return (const char *)tile->slot->input + (size_t)index * lw_type_bytes(window->spec->input);
}

static void convert(const struct lw_cpu_window2d *window, const char *stored, int64_t n, void *to)
{
    const struct lw_cpu_panel panel = lw_cpu_panel_of(window->spec->input, 1, n);
    lw_cpu_load(window->shape->kernels, &panel, window->shape->widens, stored, to);
}

/* Fill in pixels outside the image with the value given for them. */
static void put_outside(const struct lw_cpu_window2d *window, int64_t n, void *to)
{
    const struct lw_cpu_kernels *const k = window->shape->kernels;
    const double value = window->spec->conv2d.outside;
    if (n <= 0)
        return;
    if (window->shape->width == 1 || value == 0) {
        k->fill(to, n * window->shape->width, value);
    } else {
        k->fill((char *)to + (size_t)n * k->real_bytes, n, value);
        k->widen(to, n);
    }
}

/* Convert the columns [begin, end), which lie in the image; the columns on either side get the value outside. */
static void load_open(const struct lw_cpu_window2d *window, const char *stored, int64_t first, int64_t n, void *to)
{
    const int64_t begin = lw_min64(lw_max64(-first, 0), n);
    const int64_t end = lw_max64(begin, lw_min64(window->spec->conv2d.columns - first, n));
    put_outside(window, begin, to);
    if (end > begin)
        convert(window, stored + (size_t)(first + begin) * lw_type_bytes(window->spec->input), end - begin,
                pixel_at(window->shape, to, begin));
    put_outside(window, n - end, pixel_at(window->shape, to, end));
}

static void load_repeated(const struct lw_cpu_window2d *window, const char *stored, int64_t first, int64_t n, void *to)
{
    const struct lw_conv2d_spec *const c = &window->spec->conv2d;
    const size_t bytes = lw_type_bytes(window->spec->input);
    for (int64_t i = 0; i < n; i++) {
        const int64_t source = lw_boundary_index(c->boundary, first + i, c->columns);
        memcpy(window->repeated_row + (size_t)i * bytes, stored + (size_t)source * bytes, bytes);
    }
    convert(window, window->repeated_row, n, to);
}

const void *lw_cpu_window2d_stored(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_conv2d_spec *const c = &window->spec->conv2d;
    const struct lw_type input = window->spec->input;
    const bool is_working = !input.is_swapped && !window->shape->widens &&
                            input.scalar == (window->spec->precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32);
    const int64_t first = lw_cpu_window2d_column(window, tile), position = row_position(window, tile, row);
    const int64_t n = window->shape->columns;
    if (!is_working || n > lw_cpu_needed_columns(window->shape, tile) || first < 0 || first + n > c->columns || position < 0 ||
        position >= c->rows)
        return NULL;
    return stored_row(window, tile, row) + (size_t)first * lw_type_bytes(input);
}

void lw_cpu_window2d_load(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *tile, int64_t row, void *reals)
{
    const struct lw_conv2d_spec *const c = &window->spec->conv2d;
    const struct lw_cpu_shape2d *const shape = window->shape;
    const int64_t first = lw_cpu_window2d_column(window, tile), position = row_position(window, tile, row);
    const int64_t n = lw_cpu_needed_columns(shape, tile);
    const bool is_outside = position < 0 || position >= c->rows;
    if (c->boundary == LW_BOUNDARY_ZERO && is_outside)
        put_outside(window, n, reals);
    else if (c->boundary == LW_BOUNDARY_ZERO || (first >= 0 && first + n <= c->columns))
        load_open(window, stored_row(window, tile, row), first, n, reals);
    else
        load_repeated(window, stored_row(window, tile, row), first, n, reals);
    shape->kernels->fill(pixel_at(shape, reals, n), (shape->columns - n) * shape->width, 0);
}
