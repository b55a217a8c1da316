/* image_check.c - compares outputs of 2-D convolutions with direct sums in double precision. */
#include "image.h"
#include "trial.h"

#include "../check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Multiply-adds spent on one check. If all outputs need more, only one in several is checked. */
#define MOST_PRODUCTS 1000000

/* Limit on the largest error, as a multiple of the bound on the rms error. Errors are nearly normally distributed, so that none
 * should exceed it. */
#define LARGEST_TO_RMS 6

/* The expected output. */
struct truth {
    double complex value;
    double gain;                /* factor >= 1 by which the weights for missing pixels multiply a sum and its error */
    bool is_nan;
};

const char *image_text(const struct image *t, char text[320])
{
    static const char *const algorithms[] = {"auto", "direct", "tiles", "full", "separable", "padded"};
    char in[40], out[40];
    snprintf(text, 320, "%s -> %s, %s, %s %s (%g outside), %lld x %lld x %lld, kernel %lld x %lld%s%s, origin %lld %lld, every "
             "%d, %s, nan %d, seed %llu", lw_type_text(t->input, in), lw_type_text(t->output, out),
             t->precision == LW_DOUBLE ? "double" : "single", lw_mode_text(t->mode), lw_boundary_text(t->boundary), t->outside,
             (long long)t->n_images, (long long)t->rows, (long long)t->columns, (long long)t->kernel_rows,
             (long long)t->kernel_columns, t->kernel_complex ? " complex" : "", t->kernel_separable ? " separable" : "",
             (long long)t->origin_rows, (long long)t->origin_columns, t->every, algorithms[t->algorithm], (int)t->nan,
             (unsigned long long)t->seed);
    return text;
}

static double complex pixel(const struct image_data *data, int64_t image, int64_t row, int64_t column)
{
    const struct image *const t = &data->image;
    const int64_t i = lw_boundary_index(t->boundary, row, t->rows), j = lw_boundary_index(t->boundary, column, t->columns);
    return i < 0 || j < 0 ? t->outside : data->pixels[(image * t->rows + i) * t->columns + j];
}

/* Whether a value is not finite for the engine: in single precision that is everything that float32 cannot hold. */
static bool is_lost(const struct image *t, double value)
{
    return !isfinite(value) || (t->precision == LW_SINGLE && !isfinite((float)value));
}

static struct truth truth_at(const struct image_data *data, int64_t image, int64_t row, int64_t column)
{
    const struct image *const t = &data->image;
    const int parts = t->kernel_complex ? 2 : 1;
    long double re = 0, im = 0, valid = 0, all = 0;
    bool is_touched = false;
    for (int64_t m = 0; m < t->kernel_rows; m++) {
        for (int64_t n = 0; n < t->kernel_columns; n++) {
            const double complex x = pixel(data, image, row + data->ahead_rows - m, column + data->ahead_columns - n);
            const double *const h = data->kernel + (m * t->kernel_columns + n) * parts;
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
        return (struct truth){CMPLX((double)(re * weight), (double)(im * weight)), (double)fmaxl(1, weight), valid / all < 1e-6L};
    }
    return (struct truth){CMPLX((double)re, (double)im), 1, is_touched && t->nan != LW_NAN_ZERO};
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

static double norm(const struct image_data *data)
{
    const int64_t n = data->image.kernel_rows * data->image.kernel_columns * (data->image.kernel_complex ? 2 : 1);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += data->kernel[i] * data->kernel[i];
    return sqrt(sum);
}

/* Allowed rms error: e log2(2N) rms(x) |h|, and the rounding to the output's type. e is 5e-8 in single and 1e-16 in double
 * precision. N is the number of taps, or the smallest transform if it is larger. */
static double tolerance(const struct image_data *data, double output_rms)
{
    const struct image *const t = &data->image;
    const double n = (double)(t->kernel_rows * t->kernel_columns);
    const double relative = t->precision == LW_DOUBLE ? 1e-16 : 5e-8;
    const double rounding = t->precision == LW_DOUBLE ? 0x1p-54 : 0x1p-25;
    const bool saturates = lw_scalar_saturates(t->output.scalar);
    const double narrow = saturates ? unit_of(t) * trial_rounding(t->output.scalar, output_rms / unit_of(t)) : 0;
    return relative * log2(2 * fmax(n, 256)) * data->rms * norm(data) + rounding * output_rms + narrow;
}

/* Distance between checked outputs: odd, so that the checked columns differ from row to row. */
static int64_t step_of(const struct image_data *data)
{
    const struct image *const t = &data->image;
    const int64_t products = t->n_images * data->kept_rows * data->kept_columns * t->kernel_rows * t->kernel_columns;
    return products / MOST_PRODUCTS | 1;
}

void image_check(const struct image_data *data, const struct image_result *result, const char *what)
{
    const struct image *const t = &data->image;
    const int parts = t->output.is_complex ? 2 : 1;
    double sum = 0, largest = 0, power = 0;
    const int64_t every = t->every > 1 ? t->every : 1, columns = data->kept_columns;
    int64_t n = 0, n_wrong_nan = 0, at = -1, all = data->kept_rows * columns;
    for (int64_t i = 0; i < t->n_images * all; i += step_of(data)) {
        const struct truth truth = truth_at(data, i / all, i % all / columns * every, i % columns * every);
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
    char text[320];
    image_text(t, text);
    const double allowed = tolerance(data, n > 0 ? sqrt(power / (double)n) : 0);
    CHECK(n_wrong_nan == 0, "%s: %s: %lld outputs are wrongly NaN or not", what, text, (long long)n_wrong_nan);
    CHECK(n == 0 || sqrt(sum / (double)n) <= allowed, "%s: %s: %s: rms error %.3g, allowed %.3g", what, text,
          result->plan.text, sqrt(sum / (double)n), allowed);
    CHECK(largest <= LARGEST_TO_RMS * allowed, "%s: %s: %s: error %.3g at output %lld (%lld, %lld), allowed %.3g", what, text,
          result->plan.text, largest, (long long)at, (long long)(at % all / columns), (long long)(at % columns),
          LARGEST_TO_RMS * allowed);
}
