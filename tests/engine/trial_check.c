/* trial_check.c - compares outputs with direct sums in double precision. */
#include "trial.h"

#include "../check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds spent on one trial. If all outputs need more, some are checked: first those at ends and seams. */
#define MOST_PRODUCTS 1500000

/* Limit on the largest error, as a multiple of the bound on the rms error. Errors are nearly normally distributed: none of a
 * million should exceed five times their rms value. If a few samples dominate, a few outputs may have the whole error. */
#define LARGEST_TO_RMS 6

double trial_largest_to_rms(const struct trial *t, int64_t n)
{
    return trial_is_dominated(t) ? LARGEST_TO_RMS * sqrt((double)n) : LARGEST_TO_RMS;
}

/* Least number of errors with a meaningful rms value. For fewer, only the largest error is checked. */
#define FEWEST_ERRORS 100

/* The expected output of a filter and channel. */
struct truth {
    double complex value;
    bool is_touched;            /* whether the output touches a sample that is not finite */
    double slope;               /* largest factor from an error of the series to one of the output */
};

struct errors {
    double sum, largest;
    int64_t n, n_wrong_nan, at;
};

const char *trial_text(const struct trial *t, char text[256])
{
    char in[40], out[40];
    int used = snprintf(text, 256, "%s -> %s, %s, %s, %s %s, %lld x %lld, M %lld%s x %d, segment %d, seed %llu",
             lw_type_text(t->input, in), lw_type_text(t->output, out), t->precision == LW_DOUBLE ? "double" : "single",
             t->layout == LW_TIME_FAST ? "time fast" : "time slow", lw_mode_text(t->mode),
             lw_boundary_text(t->boundary), (long long)t->n_channels, (long long)t->n_samples, (long long)t->n_taps,
             t->taps_complex ? " complex" : "", t->n_filters, t->segment, (unsigned long long)t->seed);
    lw_post_describe(t->post, text + used, 256 - (size_t)used);
    lw_search_describe(&t->search, "outputs", "filter", text, 256);
    return text;
}

/* Whether a value is not finite for the engine: in single precision that is everything that float32 cannot hold. */
static bool is_lost(const struct trial *t, double value)
{
    return !isfinite(value) || (t->precision == LW_SINGLE && !isfinite((float)value));
}

/* Compute the sum for the most frequent case: all samples lie in the signal, are finite and real, and the taps are real. */
static bool is_plain_sum(const struct trial_data *data, int64_t filter, int64_t channel, int64_t output, struct truth *truth)
{
    const struct trial *const t = &data->trial;
    const int64_t first = output + data->look_ahead - (t->n_taps - 1);
    if (t->taps_complex || t->input.is_complex || first < 0 || first + t->n_taps > t->n_samples)
        return false;
    const double complex *const x = data->values + channel * t->n_samples + first;
    const double *const taps = data->taps + filter * t->n_taps;
    const double most = t->precision == LW_SINGLE ? FLT_MAX : DBL_MAX;
    long double sum = 0;
    for (int64_t m = 0; m < t->n_taps; m++) {
        const double sample = creal(x[t->n_taps - 1 - m]);
        if (!(fabs(sample) <= most))
            return false;
        sum += (long double)sample * taps[m];
    }
    *truth = (struct truth){.value = (double)sum};
    return true;
}

static struct truth series_at(const struct trial_data *data, int64_t filter, int64_t channel, int64_t output)
{
    const struct trial *const t = &data->trial;
    const double *const taps = data->taps + filter * t->n_taps * (t->taps_complex ? 2 : 1);
    struct truth truth = {0};
    if (is_plain_sum(data, filter, channel, output, &truth))
        return truth;
    long double re = 0, im = 0;         /* the bounds in double precision leave no room for the rounding of this sum */
    for (int64_t m = 0; m < t->n_taps; m++) {
        const double complex x = trial_sample(data, channel, output + data->look_ahead - m);
        const long double x_re = creal(x), x_im = cimag(x);
        if (is_lost(t, creal(x)) || is_lost(t, cimag(x))) {
            truth.is_touched = t->nan != LW_NAN_ZERO;
            continue;
        }
        const double h_re = t->taps_complex ? taps[2 * m] : taps[m], h_im = t->taps_complex ? taps[2 * m + 1] : 0;
        re += x_re * h_re - x_im * h_im;
        im += x_re * h_im + x_im * h_re;
    }
    truth.value = CMPLX((double)re, (double)im);
    return truth;
}

double complex trial_series(const struct trial_data *data, int64_t filter, int64_t channel, int64_t output, bool *is_touched)
{
    const struct truth truth = series_at(data, filter, channel, output);
    *is_touched = truth.is_touched;
    return truth.value;
}

/* ---- derived series, by their definitions ---------------------------------------------------------------------------- */

/* Part [begin, end) of the series of a filter and channel. */
struct range {
    int64_t begin, end;
};

static struct range stencil_of(const struct trial_data *data, int64_t result)
{
    const int64_t rate = lw_post_rate(data->trial.post), n = data->n_outputs;
    const int64_t i = result / rate * lw_post_every(data->trial.post);
    if (result % rate == 0)
        return (struct range){i, i + 1};
    if (n <= 4)
        return (struct range){0, n};
    const int64_t begin = i == 0 ? 0 : i > n - 3 ? n - 4 : i - 1;
    return (struct range){begin, begin + 4};
}

/* Lagrange's interpolating polynomial. */
static double complex interpolated_at(const struct trial_data *data, const struct truth *series, int64_t result)
{
    const long double x = (long double)result / lw_post_rate(data->trial.post);
    const struct range range = stencil_of(data, result);
    long double re = 0, im = 0;
    for (int64_t k = range.begin; k < range.end; k++) {
        long double weight = 1;
        for (int64_t other = range.begin; other < range.end; other++)
            if (other != k)
                weight *= (x - (long double)other) / (long double)(k - other);
        re += weight * creal(series[k].value);
        im += weight * cimag(series[k].value);
    }
    return CMPLX((double)re, (double)im);
}

static struct truth made_at(const struct trial_data *data, const struct truth *series, int64_t result)
{
    const enum lw_post_kind kind = data->trial.post.kind;
    const int64_t before = kind == LW_POST_DERIVATIVE && result > 0 ? result - 1 : result;
    const int64_t after = kind == LW_POST_DERIVATIVE && result < data->n_results - 1 ? result + 1 : result;
    const struct range low = stencil_of(data, before), high = stencil_of(data, after);
    struct truth truth = {.value = interpolated_at(data, series, result), .slope = 1};
    if (kind == LW_POST_DERIVATIVE)
        truth.value = (interpolated_at(data, series, after) - interpolated_at(data, series, before)) /
                      (double)(after - before);
    if (kind == LW_POST_POWER) {
        truth.slope = 2 * cabs(truth.value);
        truth.value = creal(truth.value) * creal(truth.value) + cimag(truth.value) * cimag(truth.value);
    }
    if (kind == LW_POST_AMPLITUDE)
        truth.value = cabs(truth.value);
    const int64_t end = low.end > high.end ? low.end : high.end;
    for (int64_t k = low.begin < high.begin ? low.begin : high.begin; k < end; k++)
        truth.is_touched |= series[k].is_touched;
    return truth;
}

/* Part 0 (real) or 1 (imaginary) of a result sample. */
static double output_at(const struct trial_data *data, const struct trial_result *result, int64_t filter,
                        int64_t channel, int64_t output, int part)
{
    const struct trial *const t = &data->trial;
    const int64_t at = t->layout == LW_TIME_FAST ? (filter * t->n_channels + channel) * data->n_results + output
                                                 : (filter * data->n_results + output) * t->n_channels + channel;
    return lw_type_number(t->output, result->outputs, at * (t->output.is_complex ? 2 : 1) + part);
}

/* Error of a result beyond the rounding to its type and, for a power, beyond the rounding of squares. */
static double deviation(const struct trial *t, double got, double want)
{
    const enum lw_scalar scalar = t->output.scalar;
    if (lw_scalar_saturates(scalar)) {
        const double unit = t->output_scale > 0 ? t->output_scale : 1, wanted = want / unit;
        const double division = t->output_scale > 0 ? FLT_EPSILON * fabs(wanted) : 0;
        return unit * fmax(0, fabs(got - trial_clipped(scalar, wanted)) - trial_rounding(scalar, wanted) - division);
    }
    const double rounding = scalar == LW_FLOAT32 ? FLT_EPSILON / 2 * fabs(want) + FLT_TRUE_MIN : 0;
    const double squares = (t->precision == LW_SINGLE ? FLT_EPSILON : DBL_EPSILON) * (lw_post_has(t->post, LW_POST_REAL) ? 2 : 0);
    return fmax(0, fabs(got - want) - rounding - squares * fabs(want));
}

/* @param bound largest rms error of the series; an error e of the series changes a power by (slope + e) e */
static void compare(const struct trial_data *data, const struct trial_result *result, int64_t filter, int64_t channel,
                    int64_t output, const struct truth *expected, double bound, struct errors *errors)
{
    const enum lw_scalar scalar = data->trial.output.scalar;
    const struct truth truth = *expected;
    const double scale = data->trial.post.kind == LW_POST_POWER ? truth.slope + LARGEST_TO_RMS * bound : 1;
    const double want[2] = {creal(truth.value), cimag(truth.value)};
    for (int part = 0; part < (data->trial.output.is_complex ? 2 : 1); part++) {
        const double got = output_at(data, result, filter, channel, output, part);
        const bool is_blank = lw_scalar_is_integer(scalar) ? truth.is_touched && got == 0 : isnan(got);
        if (is_blank != truth.is_touched) {
            errors->n_wrong_nan++;
            errors->at = output;
        }
        if (truth.is_touched || isnan(got))
            continue;
        const double error = scale > 0 ? deviation(&data->trial, got, want[part]) / scale : 0;
        errors->sum += error * error;
        errors->n++;
        if (error > errors->largest) {
            errors->largest = error;
            errors->at = output;
        }
    }
}

/* Whether an output is checked: all if `step` is 1, else every step-th and those next to ends and segment seams. */
static bool is_checked(const struct trial_data *data, const struct lw_op_plan *plan, int64_t output, int64_t step)
{
    const int64_t in_unit = output % plan->unit;
    return output % step == 0 || output < 4 || output >= data->n_outputs - 4 ||
           (plan->unit > 64 && (in_unit < 2 || in_unit >= plan->unit - 2));
}

/* Compare all outputs of a filter and channel of a derived series. */
static void compare_made(const struct trial_data *data, const struct trial_result *result, int64_t filter,
                         int64_t channel, double bound, struct errors *errors)
{
    struct truth *const series = calloc((size_t)data->n_outputs, sizeof *series);
    if (!series)
        abort();
    for (int64_t i = 0; i < data->n_outputs; i++)
        series[i] = series_at(data, filter, channel, i);
    for (int64_t j = 0; j < data->n_results; j++) {
        const struct truth truth = made_at(data, series, j);
        compare(data, result, filter, channel, j, &truth, bound, errors);
    }
    free(series);
}

static void compare_series(const struct trial_data *data, const struct trial_result *result, int64_t filter,
                           int64_t channel, int64_t step, double bound, struct errors *errors)
{
    for (int64_t o = 0; o < data->n_outputs; o++)
        if (is_checked(data, &result->plan, o, step)) {
            const struct truth truth = series_at(data, filter, channel, o);
            compare(data, result, filter, channel, o, &truth, bound, errors);
        }
}

void trial_check(const struct trial_data *data, const struct trial_result *result, const char *what)
{
    const struct trial *const t = &data->trial;
    const double products = (double)(t->n_filters * t->n_channels * data->n_outputs) * (double)t->n_taps;
    const int64_t step = products > MOST_PRODUCTS ? (int64_t)(products / MOST_PRODUCTS) + 1 : 1;
    char text[256];
    for (int64_t f = 0; f < t->n_filters; f++) {
        struct errors errors = {0};
        const double bound = trial_bound(data, &result->plan, f);
        for (int64_t c = 0; c < t->n_channels; c++) {
            if (t->post.kind != LW_POST_NONE || lw_post_rate(t->post) > 1 || lw_post_every(t->post) > 1)
                compare_made(data, result, f, c, bound, &errors);
            else
                compare_series(data, result, f, c, step, bound, &errors);
        }
        const double rms = errors.n >= FEWEST_ERRORS ? sqrt(errors.sum / (double)errors.n) : 0;
        CHECK(errors.n_wrong_nan == 0, "%s: %s: %lld outputs are wrongly NaN or wrongly not, one is %lld", what,
              trial_text(t, text), (long long)errors.n_wrong_nan, (long long)errors.at);
        CHECK(rms <= bound, "%s: %s: rms error %g above %g (largest at %lld)", what, trial_text(t, text), rms, bound,
              (long long)errors.at);
        const double largest = trial_largest_to_rms(t, errors.n) * bound;
        CHECK(errors.largest <= largest, "%s: %s: error %g above %g at output %lld", what, trial_text(t, text),
              errors.largest, largest, (long long)errors.at);
    }
}
