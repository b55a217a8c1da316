/* truth.c - y and its products by the definition, and the allowed errors of stored values. */
#include "verify/state.h"

#include "base/integers.h"

#include <assert.h>
#include <float.h>

static const double *tap(const struct lw_verify_shape *shape, int64_t filter, int64_t m, int64_t n)
{
    return shape->taps + ((filter * shape->tap_rows + m) * shape->tap_columns + n) * shape->parts;
}

/* ---- one output of y ------------------------------------------------------------------------------------------------- */

/* Sums over the taps of an output, in long double, because a run in double precision guarantees 1e-16. */
struct sums {
    long double re, im;
    long double valid, all; /* sums of the taps at finite samples, and of all taps; --nan interpolate uses their ratio */
    bool is_touched;
};

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

/* Compute the sums for a series: it has one column, and every tap meets a sample. */
static struct sums sum_series(const struct lw_verify_shape *shape, const struct lw_verify_samples *samples, int64_t filter,
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
            const int64_t inside = lw_boundary_index(shape->boundary, column + shape->ahead_columns - n, shape->columns);
            const double complex x = inside < 0 ? shape->outside : samples->values[at + inside];
            add_product(shape, tap(shape, filter, m, n), x, inside >= 0 && samples->marks[at + inside] & LW_MARK_BAD, &sums);
        }
    }
    return sums;
}

/* Compute y of weighted pixels, A / sqrt(B). Its error follows from those of A and B. */
static struct lw_verify_truth weighted(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                       int64_t row, int64_t column, int64_t level)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    long double a = 0, b = 0;
    bool covers = false;
    for (int64_t m = 0; m < shape->tap_rows; m++) {
        const int64_t at = (row + shape->ahead_rows - m - samples->begin) * shape->columns;
        for (int64_t n = 0; n < shape->tap_columns; n++) {
            const int64_t inside = column + shape->ahead_columns - n;
            const long double h = *tap(shape, filter, m, n);
            if (inside < 0 || inside >= shape->columns || samples->weights[at + inside] == 0)
                continue;
            covers = true;
            a += samples->weights[at + inside] * creal(samples->values[at + inside]) * h;
            b += samples->weights[at + inside] * h * h;
        }
    }
    const double root = (double)sqrtl(b), y = (double)a / root;
    const double *const promises = shape->promises + 2 * filter;
    return (struct lw_verify_truth){
        .value = covers ? y : 0, .is_nan = !covers, .error = 1 / root,
        .allowed = promises[0] * samples->levels[level] / root +
                   fabs(y) * promises[1] * samples->weight_levels[level] / (2 * root * root),
    };
}

/* A channel of the input in an output of an array. */
struct term {
    struct lw_verify_samples samples;   /* those of this channel */
    int64_t taps, delay;                /* number of its row of taps; rows */
    double weight;                      /* 0: the channel is left out */
};

/* Return channel number `series` in an output of a channel (or beam) behind a filter. */
static struct term term_of(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter, int64_t channel,
                           int64_t series)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const struct lw_shifts *const sums = shape->sums;
    const int64_t from = series * (samples->end - samples->begin), sum = verify->job.op.ols.beams ? channel : filter;
    struct term term = {.samples = *samples, .taps = filter, .weight = 1};
    term.samples.values += from;
    term.samples.marks += from;
    term.samples.levels += series * samples->n_levels;
    if (shape->own > 1)
        term.taps = filter * shape->own + (sums ? series : channel);
    if (sums) {
        term.delay = sums->delays[sum * sums->n_inputs + series];
        term.weight = lw_shifts_weight(sums, sum, series);
    }
    return term;
}

/* Make the output of a channel the correlation coefficient of template and window. */
static void normalize(const struct lw_verify *verify, const struct term *term, int64_t row, struct lw_verify_truth *truth)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t n = shape->tap_rows, newest = row + shape->ahead_rows - term->samples.begin;
    const double *const h = tap(shape, term->taps, 0, 0);
    const double complex *const x = term->samples.values + newest;
    const bool is_single = verify->job.op.precision == LW_SINGLE;
    long double of_x = 0, of_h = 0, energy_x = 0, energy_h = 0, product = 0;
    for (int64_t m = 0; m < n && verify->job.op.ols.normalize == LW_NORMALIZE_DEMEANED; m++) {
        of_x += creal(x[-m]) / (long double)n;
        of_h += h[m] / (long double)n;
    }
    for (int64_t m = 0; m < n; m++) {
        const long double its_x = creal(x[-m]) - of_x, its_h = h[m] - of_h;
        product += its_x * its_h;
        energy_x += its_x * its_x;
        energy_h += its_h * its_h;
    }
    const double norm = (double)sqrtl(energy_x * energy_h), level = term->samples.levels[0];
    truth->value = norm > 0 ? (double)product / norm : 0;
    truth->allowed = (is_single ? 1e-6 : 1e-13) + (norm > 0 ? truth->allowed / norm : 0);
    /* Windows of little energy count as 0; the median of all windows, which tells how little, is not known here. */
    if ((double)energy_x <= 1e-8 * level * level * (double)n)
        truth->allowed += cabs(truth->value);
}

/* Return the error of a sum over channels, with the levels of all. */
static double error_of_sum(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter, int64_t channel)
{
    double error = 0;
    for (int64_t series = 0; series < verify->shape.n_series; series++) {
        const struct term term = term_of(verify, samples, filter, channel, series);
        error += fabs(term.weight) * verify->shape.promises[2 * term.taps] * term.samples.levels[0];
    }
    return error;
}

/* Compute an output of an array: of a channel, or of a sum over channels. */
static struct lw_verify_truth array_series(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                           int64_t row)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    struct lw_verify_truth all = {0};
    for (int64_t series = 0; series < shape->n_series; series++) {
        const struct term term = term_of(verify, samples, filter, samples->channel, series);
        if (term.weight == 0)
            continue;
        const struct sums sums = sum_series(shape, &term.samples, term.taps, row + term.delay);
        struct lw_verify_truth y = {.value = CMPLX((double)sums.re, (double)sums.im),
                                    .allowed = shape->promises[2 * term.taps] * term.samples.levels[0]};
        if (verify->job.op.ols.normalize != LW_NORMALIZE_NONE)
            normalize(verify, &term, row + term.delay, &y);
        all.is_nan |= sums.is_touched && verify->job.op.nan != LW_NAN_ZERO;
        all.value += term.weight * y.value;
        all.allowed += fabs(term.weight) * y.allowed;
    }
    const int64_t other = samples->channel ^ 1;         /* adjacent beams may be transformed as one complex series */
    if (verify->job.op.ols.beams && other < shape->n_channels)
        all.allowed = fmax(all.allowed, error_of_sum(verify, samples, filter, other));
    return all;
}

struct lw_verify_truth lw_verify_series(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                        int64_t row, int64_t column)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    if (lw_op_is_array(&verify->job.op))
        return array_series(verify, samples, filter, row);
    const enum lw_nan nan = verify->job.op.nan;
    const int64_t level =
        lw_max64(0, lw_min64((column + shape->ahead_columns) / samples->level_columns, samples->n_levels - 1));
    if (shape->is_weighted)
        return weighted(verify, samples, filter, row, column, level);
    struct sums sums = shape->is_image ? sum_taps(shape, samples, filter, row, column) : sum_series(shape, samples, filter, row);
    struct lw_verify_truth truth = {
        .is_nan = sums.is_touched && nan != LW_NAN_ZERO,
        .allowed = shape->promises[2 * filter] * samples->levels[level],
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

/* ---- products made of y ---------------------------------------------------------------------------------------------- */

/* Find the outputs [*first, *end) of y from which element j is interpolated; with thinning, the one that is kept as element j. */
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

/* Find the two elements whose difference makes element j of a derivative, as in numpy.gradient; else both are j. */
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
    if (lw_post_has(shape->post, LW_POST_DIFFERS)) { /* near an end the other side's stencil may reach farther */
        int64_t other;
        stencil(shape, before, &unused, &other);
        *end = lw_max64(*end, other);
        stencil(shape, after, &other, &unused);
        *first = lw_min64(*first, other);
    }
}

/* Interpolate element j by Lagrange's polynomial through its stencil; without interpolation take the output of y. */
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
    truth.allowed *= 2; /* the weights' magnitudes sum up to at most 1.7; the rest is for their rounding */
    truth.value = CMPLX((double)re, (double)im);
    return truth;
}

/* Return whether outputs [first, end) of a series include a NaN, because a non-finite sample meets one of their taps. */
static bool is_touched(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter, int64_t first,
                       int64_t end)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    for (int64_t series = 0; series < shape->n_series; series++) {
        const struct term term = term_of(verify, samples, filter, samples->channel, series);
        const int64_t ahead = shape->ahead_rows + term.delay - samples->begin;
        for (int64_t i = first + ahead - (shape->tap_rows - 1); i < end + ahead && term.weight != 0; i++)
            if (term.samples.marks[i] & LW_MARK_BAD)
                return verify->job.op.nan != LW_NAN_ZERO;
    }
    return false;
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
    truth.is_nan = is_touched(verify, samples, filter, first, end);
    const struct lw_post post = shape->post;
    double y[2] = {creal(truth.value), cimag(truth.value)};
    if (lw_post_has(post, LW_POST_REAL) && lw_op_is_complex(&verify->job.op))
        truth.allowed *= 1.5;           /* the errors of real and imaginary part add up */
    lw_post_operations[post.kind].define(y, &truth.allowed);
    truth.value = CMPLX(y[0], y[1]);
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

/* Compare the energies of an output's taps: of all, and of those that meet marked samples. Channels of a sum that are masked as a
 * whole are left out. */
static bool is_excluded_series(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter, int64_t row)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const bool masks = verify->mask && !(shape->sums && lw_mask_is_by_channel(verify->mask));
    const int marks = (masks ? LW_MARK_MASKED : 0) | (verify->job.op.nan == LW_NAN_ZERO ? LW_MARK_BAD : 0);
    const double most = verify->job.search.masked_fraction;
    double all = 0, met = 0;
    bool is_met = false;
    for (int64_t series = 0; series < shape->n_series; series++) {
        const struct term term = term_of(verify, samples, filter, samples->channel, series);
        const int64_t newest = row + term.delay + shape->ahead_rows - term.samples.begin;
        for (int64_t m = 0; m < shape->tap_rows && term.weight != 0; m++) {
            const double *const h = tap(shape, term.taps, m, 0);
            const double energy = term.weight * term.weight * (h[0] * h[0] + (shape->parts == 2 ? h[1] * h[1] : 0));
            const bool meets = term.samples.marks[newest - m] & marks;
            all += energy;
            met += meets ? energy : 0;
            is_met |= meets;
        }
    }
    return most > 0 ? met > most * all : is_met;
}

bool lw_verify_is_excluded(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter, int64_t row,
                           int64_t column)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    if (!shape->is_image)
        return is_excluded_series(verify, samples, filter, row);
    const int marks = LW_MARK_MASKED | (verify->job.op.nan == LW_NAN_ZERO ? LW_MARK_BAD : 0);
    for (int64_t m = 0; m < shape->tap_rows; m++)
        for (int64_t n = 0; n < shape->tap_columns; n++) {
            const int64_t inside = lw_boundary_index(shape->boundary, column + shape->ahead_columns - n, shape->columns);
            const int64_t at = (row + shape->ahead_rows - m - samples->begin) * shape->columns + inside;
            if (inside >= 0 && samples->marks[at] & marks)
                return true;
        }
    return false;
}

/* ---- parts of stored values ------------------------------------------------------------------------------------------ */

/* Return the most by which rounding to a type changes a value of this size. */
static double rounding_of(enum lw_scalar scalar, double size)
{
    if (lw_scalar_is_integer(scalar))
        return 0.5;
    if (scalar == LW_FLOAT16)
        return fmax(size * 0x1p-11, 0x1p-25);
    return scalar == LW_FLOAT32 ? fmax(size * (FLT_EPSILON / 2), FLT_MIN) : fmax(size * (DBL_EPSILON / 2), DBL_MIN);
}

static double fail_nan(bool is_nan) { return is_nan ? NAN : 0; }

/* Return the part of a real or imaginary component. Integers and float16 saturate. */
static double part_of(const struct lw_verify *verify, struct lw_type type, double scale, double got, double wanted, double allowed)
{
    const bool saturates = lw_scalar_saturates(type.scalar), is_single = verify->job.op.precision == LW_SINGLE;
    const double unit = saturates && scale > 0 ? scale : 1, epsilon = is_single ? FLT_EPSILON : DBL_EPSILON;
    const double squares = lw_post_has(verify->shape.post, LW_POST_REAL) ? 2 * epsilon : 0, division = unit != 1 ? epsilon : 0;
    double want = wanted / unit;
    if (isnan(got) || isnan(want)) /* NaN on one side only is wrong; fmax would ignore it */
        return NAN;
    if (saturates) {
        const bool is_integer = lw_scalar_is_integer(type.scalar), is_signed = lw_scalar_is_signed(type.scalar);
        const double n_values = ldexp(1, 8 * (int)lw_scalar_bytes(type.scalar));
        const double least = !is_integer ? -65504 : is_signed ? -n_values / 2 : 0;
        want = fmin(fmax(want, least), is_integer ? least + n_values - 1 : 65504);
    }
    const double slack = rounding_of(type.scalar, fabs(want)) + (squares + division) * fabs(want);
    if (isinf(got)) /* an infinity stands for a value near the largest float32 or beyond */
        return fail_nan(!(fabs(want) > FLT_MAX * 0.99));
    const double error = fmax(0, fabs(got - want) - slack);
    return error > 0 ? error * unit / allowed : 0;
}

double lw_verify_part(const struct lw_verify *verify, struct lw_type type, double scale, double complex got,
                      const struct lw_verify_truth *truth)
{
    const bool is_integer = lw_scalar_is_integer(type.scalar);
    if (truth->is_nan && is_integer)
        return fail_nan(got != 0);
    if (truth->is_nan)
        return fail_nan(!isnan(creal(got)) || (type.is_complex && !isnan(cimag(got))));
    const double re = part_of(verify, type, scale, creal(got), creal(truth->value), truth->allowed);
    const double im = type.is_complex ? part_of(verify, type, scale, cimag(got), cimag(truth->value), truth->allowed) : 0;
    return lw_verify_larger(re, im);
}

void lw_verify_compare(const struct lw_verify *verify, struct lw_type type, double scale, double complex got,
                       const struct lw_verify_truth *truth, const char *where, struct lw_verify_row *row)
{
    const double unit = lw_scalar_saturates(type.scalar) && scale > 0 ? scale : 1;
    char got_text[64], want_text[64];
    lw_verify_number(got, type.is_complex, got_text);
    lw_verify_number(truth->value / unit, type.is_complex, want_text);
    lw_verify_count(row, lw_verify_part(verify, type, scale, got, truth), "%s: %s instead of %s", where, got_text,
                    truth->is_nan ? "not a number" : want_text);
}
