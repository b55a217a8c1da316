#include "verify/state.h"

#include "base/integers.h"

#include <assert.h>
#include <math.h>

static const double *tap(const struct lw_verify_shape *shape, int filter, int64_t m, int64_t n)
{
    return shape->taps + ((filter * shape->tap_rows + m) * shape->tap_columns + n) * shape->parts;
}

/* ---- one output of the series ------------------------------------------------------------------------------------ */

/* Sums over the taps of an output: in long double, since those of a run in double precision promise no more than 1e-16. */
struct sums {
    long double re, im;
    long double valid, all; /* of the taps, whose weights NaN-aware convolution divides by */
    bool is_touched;
};

/* The place of the input in a row of `samples` that column `column` of the continued row is; -1: outside. */
static int64_t column_of(const struct lw_verify_shape *shape, int64_t column)
{
    if (column >= 0 && column < shape->columns)
        return column;
    return lw_boundary_index(shape->boundary, column, shape->columns);
}

static void add_product(const struct lw_verify_shape *shape, const double *h, double complex x, bool is_bad, struct sums *sums)
{
    const long double h_re = h[0], h_im = shape->parts == 2 ? h[1] : 0;
    sums->all += h_re;
    sums->is_touched |= is_bad;
    if (is_bad)
        return;
    sums->valid += h_re;
    sums->re += creal(x) * h_re - cimag(x) * h_im;
    sums->im += creal(x) * h_im + cimag(x) * h_re;
}

/* Every tap of a series meets a sample: there are no columns. */
static struct sums sum_series(const struct lw_verify_shape *shape, const struct lw_verify_samples *samples, int filter,
                              int64_t row)
{
    const int64_t newest = row + shape->ahead_rows - samples->begin, n = shape->tap_rows;
    const double *const h = tap(shape, filter, 0, 0);
    struct sums sums = {.valid = 1, .all = 1};
    assert(newest - n + 1 >= 0 && newest < samples->end - samples->begin);
    for (int64_t m = 0; m < n; m++)
        sums.is_touched |= samples->marks[newest - m] & LW_MARK_BAD;
    for (int64_t m = 0; m < n && shape->parts == 1; m++) {
        sums.re += creal(samples->values[newest - m]) * (long double)h[m];
        sums.im += cimag(samples->values[newest - m]) * (long double)h[m];
    }
    for (int64_t m = 0; m < n && shape->parts == 2; m++)
        add_product(shape, h + 2 * m, samples->values[newest - m], false, &sums);
    return sums;
}

static struct sums sum_taps(const struct lw_verify_shape *shape, const struct lw_verify_samples *samples, int filter, int64_t row,
                            int64_t column)
{
    struct sums sums = {0};
    for (int64_t m = 0; m < shape->tap_rows; m++) {
        const int64_t at = (row + shape->ahead_rows - m - samples->begin) * shape->columns;
        for (int64_t n = 0; n < shape->tap_columns; n++) {
            const int64_t inside = column_of(shape, column + shape->ahead_columns - n);
            const double complex x = inside < 0 ? shape->outside : samples->values[at + inside];
            add_product(shape, tap(shape, filter, m, n), x, inside >= 0 && samples->marks[at + inside] & LW_MARK_BAD, &sums);
        }
    }
    return sums;
}

static double level_of(const struct lw_verify_samples *samples, int64_t column)
{
    return samples->levels[lw_max64(0, lw_min64(column / samples->level_columns, samples->n_levels - 1))];
}

struct lw_verify_truth lw_verify_series(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                        int64_t row, int64_t column)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const enum lw_nan nan = verify->job.op.nan;
    struct sums sums = shape->is_image ? sum_taps(shape, samples, filter, row, column) : sum_series(shape, samples, filter, row);
    struct lw_verify_truth truth = {
        .is_nan = sums.is_touched && nan != LW_NAN_ZERO,
        .allowed = shape->promises[filter] * level_of(samples, column + shape->ahead_columns),
    };
    if (nan == LW_NAN_INTERPOLATE && sums.is_touched) {
        const long double weight = sums.all / sums.valid;
        truth.is_nan = !(sums.valid / sums.all >= 1e-6L);
        truth.allowed *= fmax(1, (double)fabsl(weight));
        sums.re *= weight;
        sums.im *= weight;
    }
    truth.value = CMPLX((double)sums.re, (double)sums.im);
    return truth;
}

/* ---- what is made of it ------------------------------------------------------------------------------------------ */

/* The samples of y that element j is interpolated from, or that one of every D. */
static void stencil(const struct lw_verify_shape *shape, int64_t j, int64_t *first, int64_t *end)
{
    const int64_t rate = lw_post_rate(shape->post), n = shape->n_outputs;
    const int64_t i = rate > 1 ? j / rate : j * lw_post_every(shape->post);
    *first = i;
    *end = i + 1;
    if (rate == 1 || j % rate == 0)
        return;
    *first = n <= 4 ? 0 : i == 0 ? 0 : lw_min64(i - 1, n - 4);
    *end = lw_min64(n, *first + 4);
}

static int64_t elements(const struct lw_verify_shape *shape) { return lw_post_length(shape->post, shape->n_outputs); }

/* The two elements whose difference a derivative is: numpy.gradient. */
static void find_sides(const struct lw_verify_shape *shape, int64_t j, int64_t *before, int64_t *after)
{
    const bool differs = lw_post_has(shape->post, LW_POST_DIFFERS);
    *before = differs ? lw_max64(0, j - 1) : j;
    *after = differs ? lw_min64(elements(shape) - 1, j + 1) : j;
}

void lw_verify_made_of(const struct lw_verify_shape *shape, int64_t row, int64_t *first, int64_t *end)
{
    int64_t before, after, unused;
    find_sides(shape, row, &before, &after);
    stencil(shape, before, first, &unused);
    stencil(shape, after, &unused, end);
    if (lw_post_has(shape->post, LW_POST_DIFFERS)) { /* next to an end the other side's stencil may reach farther */
        int64_t other;
        stencil(shape, before, &unused, &other);
        *end = lw_max64(*end, other);
        stencil(shape, after, &other, &unused);
        *first = lw_min64(*first, other);
    }
}

/* Lagrange's polynomial through the stencil of element j. */
static struct lw_verify_truth element(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                      int64_t j, int64_t column)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    int64_t first, end;
    stencil(shape, j, &first, &end);
    if (end == first + 1)
        return lw_verify_series(verify, samples, filter, first, column);
    const long double x = (long double)j / lw_post_rate(shape->post);
    struct lw_verify_truth truth = {0};
    long double re = 0, im = 0;
    for (int64_t k = first; k < end; k++) {
        const struct lw_verify_truth y = lw_verify_series(verify, samples, filter, k, column);
        long double weight = 1;
        for (int64_t other = first; other < end; other++)
            weight *= other == k ? 1 : (x - (long double)other) / (long double)(k - other);
        re += weight * creal(y.value);
        im += weight * cimag(y.value);
        truth.allowed = fmax(truth.allowed, y.allowed);
    }
    truth.allowed *= 2; /* weights sum up to at most 1.7 in magnitude, and are rounded themselves */
    truth.value = CMPLX((double)re, (double)im);
    return truth;
}

/* Whether a sample that is not finite meets a tap of one of the outputs [first, end) of a series. */
static bool is_touched(const struct lw_verify *verify, const struct lw_verify_samples *samples, int64_t first, int64_t end)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t begin = first + shape->ahead_rows - (shape->tap_rows - 1) - samples->begin;
    for (int64_t i = begin; i < end + shape->ahead_rows - samples->begin; i++)
        if (samples->marks[i] & LW_MARK_BAD)
            return verify->job.op.nan != LW_NAN_ZERO;
    return false;
}

static void make(const struct lw_verify *verify, struct lw_verify_truth *truth)
{
    const struct lw_post post = verify->shape.post;
    double y[2] = {creal(truth->value), cimag(truth->value)};
    if (lw_post_has(post, LW_POST_REAL) && lw_op_is_complex(&verify->job.op))
        truth->allowed *= 1.5;          /* the errors of both parts */
    lw_post_operations[post.kind].define(y, &truth->allowed);
    truth->value = CMPLX(y[0], y[1]);
}

struct lw_verify_truth lw_verify_made(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                      int64_t row, int64_t column)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    int64_t before, after, first, end;
    if (shape->is_image)
        return lw_verify_series(verify, samples, filter, row * lw_post_every(shape->post), column * lw_post_every(shape->post));
    find_sides(shape, row, &before, &after);
    lw_verify_made_of(shape, row, &first, &end);
    struct lw_verify_truth truth = element(verify, samples, filter, after, column);
    if (after > before) {
        const struct lw_verify_truth low = element(verify, samples, filter, before, column);
        truth.value = (truth.value - low.value) / (double)(after - before);
        truth.allowed = (truth.allowed + low.allowed) / (double)(after - before);
    }
    truth.is_nan = is_touched(verify, samples, first, end);
    make(verify, &truth);
    return truth;
}

/* ---- searches ---------------------------------------------------------------------------------------------------- */

double lw_verify_sigma(const struct lw_verify *verify, int64_t channel, int filter, int64_t row)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const double *const noise = shape->search->noise;
    const int64_t stretch = lw_search_stretch(shape->search, row);
    return noise ? noise[(stretch * shape->n_channels + channel) * shape->n_filters + filter] : 1;
}

static bool counts(const struct lw_verify *verify, unsigned char marks)
{
    return !(marks & LW_MARK_MASKED) && !(marks & LW_MARK_BAD && verify->job.op.nan == LW_NAN_ZERO);
}

bool lw_verify_is_excluded(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter, int64_t row,
                           int64_t column)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    double met = 0, all = 0;
    bool is_met = false;
    for (int64_t m = 0; m < shape->tap_rows; m++)
        for (int64_t n = 0; n < shape->tap_columns; n++) {
            const int64_t inside = column_of(shape, column + shape->ahead_columns - n);
            const int64_t at = (row + shape->ahead_rows - m - samples->begin) * shape->columns + inside;
            const double *const h = tap(shape, filter, m, n);
            const double energy = h[0] * h[0] + (shape->parts == 2 ? h[1] * h[1] : 0);
            const bool meets = inside >= 0 && !counts(verify, samples->marks[at]);
            all += energy;
            met += meets ? energy : 0;
            is_met |= meets;
        }
    const double most = shape->is_image ? 0 : verify->job.search.masked_fraction;
    return most > 0 ? met > most * all : is_met;
}
