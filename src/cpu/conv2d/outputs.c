/* outputs.c - rows of finished outputs: signal-to-noise ratios of weighted pixels, flaws, the search, and storing. */
#include "cpu/conv2d/conv2d.h"

static bool is_within(int64_t row, int64_t begin, int64_t end) { return row >= begin && row < end; }

/* Return whether row `row` of a tile's outputs is stored. has_best returns whether the best of its outputs are, and is_searched
 * whether it may have crossings. */
static bool is_stored(const struct lw_cpu_tile2d *tile, int64_t row)
{
    return tile->conv2d->series >= 0 && is_within(tile->row + row, tile->work->stored_begin, tile->work->stored_end) &&
           (tile->conv2d->spec.conv2d.every <= 1 ||
            (tile->slot->block.first + tile->row + row) % tile->conv2d->spec.conv2d.every == 0);
}

static bool has_best(const struct lw_cpu_tile2d *tile, int64_t row)
{
    return tile->conv2d->best_value >= 0 && is_within(tile->row + row, tile->work->stored_begin, tile->work->stored_end);
}

static bool is_searched(const struct lw_cpu_tile2d *tile, int64_t row)
{
    return is_within(tile->row + row, tile->work->crossings_begin, tile->work->crossings_end);
}

bool lw_cpu_outputs2d_are_needed(const struct lw_cpu_tile2d *tile, int64_t row)
{
    return row < tile->n_rows && (is_stored(tile, row) || has_best(tile, row) || is_searched(tile, row));
}

static double noise_of(const struct lw_cpu_tile2d *tile, int kernel)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    return conv2d->noise[(tile->slot->block.channel + tile->channel) * conv2d->shape.n_kernels + kernel];
}

static void search_row(const struct lw_cpu_tile2d *tile, int64_t row, const void *outputs)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_block *const block = &tile->slot->block;
    const int64_t channel = block->channel + tile->channel;
    const struct lw_cpu_outputs searched = {
        .kernels = conv2d->shape.kernels, .y = outputs, .width = conv2d->shape.width, .end = tile->n_columns, .is_row = true,
        .first = {.index = block->first + tile->row + row, .channel = (int32_t)channel, .filter = tile->kernel,
                  .column = tile->column},
        .noise = noise_of(tile, tile->kernel), .threshold = conv2d->spec.conv2d.search.threshold,
        .sign = conv2d->spec.conv2d.search.sign,
        .b = conv2d->shape.has_weights ? lw_cpu_row2d_b(conv2d, outputs) : NULL,
        .exponent = -(tile->unit + conv2d->kernels[tile->kernel].exponent),
    };
    lw_cpu_crossings_find(&searched, &tile->lane->found, tile->work->table);
}

/* Place of a stored row of a tile's outputs; every D-th column is kept. */
struct stored_row {
    int64_t first, n;           /* range of columns among the kept ones */
    char *at;
};

/* Return how many of n rows or columns are kept. Divisions would take a good part of the time of a row. */
static int64_t kept(int64_t n, int64_t every) { return every == 1 ? n : lw_divide_up(n, every); }

static struct stored_row stored_row(const struct lw_cpu_tile2d *tile, int64_t row)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_block *const block = &tile->slot->block;
    const int64_t every = lw_conv2d_every(&conv2d->spec.conv2d), first = kept(tile->column, every);
    const int64_t plane = tile->kernel * block->n_channels + tile->channel;
    const int64_t line = plane * tile->work->n_kept + kept(block->first + tile->row + row, every) - tile->work->first_kept;
    const int64_t index = line * conv2d->plan.products[conv2d->series].width + first;
    return (struct stored_row){
        .first = first, .n = kept(tile->column + tile->n_columns, every) - first,
        .at = (char *)tile->slot->products[conv2d->series].data + (size_t)index * lw_type_bytes(conv2d->spec.output),
    };
}

void lw_cpu_outputs2d_fetch(const struct lw_cpu_tile2d *tile, int64_t row)
{
    if (row >= tile->n_rows || !is_stored(tile, row))
        return;
    const struct stored_row to = stored_row(tile, row);
    lw_cpu_fetch(to.at, to.n * (int64_t)lw_type_bytes(tile->conv2d->spec.output));
}

/* Keep every D-th column of the image, and store these. */
static void store_row(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t every = lw_conv2d_every(&conv2d->spec.conv2d), width = conv2d->shape.width;
    const struct stored_row to = stored_row(tile, row);
    if (to.n == 0)
        return;
    if (every > 1)
        lw_cpu_pick(outputs, 1, lw_cpu_real2d(conv2d, outputs, (to.first * every - tile->column) * width), every, to.n,
                    (size_t)width * k->real_bytes);
    const struct lw_cpu_panel panel = lw_cpu_output_panel(&conv2d->spec, 1, to.n);
    k->store(&panel, outputs, to.at, &tile->lane->base.loss);
}

/* Let a row of outputs compete with those of the kernels before. */
static void keep_best(const struct lw_cpu_tile2d *tile, int64_t row, const void *outputs)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const struct lw_search *const search = &conv2d->spec.conv2d.search;
    const int64_t n = tile->n_columns, width = conv2d->shape.width;
    const int64_t line = tile->channel * tile->slot->block.count + tile->row + row;
    const int64_t at = line * conv2d->spec.conv2d.output_columns + tile->column;
    const struct lw_cpu_best best = {
        .values = lw_cpu_real2d(conv2d, tile->slot->products[conv2d->best_value].data, at * width),
        .strengths = tile->strengths + row * conv2d->shape.hop_columns,
        .filters = (int32_t *)tile->slot->products[conv2d->best_filter].data + at,
    };
    if (tile->kernel == 0) {
        k->fill(best.values, n * width, (double)NAN);
        for (int64_t i = 0; i < n; i++) {
            best.strengths[i] = -INFINITY;
            best.filters[i] = -1;
        }
    }
    double least = INFINITY;
    for (int i = 0; i < conv2d->shape.n_kernels; i++)
        if (noise_of(tile, i) > 0)
            least = fmin(least, noise_of(tile, i));
    const double noise = noise_of(tile, tile->kernel);
    if (noise > 0)
        k->keep_best(outputs, n, (int)width, search->sign, least / noise, tile->kernel, &best);
}

/* Find the smallest B for which A and B are as exact as engine.h promises, for a kernel of norm 1. A transform's error is alike at
 * all outputs: about `rounding` times the rms value of what is transformed and the norm of the kernel. */
static void least_of(const struct lw_cpu_tile2d *tile, double *a, double *b)
{
    const bool is_single = tile->conv2d->shape.kernels->real_bytes == sizeof(float);
    const double rounding = is_single ? 2e-7 : 4e-16, most = is_single || tile->narrow ? 1e-5 : 1e-10;
    const double error = ldexp(rounding * (tile->rms[0] + tile->rms[1]) / (10 * most), tile->exponent);
    *a = error * error;
    *b = rounding * tile->rms[1] / most;
}

/* Return the smallest B of the tile's kernel. Errors of direct sums are small beside each output. */
static double least_b(const struct lw_cpu_tile2d *tile)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    const double norm = tile->conv2d->kernels[tile->kernel].norm;
    double a, b;
    least_of(tile, &a, &b);
    const double least = shape->kernels->real_bytes == sizeof(float) ? 0x1p-100 : 0x1p-900;
    return lw_cpu_shape2d_has_fft(shape) ? fmax(a, b) * norm * norm : least;
}

/* Return whether the error of A, or faint weights, would leave many outputs to sums: B is about norm^2 times the weights' rms. */
bool lw_cpu_outputs2d_are_bright(const struct lw_cpu_tile2d *tile)
{
    double a, b;
    least_of(tile, &a, &b);
    return a > 0.1 * tile->rms[1] || tile->is_uneven;
}

/* Make those outputs of a row whose B is below `least` as sums in double precision. */
static void sum_faint(const struct lw_cpu_tile2d *tile, int64_t row, double least, void *outputs)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const bool is_single = shape->kernels->real_bytes == sizeof(float);
    const struct lw_cpu_tile2d *const window = tile->narrow ? tile->narrow : tile;
    void *const b = lw_cpu_row2d_b(conv2d, outputs);
    for (int64_t j = 0; j < tile->n_columns; j++) {
        const double its = is_single ? (double)((const float *)b)[j] : ((const double *)b)[j];
        if (!(its < least) || (tile->flaws->any && tile->flaws->touched[j]))
            continue;
        double sums[2];
        const void *const x = lw_cpu_real2d(window->conv2d, lw_cpu_window2d_row(window, 0, row), j);
        const void *const v = lw_cpu_real2d(window->conv2d, lw_cpu_window2d_row(window, 1, row), j);
        window->conv2d->shape.kernels->weighted_sum(conv2d->kernels[tile->kernel].taps, shape->kernel_rows,
                                                    shape->kernel_columns, x, v, shape->window_stride, sums);
        /* divide_row multiplies by 2^exponent; only the window of a narrow tile has been divided by it */
        const double y = sums[1] > 0 ? ldexp(sums[0] / sqrt(sums[1]), tile->narrow ? -tile->exponent : 0) : 0;
        shape->kernels->round_reals(&y, lw_cpu_real2d(conv2d, outputs, j), 1);
        shape->kernels->round_reals(&sums[1], lw_cpu_real2d(conv2d, b, j), 1);
    }
}

/* Make A / sqrt(B) of a row. */
static void divide_row(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    const struct lw_cpu_kernels *const k = tile->conv2d->shape.kernels;
    const double least = least_b(tile);
    const bool has_faint = k->divide_by_root(outputs, lw_cpu_row2d_b(tile->conv2d, outputs), tile->n_columns, least);
    lw_cpu_flaws2d_apply(tile, row, outputs);
    if (has_faint)
        sum_faint(tile, row, least, outputs);
    if (tile->exponent != 0)
        k->scale(outputs, tile->n_columns, tile->exponent);
}

/* Undo the scaling and treat the flaws. */
static void restore_row(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    const struct lw_cpu_conv2d *const conv2d = tile->conv2d;
    const int exponent = conv2d->kernels[tile->kernel].exponent + tile->exponent;
    if (exponent != 0)
        conv2d->shape.kernels->scale(outputs, tile->n_columns * conv2d->shape.width, exponent);
    lw_cpu_flaws2d_apply(tile, row, outputs);
}

void lw_cpu_outputs2d_finish(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    struct lw_cpu_tile2d narrow;
    if (tile->conv2d->shape.has_weights)
        divide_row(tile, row, outputs);
    else
        restore_row(tile, row, outputs);
    if (tile->narrow) {
        narrow = *tile->narrow;
        narrow.kernel = tile->kernel;
        narrow.conv2d->shape.kernels->round_reals(outputs, narrow.y, narrow.n_columns);
        narrow.conv2d->shape.kernels->round_reals(lw_cpu_row2d_b(tile->conv2d, outputs), lw_cpu_row2d_b(narrow.conv2d, narrow.y),
                                                  narrow.n_columns);
        outputs = narrow.y;
        tile = &narrow;
    }
    if (is_searched(tile, row))
        search_row(tile, row, outputs);
    if (has_best(tile, row))
        keep_best(tile, row, outputs);
    if (is_stored(tile, row))
        store_row(tile, row, outputs);
}

void lw_cpu_outputs2d_finish_or_skip(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs)
{
    if (lw_cpu_outputs2d_are_needed(tile, row))
        lw_cpu_outputs2d_finish(tile, row, outputs);
    else
        lw_cpu_flaws2d_apply(tile, row, NULL);
}
