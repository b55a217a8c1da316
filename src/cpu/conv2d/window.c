#include "cpu/conv2d/window.h"

#include "base/integers.h"
#include "base/memory.h"
#include "signal/convolution.h"

#include <math.h>
#include <string.h>

bool lw_cpu_window2d_needs_staging(const struct lw_op_spec *spec) { return spec->conv2d.boundary != LW_BOUNDARY_ZERO; }

int64_t lw_cpu_needed_rows(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *piece)
{
    return piece->n_rows > 0 ? piece->n_rows + shape->kernel_rows - 1 : 0;
}

int64_t lw_cpu_needed_columns(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *piece)
{
    return piece->n_columns + shape->kernel_columns - 1;
}

/* ---- pixels --------------------------------------------------------------------------------------------------------- */

static void *pixel_at(const struct lw_cpu_shape2d *shape, void *reals, int64_t pixel)
{
    return (char *)reals + (size_t)(pixel * shape->width) * shape->kernels->real_bytes;
}

/* Position in the image, continued beyond its ends, of the window's first column and of its row `row`. */
static int64_t column_position(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *piece)
{
    return piece->column + window->spec->conv2d.look_ahead_columns - (window->shape->kernel_columns - 1);
}

static int64_t row_position(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *piece, int64_t row)
{
    return piece->slot->block.first + window->spec->conv2d.look_ahead_rows - (window->shape->kernel_rows - 1) + piece->row + row;
}

static const char *stored_row(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *piece, int64_t row)
{
    const int64_t slot_rows = window->shape->kernel_rows - 1 + piece->slot->block.count;
    const int64_t index = (piece->channel * slot_rows + piece->row + row) * window->spec->conv2d.columns;
    return (const char *)piece->slot->input + (size_t)index * lw_type_bytes(window->spec->input);
}

static void convert(const struct lw_cpu_window2d *window, const char *stored, int64_t n, void *to)
{
    const struct lw_cpu_shape2d *const shape = window->shape;
    const struct lw_type type = window->spec->input;
    const struct lw_cpu_panel panel = {
        .scalar = type.scalar, .is_swapped = type.is_swapped, .rows = 1, .columns = n * (type.is_complex ? 2 : 1),
    };
    shape->kernels->load(&panel, stored, shape->widens ? (char *)to + (size_t)n * shape->kernels->real_bytes : to);
    if (shape->widens)
        shape->kernels->widen(to, n);
}

/* Pixels beyond the image whose value is given. */
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

/* The columns [begin, end) that lie in the image, and on either side what the boundary puts there. */
static void load_open(const struct lw_cpu_window2d *window, const char *stored, int64_t first, int64_t n, void *to)
{
    const int64_t begin = min64(max64(-first, 0), n);
    const int64_t end = max64(begin, min64(window->spec->conv2d.columns - first, n));
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
        memcpy(window->staging + (size_t)i * bytes, stored + (size_t)source * bytes, bytes);
    }
    convert(window, window->staging, n, to);
}

void lw_cpu_window2d_load(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *piece, int64_t row, void *reals)
{
    const struct lw_conv2d_spec *const c = &window->spec->conv2d;
    const struct lw_cpu_shape2d *const shape = window->shape;
    const int64_t first = column_position(window, piece), position = row_position(window, piece, row);
    const int64_t n = lw_cpu_needed_columns(shape, piece);
    const bool is_outside = position < 0 || position >= c->rows;
    if (c->boundary == LW_BOUNDARY_ZERO && is_outside)
        put_outside(window, n, reals);
    else if (c->boundary == LW_BOUNDARY_ZERO || (first >= 0 && first + n <= c->columns))
        load_open(window, stored_row(window, piece, row), first, n, reals);
    else
        load_repeated(window, stored_row(window, piece, row), first, n, reals);
    shape->kernels->fill(pixel_at(shape, reals, n), (shape->columns - n) * shape->width, 0);
}

/* ---- pixels that are not finite ------------------------------------------------------------------------------------- */

static size_t aligned(int64_t bytes) { return ((size_t)bytes + LW_ALIGNMENT - 1) / LW_ALIGNMENT * LW_ALIGNMENT; }

static size_t weight_bytes(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape)
{
    if (spec->nan != LW_NAN_INTERPOLATE)
        return 0;
    return aligned(shape->hop_rows * shape->hop_columns * (int64_t)sizeof(double));
}

int64_t lw_cpu_flaws2d_bytes(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape)
{
    if (lw_scalar_is_integer(spec->input.scalar))
        return 0;
    return (int64_t)(aligned(shape->rows * shape->columns) + aligned(shape->rows) + aligned(shape->hop_columns) +
                     aligned(shape->hop_columns * (int64_t)sizeof(int32_t)) + weight_bytes(spec, shape));
}

void lw_cpu_flaws2d_init(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, void *memory,
                         struct lw_cpu_flaws2d *flaws)
{
    *flaws = (struct lw_cpu_flaws2d){0};
    if (lw_scalar_is_integer(spec->input.scalar))
        return;
    flaws->map = memory;
    flaws->is_flawed = flaws->map + aligned(shape->rows * shape->columns);
    flaws->touched = flaws->is_flawed + aligned(shape->rows);
    flaws->hits = (int32_t *)(void *)(flaws->touched + aligned(shape->hop_columns));
    flaws->weights = (double *)(void *)((char *)flaws->hits + aligned(shape->hop_columns * (int64_t)sizeof(int32_t)));
}

void lw_cpu_flaws2d_clear(const struct lw_cpu_shape2d *shape, struct lw_cpu_flaws2d *flaws)
{
    for (int64_t row = 0; flaws->any && row < shape->rows; row++) {
        if (flaws->is_flawed[row])
            memset(flaws->map + row * shape->columns, 0, (size_t)shape->columns);
        flaws->is_flawed[row] = 0;
    }
    flaws->any = false;
}

void lw_cpu_flaws2d_repair(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *piece, int64_t row, void *reals,
                           struct lw_cpu_flaws2d *flaws)
{
    const int64_t n = lw_cpu_needed_columns(shape, piece);
    struct lw_cpu_repair found = {
        .width = shape->width, .n_taps = 1, .halo = 0, .n_samples = n, .n_outputs = n, .touched = flaws->map + row * shape->columns,
    };
    shape->kernels->repair(&found, reals);
    flaws->is_flawed[row] = 1;
    flaws->any = true;
}

static bool comes_before(const struct lw_cpu_tally2d *a, const struct lw_cpu_tally2d *b)
{
    if (a->row != b->row)
        return a->row < b->row;
    return a->channel != b->channel ? a->channel < b->channel : a->column < b->column;
}

void lw_cpu_tally2d_add(struct lw_cpu_tally2d *to, struct lw_cpu_tally2d more)
{
    const int64_t n = to->n + more.n;
    if (more.n > 0 && (to->n == 0 || comes_before(&more, to)))
        *to = more;
    to->n = n;
}

void lw_cpu_flaws2d_count(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *piece,
                          const struct lw_cpu_flaws2d *flaws, struct lw_cpu_tally2d *tally)
{
    const int64_t first = column_position(window, piece), halo = window->shape->kernel_rows - 1;
    const int64_t own = first + window->shape->kernel_columns - 1;      /* what is left of it the pieces before have */
    const int64_t begin = piece->column == 0 ? 0 : own;
    const int64_t end = min64(own + piece->n_columns, window->spec->conv2d.columns);
    for (int64_t row = 0; flaws->any && row < piece->n_rows; row++) {
        const uint8_t *const map = flaws->map + (halo + row) * window->shape->columns;
        for (int64_t at = max64(begin, 0); flaws->is_flawed[halo + row] && at < end; at++)
            if (map[at - first])
                lw_cpu_tally2d_add(tally, (struct lw_cpu_tally2d){1, piece->row + row, piece->channel, at});
    }
}

/* ---- what they do to the outputs ------------------------------------------------------------------------------------ */

/* The taps of one row of the kernel that meet the pixels [begin, end) of the window's row, for each output of a row. */
static void add_run(const double *sums, int64_t kernel_columns, int64_t begin, int64_t end, int64_t n_columns, double *weights)
{
    const int64_t last = min64(end, n_columns);
    for (int64_t j = max64(begin - kernel_columns + 1, 0); j < last; j++)
        weights[j] += sums[min64(j + kernel_columns - begin, kernel_columns)] - sums[max64(j + kernel_columns - end, 0)];
}

/* Weights of the taps that meet flaws in row `row` of the window, for all outputs below it that it reaches. */
static void add_row(const struct lw_cpu_shape2d *shape, const struct lw_cpu_kernel2d *kernel,
                    const struct lw_cpu_tile2d *piece, int64_t row, struct lw_cpu_flaws2d *flaws)
{
    const uint8_t *const map = flaws->map + row * shape->columns;
    const int64_t n = lw_cpu_needed_columns(shape, piece), halo = shape->kernel_rows - 1;
    const int64_t from = max64(row - halo, 0), to = min64(row + 1, piece->n_rows);
    for (int64_t begin = 0; begin < n; begin++) {
        if (!map[begin])
            continue;
        int64_t end = begin + 1;
        while (end < n && map[end])
            end++;
        for (int64_t i = from; i < to; i++)
            add_run(kernel->sums + (i + halo - row) * (shape->kernel_columns + 1), shape->kernel_columns, begin, end,
                    piece->n_columns, flaws->weights + i * shape->hop_columns);
        begin = end;
    }
}

/* From the weight of the flaws to what an output is multiplied by; NaN where next to nothing is left of the kernel. */
static void invert_weights(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *piece, double sum, double *weights)
{
    const double least = 1e-6;
    for (int64_t i = 0; i < piece->n_rows; i++) {
        double *const row = weights + i * shape->hop_columns;
        for (int64_t j = 0; j < piece->n_columns; j++) {
            const double valid = (sum - row[j]) / sum;
            row[j] = row[j] == 0 ? 1 : valid < least ? (double)NAN : 1 / valid;
        }
    }
}

/* map[j] becomes whether any of map[j .. j + length - 1] is set. */
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

static void add_hits(const struct lw_cpu_shape2d *shape, int64_t row, int32_t step, struct lw_cpu_flaws2d *flaws)
{
    const uint8_t *const map = flaws->map + row * shape->columns;
    for (int64_t j = 0; flaws->is_flawed[row] && j < shape->hop_columns; j++)
        flaws->hits[j] += step * map[j];
}

void lw_cpu_flaws2d_spread(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape,
                           const struct lw_cpu_kernel2d *kernel, const struct lw_cpu_tile2d *piece,
                           struct lw_cpu_flaws2d *flaws)
{
    if (!flaws->any)
        return;
    const int64_t n_rows = lw_cpu_needed_rows(shape, piece);
    if (spec->nan == LW_NAN_INTERPOLATE) {
        memset(flaws->weights, 0, (size_t)(shape->hop_rows * shape->hop_columns) * sizeof *flaws->weights);
        for (int64_t row = 0; row < n_rows; row++)
            if (flaws->is_flawed[row])
                add_row(shape, kernel, piece, row, flaws);
        invert_weights(shape, piece, kernel->sum, flaws->weights);
    }
    for (int64_t row = 0; row < n_rows; row++)
        if (flaws->is_flawed[row])
            dilate(flaws->map + row * shape->columns, shape->hop_columns, shape->kernel_columns);
    memset(flaws->hits, 0, (size_t)shape->hop_columns * sizeof *flaws->hits);
    for (int64_t row = 0; row < shape->kernel_rows - 1; row++)
        add_hits(shape, row, 1, flaws);
}

void lw_cpu_flaws2d_apply(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape,
                          const struct lw_cpu_tile2d *piece, int64_t row, struct lw_cpu_flaws2d *flaws, void *outputs)
{
    if (!flaws->any || spec->nan == LW_NAN_ZERO)
        return;
    if (spec->nan == LW_NAN_INTERPOLATE) {
        shape->kernels->weigh(outputs, flaws->weights + row * shape->hop_columns, piece->n_columns, shape->width);
        return;
    }
    add_hits(shape, row + shape->kernel_rows - 1, 1, flaws);
    for (int64_t j = 0; j < piece->n_columns; j++)
        flaws->touched[j] = flaws->hits[j] > 0;
    shape->kernels->blank(outputs, flaws->touched, piece->n_columns, shape->width);
    add_hits(shape, row, -1, flaws);
}
