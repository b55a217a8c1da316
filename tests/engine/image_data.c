/* image_data.c - makes the pixels and the kernels of a 2-D convolution, and its background and weights. */
#include "image.h"
#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void image_store(struct image_data *data)
{
    const struct image *const t = &data->image;
    const size_t bytes = lw_type_bytes(t->input), scalar = lw_scalar_bytes(t->input.scalar);
    double sum = 0;
    int64_t n_finite = 0;
    for (int64_t i = 0; i < t->n_images * t->rows * t->columns; i++) {
        const double parts[2] = {creal(data->pixels[i]), cimag(data->pixels[i])};
        for (size_t part = 0; part < bytes / scalar; part++)
            trial_put_scalar(t->input, parts[part], data->stored + (size_t)i * bytes + part * scalar);
        if (isfinite(parts[0]) && isfinite(parts[1])) {
            sum += parts[0] * parts[0] + parts[1] * parts[1];
            n_finite++;
        }
    }
    data->rms = fmax(n_finite > 0 ? sqrt(sum / (double)n_finite) : 0, fabs(t->outside));
}

static void make_pixels(struct image_data *data, uint64_t *state)
{
    const struct image *const t = &data->image;
    for (int64_t i = 0; i < t->n_images * t->rows * t->columns; i++) {
        const double re = trial_kept(t->input.scalar, t->mean + t->spread * trial_uniform(state));
        const double im = trial_kept(t->input.scalar, t->mean + t->spread * trial_uniform(state));
        data->pixels[i] = t->input.is_complex ? CMPLX(re, im) : re;
    }
}

/* A mesh of random nodes, least <= node <= most, and its values at all pixels. Images are the rows from 13 on of larger ones. Every
 * fifth node of a noise is eight times as high, so that the spline swings below its floor. */
static double *make_mesh(const struct image *t, double least, double most, bool is_noise, uint64_t *state, struct lw_mesh *mesh)
{
    *mesh = lw_mesh_of(t->rows + 21, t->columns, 16, t->n_images);
    mesh->first_row = 13;
    mesh->is_noise = is_noise;
    mesh->tables = calloc((size_t)lw_mesh_values(mesh), sizeof *mesh->tables);
    float *const values = calloc((size_t)(mesh->node_rows * mesh->node_columns + t->columns), sizeof *values);
    double *const map = calloc((size_t)(t->n_images * t->rows * t->columns), sizeof *map);
    if (!mesh->tables || !values || !map)
        abort();
    for (int64_t c = 0; c < t->n_images; c++) {
        for (int64_t i = 0; i < mesh->node_rows * mesh->node_columns; i++)
            values[i] = (float)((is_noise && i % 5 == 2 ? 8 : 1) * (least + (most - least) * (trial_uniform(state) + 1) / 2));
        lw_mesh_fill(mesh, c, values);
        for (int64_t row = 0; row < t->rows; row++) {
            lw_mesh_row(mesh, c, row, 0, t->columns, values);
            for (int64_t column = 0; column < t->columns; column++)
                map[(c * t->rows + row) * t->columns + column] = (double)values[column];
        }
    }
    free(values);
    return map;
}

/* Weights of pixels, the sigmas of which lie between 1 and `contrast`, and jump from one to the other. In a corner, in two columns,
 * and at some pixels the map holds numbers that are no weights. */
static void make_map(struct image_data *data, uint64_t *state)
{
    const struct image *const t = &data->image;
    const double none[] = {0, -1, (double)NAN, t->weights == LW_WEIGHTS_SIGMA ? (double)INFINITY : 0};
    const size_t bytes = lw_scalar_bytes(t->map.scalar);
    const bool has_none = !lw_scalar_is_integer(t->map.scalar);
    data->map = calloc((size_t)(t->n_images * t->rows * t->columns), bytes);
    data->weights = calloc((size_t)(t->n_images * t->rows * t->columns), sizeof *data->weights);
    if (!data->map || !data->weights)
        abort();
    for (int64_t i = 0; i < t->n_images * t->rows * t->columns; i++) {
        const int64_t row = i / t->columns % t->rows, column = i % t->columns;
        const double sigma = (column > t->columns / 2 ? fmax(t->contrast, 1) : 1) * (1.5 + trial_uniform(state) / 2);
        const bool is_none = (row < t->rows / 3 && column < t->columns / 3) || column / 2 == t->columns / 3 || i % 97 == 5;
        const double map = is_none ? none[has_none ? i % 4 : 0] : t->weights == LW_WEIGHTS_SIGMA ? sigma : 1 / (sigma * sigma);
        const double kept = trial_kept(t->map.scalar, map);
        trial_put_scalar(t->map, kept, data->map + (size_t)i * bytes);
        const bool is_weight = isfinite(kept) && kept > 0;
        data->weights[i] = !is_weight ? 0 : t->weights == LW_WEIGHTS_SIGMA ? 1 / (kept * kept) : kept;
    }
}

static void make_sky(struct image_data *data, uint64_t *state)
{
    const struct image *const t = &data->image;
    if (t->has_background)
        data->sky = make_mesh(t, -2 * t->spread, 5 * t->spread, false, state, &data->background);
    if (t->weights == LW_WEIGHTS_MESH) {
        data->weights = make_mesh(t, 0.5 * t->spread, t->spread, true, state, &data->sigma);
        for (int64_t i = 0; i < t->n_images * t->rows * t->columns; i++)
            data->weights[i] = data->weights[i] > 0 ? 1 / (data->weights[i] * data->weights[i]) : 0;
    } else if (t->weights != LW_WEIGHTS_NONE) {
        make_map(data, state);
    }
}

static int kernels_of(const struct image *image) { return image->n_kernels > 1 ? image->n_kernels : 1; }

/* Taps are exact in float32, so that rounding them does not count as the engine's error. */
static void make_kernel(struct image_data *data, uint64_t *state, double *taps)
{
    const struct image *const t = &data->image;
    const int parts = t->kernel_complex ? 2 : 1;
    const double scale = 1 / sqrt((double)(t->kernel_rows * t->kernel_columns));
    double column[t->kernel_rows * 2], row[t->kernel_columns * 2];
    for (int64_t m = 0; m < t->kernel_rows * 2; m++)
        column[m] = ldexp(rint(ldexp(trial_uniform(state), 10)), -10);
    for (int64_t n = 0; n < t->kernel_columns * 2; n++)
        row[n] = ldexp(rint(ldexp(trial_uniform(state), 10)), -10);
    for (int64_t m = 0; m < t->kernel_rows; m++) {
        for (int64_t n = 0; n < t->kernel_columns; n++) {
            double *const to = taps + (m * t->kernel_columns + n) * parts;
            const double complex product = CMPLX(column[2 * m], column[2 * m + 1]) * CMPLX(row[2 * n], row[2 * n + 1]);
            const double parted[2] = {t->kernel_complex ? creal(product) : column[2 * m] * row[2 * n], cimag(product)};
            for (int part = 0; part < parts; part++) {
                const double free = (double)(float)(trial_uniform(state) * scale);
                to[part] = t->kernel_separable ? parted[part] : t->kernel_positive ? fabs(free) : free;
            }
        }
    }
}

/* Output length, and position of output 0 in the full convolution, on one axis. */
static void shape(const struct image *t, int64_t n, int64_t kernel, int64_t origin, int64_t *length, int64_t *ahead)
{
    *length = lw_mode_length(t->mode, n, kernel);
    *ahead = t->mode == LW_MODE_SAME && origin >= 0 ? origin : lw_mode_look_ahead(t->mode, kernel);
}

void image_make(const struct image *image, struct image_data *data)
{
    uint64_t state = image->seed;
    const size_t n = (size_t)(image->n_images * image->rows * image->columns);
    *data = (struct image_data){
        .image = *image,
        .pixels = calloc(n, sizeof(double complex)),
        .kernel = calloc((size_t)(kernels_of(image) * image->kernel_rows * image->kernel_columns), 2 * sizeof(double)),
        .stored = calloc(n, lw_type_bytes(image->input)),
    };
    if (!data->pixels || !data->kernel || !data->stored)
        abort();
    shape(image, image->rows, image->kernel_rows, image->origin_rows, &data->out_rows, &data->ahead_rows);
    shape(image, image->columns, image->kernel_columns, image->origin_columns, &data->out_columns, &data->ahead_columns);
    const int64_t every = image->every > 1 ? image->every : 1;
    data->kept_rows = (data->out_rows + every - 1) / every;
    data->kept_columns = (data->out_columns + every - 1) / every;
    data->image.output.is_complex = image->input.is_complex || image->kernel_complex;
    make_pixels(data, &state);
    for (int k = 0; k < kernels_of(image); k++)
        make_kernel(data, &state, data->kernel + k * image->kernel_rows * image->kernel_columns * (image->kernel_complex ? 2 : 1));
    make_sky(data, &state);
    image_store(data);
}

void image_free(struct image_data *data)
{
    free(data->pixels);
    free(data->kernel);
    free(data->stored);
    free(data->background.tables);
    free(data->sigma.tables);
    free(data->map);
    free(data->sky);
    free(data->weights);
}

struct lw_op_spec image_spec(const struct image_data *data)
{
    const struct image *const t = &data->image;
    return (struct lw_op_spec){
        .kind = LW_OP_CONV2D,
        .input = t->input,
        .output = t->output,
        .output_scale = t->output_scale,
        .precision = t->precision,
        .layout = LW_TIME_FAST,
        .nan = t->nan,
        .n_channels = t->n_images,
        .n_outputs = data->out_rows,
        .conv2d = {
            .kernel = data->kernel, .n_kernels = kernels_of(t),
            .background = data->background.tables ? &data->background : NULL,
            .weights = t->weights, .sigma = data->sigma.tables ? &data->sigma : NULL, .map = t->map,
            .kernel_rows = t->kernel_rows,
            .kernel_columns = t->kernel_columns,
            .kernel_complex = t->kernel_complex,
            .rows = t->rows,
            .columns = t->columns,
            .output_columns = data->out_columns,
            .look_ahead_rows = data->ahead_rows,
            .look_ahead_columns = data->ahead_columns,
            .every = t->every,
            .search = t->search,
            .boundary = t->boundary,
            .outside = t->outside,
            .algorithm = t->algorithm, .padding = t->padding, .band = t->band,
        },
    };
}
