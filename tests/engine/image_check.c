/* image_check.c - compares outputs of 2-D convolutions with direct sums in double precision. */
#include "image.h"
#include "trial.h"

#include "../check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds spent on one check, an eighth in tests of banks. If all outputs need more, only one in several is checked. */
#define MOST_PRODUCTS 1000000

/* Limit on the largest error, as a multiple of the bound on the rms error. Errors are nearly normally distributed, so that none
 * should exceed it. */
#define LARGEST_TO_RMS 6

const char *image_text(const struct image *t, char text[400])
{
    static const char *const algorithms[] = {"auto", "direct", "tiles", "full", "separable", "padded"};
    static const char *const weights[] = {"", ", weights by mesh", ", weights by sigma", ", weights"};
    char in[40], out[40];
    snprintf(text, 400, "%s -> %s, %s, %s %s (%g outside), %lld x %lld x %lld, kernel %lld x %lld%s%s x %d%s%s, origin %lld "
             "%lld, every %d, %s, nan %d, seed %llu", lw_type_text(t->input, in), lw_type_text(t->output, out),
             t->precision == LW_DOUBLE ? "double" : "single", lw_mode_text(t->mode), lw_boundary_text(t->boundary), t->outside,
             (long long)t->n_images, (long long)t->rows, (long long)t->columns, (long long)t->kernel_rows,
             (long long)t->kernel_columns, t->kernel_complex ? " complex" : "", t->kernel_separable ? " separable" : "",
             t->n_kernels, weights[t->weights], t->has_background ? ", background" : "", (long long)t->origin_rows,
             (long long)t->origin_columns, t->every, algorithms[t->algorithm], (int)t->nan, (unsigned long long)t->seed);
    return text;
}

static double complex pixel(const struct image_data *data, int64_t image, int64_t row, int64_t column)
{
    const struct image *const t = &data->image;
    const int64_t i = lw_boundary_index(t->boundary, row, t->rows), j = lw_boundary_index(t->boundary, column, t->columns);
    const int64_t at = (image * t->rows + i) * t->columns + j;
    return i < 0 || j < 0 ? t->outside : data->pixels[at] - (data->sky ? data->sky[at] : 0);
}

/* Whether a value is not finite for the engine: in single precision that is everything that float32 cannot hold. */
static bool is_lost(const struct image *t, double value)
{
    return !isfinite(value) || (t->precision == LW_SINGLE && !isfinite((float)value));
}

/* The matched filter by the definition of engine.h: y, and its terms. */
static struct image_truth weighted_truth(const struct image_data *data, const double *kernel, int64_t image, int64_t row,
                                         int64_t column)
{
    const struct image *const t = &data->image;
    long double a = 0, b = 0, scale = 0;
    int64_t n = 0;
    for (int64_t m = 0; m < t->kernel_rows; m++) {
        for (int64_t k = 0; k < t->kernel_columns; k++) {
            const int64_t i = row + data->ahead_rows - m, j = column + data->ahead_columns - k;
            if (i < 0 || j < 0 || i >= t->rows || j >= t->columns)
                continue;
            const int64_t at = (image * t->rows + i) * t->columns + j;
            const double x = creal(data->pixels[at]) - (data->sky ? data->sky[at] : 0), w = data->weights[at];
            if (!(w > 0) || is_lost(t, creal(data->pixels[at])))
                continue;
            const long double tap = kernel[m * t->kernel_columns + k];
            a += tap * w * x;
            b += tap * tap * w;
            scale += fabsl(tap) * w * fabs(x);
            n++;
        }
    }
    const double root = sqrt((double)b);
    return (struct image_truth){.value = b > 0 ? (double)a / root : 0, .gain = 1, .is_nan = n == 0, .b = (double)b,
                                .scale = b > 0 ? (double)scale / root : 0};
}

struct image_truth image_truth(const struct image_data *data, int kernel, int64_t image, int64_t row, int64_t column)
{
    const struct image *const t = &data->image;
    const int parts = t->kernel_complex ? 2 : 1;
    const double *const taps = data->kernel + kernel * t->kernel_rows * t->kernel_columns * parts;
    long double re = 0, im = 0, valid = 0, all = 0;
    bool is_touched = false;
    if (t->weights != LW_WEIGHTS_NONE)
        return weighted_truth(data, taps, image, row, column);
    for (int64_t m = 0; m < t->kernel_rows; m++) {
        for (int64_t n = 0; n < t->kernel_columns; n++) {
            const double complex x = pixel(data, image, row + data->ahead_rows - m, column + data->ahead_columns - n);
            const double *const h = taps + (m * t->kernel_columns + n) * parts;
            const long double h_re = h[0], h_im = parts == 2 ? h[1] : 0;
            all += h_re;
            if (is_lost(t, creal(x)) || is_lost(t, cimag(x))) {
                is_touched = true;
                continue;
            }
            valid += h_re;
            re += creal(x) * h_re - cimag(x) * h_im;
            im += creal(x) * h_im + cimag(x) * h_re;
        }
    }
    if (t->nan == LW_NAN_INTERPOLATE && is_touched) {
        const long double weight = all / valid;
        return (struct image_truth){.value = CMPLX((double)(re * weight), (double)(im * weight)),
                                    .gain = (double)fmaxl(1, weight), .is_nan = valid / all < 1e-6L};
    }
    return (struct image_truth){.value = CMPLX((double)re, (double)im), .gain = 1,
                                .is_nan = is_touched && t->nan != LW_NAN_ZERO};
}

static double output_at(const struct image_data *data, const struct image_result *result, int64_t index, int part)
{
    const struct lw_type type = data->image.output;
    return lw_type_number(type, result->outputs, index * (type.is_complex ? 2 : 1) + part);
}

static double unit_of(const struct image *t)
{
    return t->output_scale > 0 ? t->output_scale : 1;
}

/* The expected value as the output's type stores it. */
static double stored(const struct image *t, double value)
{
    const enum lw_scalar scalar = t->output.scalar;
    return lw_scalar_saturates(scalar) ? unit_of(t) * trial_clipped(scalar, value / unit_of(t)) : value;
}

/* The largest norm of a kernel. */
static double norm(const struct image_data *data)
{
    const int64_t n = data->image.kernel_rows * data->image.kernel_columns * (data->image.kernel_complex ? 2 : 1);
    double largest = 0;
    for (int k = 0; k == 0 || k < data->image.n_kernels; k++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += data->kernel[k * n + i] * data->kernel[k * n + i];
        largest = fmax(largest, sqrt(sum));
    }
    return largest;
}

/* Allowed rms error: e log2(2N) rms(x) |h|, and the rounding to the output's type. e is 5e-8 in single and 1e-16 in double
 * precision. N is the number of taps, or the smallest transform if it is larger. */
static double tolerance(const struct image_data *data, double output_rms)
{
    const struct image *const t = &data->image;
    const double n = (double)(t->kernel_rows * t->kernel_columns);
    const double relative = t->precision == LW_DOUBLE ? 1e-16 : 5e-8;
    const double smooth = data->sky ? 4 : 1;       /* a background adds to outputs what its few frequencies hold */
    const double rounding = smooth * (t->precision == LW_DOUBLE ? 0x1p-54 : 0x1p-25);
    const bool saturates = lw_scalar_saturates(t->output.scalar);
    const double narrow = saturates ? unit_of(t) * trial_rounding(t->output.scalar, output_rms / unit_of(t)) : 0;
    const double pixels = data->rms + (data->sky ? 5 * t->spread : 0);
    const double mesh = data->sky ? 0x1p-21 * 5 * t->spread * norm(data) : 0;  /* engines round its float32 in their own ways */
    return relative * log2(2 * fmax(n, 256)) * pixels * norm(data) + rounding * output_rms + narrow + mesh;
}

/* Distance between checked outputs: odd, so that the checked columns differ from row to row. */
static int64_t step_of(const struct image_data *data)
{
    const struct image *const t = &data->image;
    const int64_t outputs = (t->n_kernels > 1 ? t->n_kernels : 1) * t->n_images * data->kept_rows * data->kept_columns;
    const int64_t products = outputs * t->kernel_rows * t->kernel_columns;
    return products / (t->n_kernels > 0 ? MOST_PRODUCTS / 8 : MOST_PRODUCTS) | 1;
}

/* Allowed error of an output with weights, see engine.h; meshes are computed in float32 by any engine. */
static double weighted_tolerance(const struct image *t, const struct image_truth *truth)
{
    const bool is_double = t->precision == LW_DOUBLE && t->weights != LW_WEIGHTS_MESH && !t->has_background;
    return is_double ? 1e-9 * (1 + truth->scale) : 1e-4 + 1e-5 * truth->scale;
}

static int64_t n_pixels(const struct image_data *data) { return data->kept_rows * data->kept_columns; }

/* The expected output number i. */
static struct image_truth truth_of(const struct image_data *data, int64_t i)
{
    const int64_t every = data->image.every > 1 ? data->image.every : 1, all = n_pixels(data), plane = data->image.n_images * all;
    return image_truth(data, (int)(i / plane), i % plane / all, i % all / data->kept_columns * every,
                       i % data->kept_columns * every);
}

static int64_t n_outputs(const struct image_data *data)
{
    return (data->image.n_kernels > 1 ? data->image.n_kernels : 1) * data->image.n_images * n_pixels(data);
}

static void check_weighted(const struct image_data *data, const struct image_result *result, const char *what)
{
    const int64_t n = n_outputs(data), step = step_of(data);
    double worst = 0, wanted = 0;
    int64_t n_wrong_nan = 0, at = -1;
    char text[400];
    for (int64_t i = 0; i < n; i += step) {
        const struct image_truth truth = truth_of(data, i);
        const double found = output_at(data, result, i, 0);
        n_wrong_nan += isnan(found) != truth.is_nan;
        if (truth.is_nan || isnan(found))
            continue;
        const double relative = fabs(found - creal(truth.value)) / weighted_tolerance(&data->image, &truth);
        if (relative > worst) {
            at = i;
            worst = relative;
            wanted = creal(truth.value);
        }
    }
    CHECK(n_wrong_nan == 0, "%s: %s: %s: %lld outputs are wrongly NaN or not", what, image_text(&data->image, text),
          result->plan.text, (long long)n_wrong_nan);
    CHECK(worst <= 1, "%s: %s: %s: output %lld is %.9g, not %.9g: %.3g times the allowed error", what,
          image_text(&data->image, text), result->plan.text, (long long)at, at < 0 ? 0 : output_at(data, result, at, 0), wanted,
          worst);
}

void image_check(const struct image_data *data, const struct image_result *result, const char *what)
{
    const struct image *const t = &data->image;
    const int parts = t->output.is_complex ? 2 : 1;
    double sum = 0, largest = 0, power = 0;
    const int64_t columns = data->kept_columns, all = n_pixels(data);
    int64_t n = 0, n_wrong_nan = 0, at = -1;
    if (t->weights != LW_WEIGHTS_NONE) {
        check_weighted(data, result, what);
        return;
    }
    for (int64_t i = 0; i < n_outputs(data); i += step_of(data)) {
        const struct image_truth truth = truth_of(data, i);
        const double wanted[2] = {creal(truth.value), cimag(truth.value)};
        for (int part = 0; part < parts; part++) {
            const double found = output_at(data, result, i, part) * unit_of(t);
            const bool can_be_nan = !lw_scalar_is_integer(t->output.scalar);
            n_wrong_nan += can_be_nan && isnan(found) != truth.is_nan;
            if (truth.is_nan || isnan(found))
                continue;
            const double error = fabs(found - stored(t, wanted[part])) / truth.gain;
            at = error > largest ? i : at;
            largest = fmax(largest, error);
            sum += error * error;
            power += wanted[part] * wanted[part];
            n++;
        }
    }
    char text[400];
    image_text(t, text);
    const double allowed = tolerance(data, n > 0 ? sqrt(power / (double)n) : 0);
    CHECK(n_wrong_nan == 0, "%s: %s: %lld outputs are wrongly NaN or not", what, text, (long long)n_wrong_nan);
    CHECK(n == 0 || sqrt(sum / (double)n) <= allowed, "%s: %s: %s: rms error %.3g, allowed %.3g", what, text,
          result->plan.text, sqrt(sum / (double)n), allowed);
    CHECK(largest <= LARGEST_TO_RMS * allowed, "%s: %s: %s: error %.3g at output %lld (%lld, %lld), allowed %.3g", what, text,
          result->plan.text, largest, (long long)at, (long long)(at % all / columns), (long long)(at % columns),
          LARGEST_TO_RMS * allowed);
}
