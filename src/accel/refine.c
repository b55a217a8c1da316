/* refine.c - exact powers, by an integral over the time of the observation.
 *
 * With x(u) = sum_m X[k + m] exp(2 pi i m u), the part of the series that the bins around k make, the definition of P is |B|^2,
 *
 *     B = integral over u from 0 to 1 of x(u) exp(-2 pi i ((r - k) u + z (u^2 - u) / 2 + w (u^3 / 6 - u^2 / 4 + u / 12)))
 *
 * A search for the maximum stays within a few periods of the phase at its start (r, z, w). So each harmonic is demodulated with the
 * start once, and multiplied by L Chebyshev polynomials: y[l] = integral of x(u) exp(-2 pi i ..) T_l(2 u - 1). They give the
 * integral of the demodulated series times any function g of few periods, which its values at L nodes determine: sum_i g(u[i]) Y[i]
 * with u[i] = (1 + cos(a[i])) / 2, a[i] = pi (i + 1/2) / L, Y[i] = (y[0] + 2 sum_l cos(l a[i]) y[l]) / L. (T. J. Rivlin: The
 * Chebyshev Polynomials, 1974, section 1.3.) Value, gradient and Hessian elsewhere are sums over nodes.
 *
 * Bins far away count through the ends of the series: their conj(A(q)) is i / (2 pi) (exp(-2 pi i q) / (q + f1) - 1 / (q + f0)),
 * where f0 and f1 are the drift's frequencies at the ends (integration by parts). That makes two more nodes, u = 0 and u = 1. */
#include "accel/refine.h"

#include "accel/normalize.h"
#include "base/integers.h"
#include "base/memory.h"
#include "design/drift.h"
#include "design/quadrature.h"
#include "design/transform.h"
#include "signal/significance.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>

enum {
    POLYNOMIALS = 20,               /* exact to 1e-9 within two steps of the grid, which are 2.3 periods of the phase */
    NODES = POLYNOMIALS + 2,
    LEAST_BINS = 256,               /* bins that are transformed around a harmonic, at least */
    FAR_BINS = 16384,               /* bins on either side that count */
    VALUES_OF_BIN = 8,              /* values of x for each of the transformed bins */
    LANES = 8, WAVE_STEPS = 64,
    MOST_HARMONICS = 1 << (LW_ACCEL_MOST_STAGES - 1),
    MOST_STEPS = 60,
};

/* A spectrum, a point in it, and the bin next to it. */
struct point {
    const float *spectrum;
    int64_t n_bins, bin;
    double r, z, w;
};

static struct point point_at(const float *spectrum, int64_t n_bins, double r, double z, double w)
{
    return (struct point){.spectrum = spectrum, .n_bins = n_bins, .bin = (int64_t)floor(r + 0.5), .r = r, .z = z, .w = w};
}

/* Make x(u) at u = i / n, i = 0 .. n, of bins [first, end), times n and the weights of an integral. @param x  [n + LANES] */
static void make_series(const struct point *p, const struct lw_transform *transform, int64_t first, int64_t end, int64_t n,
                        double complex *x)
{
    double ends[LW_QUADRATURE_ENDS];
    lw_quadrature_ends(ends);
    for (int64_t i = 0; i < n + LANES; i++)
        x[i] = 0;
    for (int64_t k = lw_max64(first, 1); k < lw_min64(end, p->n_bins); k++)
        x[lw_mod(k - p->bin, n)] = p->spectrum[2 * k] + I * p->spectrum[2 * k + 1];
    lw_transform_run(transform, (double *)x);
    x[n] = x[0];
    for (int i = 0; i < LW_QUADRATURE_ENDS; i++) {
        x[i] *= ends[i];
        x[n - i] *= ends[i];
    }
}

/* exp(-2 pi i phase) at LANES times, and the factors that lead to the next ones: those of the first and second differences of the
 * phase. The third difference is the same at all times. */
struct wave {
    double re[3][LANES], im[3][LANES];
};

static void start_wave(const struct point *p, int64_t first, int64_t n, struct wave *wave)
{
    const double h = (double)LANES / (double)n, w = p->w;
    for (int lane = 0; lane < LANES; lane++) {
        const double u = (double)(first + lane) / (double)n, q = p->r - (double)p->bin;
        const double slope = q + p->z * (u - 0.5) + w * (u * (u - 1) / 2 + 1. / 12), curvature = p->z + w * (u - 0.5);
        const double differences[3] = {
            q * u + u * (u - 1) * (p->z / 2 + w * (2 * u - 1) / 12),    /* the phase itself, in periods */
            h * (slope + h * (curvature / 2 + h * w / 6)), h * h * (curvature + h * w),
        };
        for (int order = 0; order < 3; order++) {
            wave->re[order][lane] = cos(2 * M_PI * differences[order]);
            wave->im[order][lane] = -sin(2 * M_PI * differences[order]);
        }
    }
}

static void turn(double *re, double *im, double by_re, double by_im)
{
    const double was = *re;
    *re = was * by_re - *im * by_im;
    *im = was * by_im + *im * by_re;
}

static void advance_wave(struct wave *wave, double complex third)
{
    for (int lane = 0; lane < LANES; lane++) {
        turn(&wave->re[0][lane], &wave->im[0][lane], wave->re[1][lane], wave->im[1][lane]);
        turn(&wave->re[1][lane], &wave->im[1][lane], wave->re[2][lane], wave->im[2][lane]);
        turn(&wave->re[2][lane], &wave->im[2][lane], creal(third), cimag(third));
    }
}

/* Compute y[l], l = 0 .. n_y - 1, by T_l(t) = 2 t T_{l-1} - T_{l-2}. Rounding of the wave's factors grows with the steps: after
 * WAVE_STEPS the wave starts anew. Its error stays below 1e-11. */
static void project(const struct point *p, const double complex *x, int64_t n, int n_y, double complex *y)
{
    const double complex third = cexp(-2 * M_PI * I * p->w * pow((double)LANES / (double)n, 3));
    double re[POLYNOMIALS][LANES] = {{0}}, im[POLYNOMIALS][LANES] = {{0}};
    struct wave wave;
    for (int64_t first = 0; first <= n; first += LANES) {
        double t[LANES], x_re[LANES], x_im[LANES], before[LANES], now[LANES];
        if (first % (WAVE_STEPS * LANES) == 0)
            start_wave(p, first, n, &wave);
        for (int lane = 0; lane < LANES; lane++) {
            x_re[lane] = creal(x[first + lane]);
            x_im[lane] = cimag(x[first + lane]);
            turn(&x_re[lane], &x_im[lane], wave.re[0][lane], wave.im[0][lane]);
            before[lane] = t[lane] = 2 * (double)(first + lane) / (double)n - 1;
            now[lane] = 1;
        }
        for (int l = 0; l < n_y; l++)
            for (int lane = 0; lane < LANES; lane++) {
                re[l][lane] += x_re[lane] * now[lane];
                im[l][lane] += x_im[lane] * now[lane];
                const double next = 2 * t[lane] * now[lane] - before[lane];
                before[lane] = now[lane];
                now[lane] = next;
            }
        advance_wave(&wave, third);
    }
    for (int l = 0; l < n_y; l++) {
        y[l] = 0;
        for (int lane = 0; lane < LANES; lane++)
            y[l] += (re[l][lane] + I * im[l][lane]) / (double)n;
    }
}

int lw_accel_power(const float *spectrum, int64_t n_bins, int half_width, double r, double z, double w, double *power,
                   struct lw_error *err)
{
    const struct point p = point_at(spectrum, n_bins, r, z, w);
    const int64_t n = 4 * VALUES_OF_BIN * lw_power_of_two(half_width + (int64_t)lw_drift_excursion(z, w) + 16);
    LW_FREED double complex *const x = lw_alloc_array(n + LANES, sizeof *x, "a signal's power", err);
    struct lw_transform *transform = NULL;
    const int rc = x ? lw_transform_create(LW_TRANSFORM_BACKWARD, n, &transform, err) : LW_ESYSTEM;
    if (rc == LW_OK) {
        double complex amplitude;
        make_series(&p, transform, (int64_t)ceil(r - half_width), (int64_t)floor(r + half_width) + 1, n, x);
        project(&p, x, n, 1, &amplitude);
        *power = creal(amplitude) * creal(amplitude) + cimag(amplitude) * cimag(amplitude);
    }
    lw_transform_destroy(transform);
    return rc;
}

/* The amplitudes of all harmonics near a point, as sums over nodes. */
struct harmonics {
    int n, n_free;                              /* harmonics; parameters that are searched, and which */
    int free[3];
    double step[3];                             /* units of the parameters: steps of the grid */
    double rates[3][NODES];                     /* change of the phase of the fundamental, in radians, with each parameter */
    double complex values[MOST_HARMONICS][NODES];
};

static double node_angle(int i) { return M_PI * (i + 0.5) / POLYNOMIALS; }

/* Add bins [first, end) to the nodes at the ends. One division serves both. */
static void add_far(const struct point *p, int64_t first, int64_t end, double complex *nodes)
{
    const double q = p->r - (double)p->bin, f0 = q + p->w / 12 - p->z / 2, f1 = q + p->w / 12 + p->z / 2;
    const int64_t begin = lw_max64(first, 1);
    const int n = (int)(lw_min64(end, p->n_bins) - begin);
    const float *const bins = p->spectrum + 2 * begin;
    const double to_first = (double)(p->bin - begin);
    double re_0 = 0, im_0 = 0, re_1 = 0, im_1 = 0;
#pragma omp simd reduction(+ : re_0, im_0, re_1, im_1)
    for (int k = 0; k < n; k++) {
        const double re = bins[2 * k], im = bins[2 * k + 1], distance = to_first - k;
        const double inverse = 1 / ((distance + f0) * (distance + f1));
        const double of_0 = (distance + f1) * inverse, of_1 = (distance + f0) * inverse;
        re_0 += re * of_0;
        im_0 += im * of_0;
        re_1 += re * of_1;
        im_1 += im * of_1;
    }
    nodes[0] -= I / (2 * M_PI) * (re_0 + I * im_0);
    nodes[1] += I / (2 * M_PI) * cexp(-2 * M_PI * I * q) * (re_1 + I * im_1);
}

/* Return the bins that are transformed around a harmonic. */
static int64_t bins_around(double z, double w)
{
    return lw_max64(lw_power_of_two(4 * ((int64_t)(1.1 * lw_drift_excursion(z, w)) + 16)), LEAST_BINS);
}

/* Return the index of the transform for so many bins. */
static int transform_of(int64_t bins)
{
    int i = 0;
    while (LEAST_BINS << i < bins)
        i++;
    return i;
}

int lw_accel_refiner_create(const struct lw_accel_plan *plan, struct lw_accel_refiner *refiner, struct lw_error *err)
{
    const int most = transform_of(bins_around(lw_accel_z(plan, plan->n_z - 1), lw_accel_w(plan, plan->n_w - 1)));
    int rc = LW_OK;
    *refiner = (struct lw_accel_refiner){.plan = plan};
    for (int i = 0; i <= most && rc == LW_OK; i++)
        rc = lw_transform_create(LW_TRANSFORM_BACKWARD, VALUES_OF_BIN * (int64_t)LEAST_BINS << i, &refiner->transforms[i], err);
    return rc;
}

void lw_accel_refiner_destroy(struct lw_accel_refiner *refiner)
{
    for (int i = 0; i < LW_ACCEL_REFINER_TRANSFORMS; i++)
        lw_transform_destroy(refiner->transforms[i]);
}

static int add_harmonic(const struct lw_accel_refiner *refiner, const struct point *p, double complex *values, struct lw_error *err)
{
    const int64_t bins = bins_around(p->z, p->w), first = p->bin - bins / 2, n = VALUES_OF_BIN * bins;
    LW_FREED double complex *const x = lw_alloc_array(n + LANES, sizeof *x, "a harmonic", err);
    if (!x)
        return LW_ESYSTEM;
    make_series(p, refiner->transforms[transform_of(bins)], first, first + bins, n, x);

    double complex y[POLYNOMIALS];
    project(p, x, n, POLYNOMIALS, y);
    for (int i = 0; i < POLYNOMIALS; i++)
        for (int l = 0; l < POLYNOMIALS; l++)
            values[i] += (l == 0 ? 1 : 2 * cos(l * node_angle(i))) / POLYNOMIALS * y[l];
    add_far(p, first - FAR_BINS, first, values + POLYNOMIALS);
    add_far(p, first + bins, first + bins + FAR_BINS, values + POLYNOMIALS);
    return LW_OK;
}

static int make_harmonics(const struct lw_accel_refiner *refiner, const float *spectrum, int n, const double *start,
                          struct harmonics *h, struct lw_error *err)
{
    const struct lw_accel_plan *const plan = refiner->plan;
    *h = (struct harmonics){.n = n, .step = {1. / (LW_ACCEL_STEPS * n), (double)LW_ACCEL_Z_STEP / n, (double)LW_ACCEL_W_STEP / n}};
    const bool is_free[3] = {true, plan->n_z > 1, plan->n_w > 1};
    for (int j = 0; j < 3; j++)
        if (is_free[j])
            h->free[h->n_free++] = j;
    for (int i = 0; i < NODES; i++) {
        const double u = i < POLYNOMIALS ? (1 + cos(node_angle(i))) / 2 : i - POLYNOMIALS;
        const double rates[3] = {u - 0.5, u * (u - 1) / 2, u * (u - 1) * (2 * u - 1) / 12};
        for (int j = 0; j < h->n_free; j++)
            h->rates[j][i] = -2 * M_PI * rates[h->free[j]] * h->step[h->free[j]];
    }
    int worst = LW_OK;
#pragma omp taskloop grainsize(1) shared(worst)
    for (int k = 1; k <= n; k++) {
        const struct point p = point_at(spectrum, plan->n_bins, k * start[0], k * start[1], k * start[2]);
        struct lw_error its;
        const int rc = add_harmonic(refiner, &p, h->values[k - 1], &its);
        if (rc) {
#pragma omp critical(lw_accel_refine)
            {
                worst = rc;
                *err = its;
            }
        }
    }
    return worst;
}

/* The sum of the powers of all harmonics at a point, with its gradient and Hessian. */
struct value {
    double sum, gradient[3], hessian[3][3];
};

static void add_value(const struct harmonics *h, int k, const double *at, struct value *value)
{
    double complex B = 0, first[3] = {0}, second[3][3] = {{0}};
    for (int i = 0; i < NODES; i++) {
        double phase = 0;
        for (int j = 0; j < h->n_free; j++)
            phase += k * h->rates[j][i] * at[j];
        const double complex term = h->values[k - 1][i] * (cos(phase) + I * sin(phase));
        B += term;
        for (int j = 0; j < h->n_free; j++) {
            const double complex slope = I * (k * h->rates[j][i]) * term;
            first[j] += slope;
            for (int m = 0; m <= j; m++)
                second[j][m] += I * (k * h->rates[m][i]) * slope;
        }
    }
    value->sum += creal(B * conj(B));
    for (int j = 0; j < h->n_free; j++) {
        value->gradient[j] += 2 * creal(conj(B) * first[j]);
        for (int m = 0; m <= j; m++)
            value->hessian[j][m] += 2 * creal(conj(first[j]) * first[m] + conj(B) * second[j][m]);
    }
}

static struct value value_at(const struct harmonics *h, const double *at)
{
    struct value value = {0};
    for (int k = 1; k <= h->n; k++)
        add_value(h, k, at, &value);
    return value;
}

/* Solve (lift - Hessian) x = right by Cholesky's factors. Return false if the matrix is not positive definite. */
static bool solve(const struct value *value, int n, double lift, const double *right, double *x)
{
    double L[3][3];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double rest = (i == j ? lift : 0) - value->hessian[i][j];
            for (int m = 0; m < j; m++)
                rest -= L[i][m] * L[j][m];
            if (i == j && !(rest > 1e-9 * (lift - value->hessian[i][i])))
                return false;
            L[i][j] = i == j ? sqrt(rest) : rest / L[j][j];
        }
        x[i] = right[i];
        for (int m = 0; m < i; m++)
            x[i] -= L[i][m] * x[m];
        x[i] /= L[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int m = i + 1; m < n; m++)
            x[i] -= L[m][i] * x[m];
        x[i] /= L[i][i];
    }
    return true;
}

#define MOST_AWAY 2.0       /* largest distance of a maximum from the start, in steps of the grid */

/* Newton's method; where it does not climb, the lift shortens its steps and turns them towards the gradient. Return whether a
 * maximum is found. */
static bool climb(const struct harmonics *h, double *at, struct value *value)
{
    double lift = 0;
    for (int i = 0; i < MOST_STEPS; i++) {
        double move[3] = {0}, next[3] = {0}, length = 0;
        bool is_better = solve(value, h->n_free, lift, value->gradient, move);
        for (int j = 0; j < h->n_free; j++) {
            next[j] = at[j] + move[j];
            length = fmax(length, fabs(move[j]));
            is_better = is_better && fabs(next[j]) <= MOST_AWAY;
        }
        const struct value found = is_better ? value_at(h, next) : (struct value){0};
        if (is_better && length < 1e-6)
            return lift < 1e-3 * value->sum;
        if (is_better && found.sum >= value->sum) {
            for (int j = 0; j < h->n_free; j++)
                at[j] = next[j];
            *value = found;
            lift = lift < 1e-2 * value->sum ? 0 : lift / 8;
        } else {
            lift = fmax(4 * lift, 1e-2 * value->sum);
        }
    }
    return false;
}

/* The logarithm of the likelihood of a signal is its power, for the best phases and amplitudes: the covariance of its parameters is
 * the inverse of the negative Hessian. Errors are a step of the grid where the sum has no maximum. */
static void estimate_errors(const struct harmonics *h, const struct value *value, bool is_maximum, double *errors)
{
    for (int j = 0; j < h->n_free; j++) {
        const double unit[3] = {j == 0, j == 1, j == 2};
        double column[3];
        const bool is_solved = is_maximum && solve(value, h->n_free, 0, unit, column);
        errors[h->free[j]] = h->step[h->free[j]] * (is_solved ? sqrt(column[j]) : 1);
    }
}

int lw_accel_refine(const struct lw_accel_refiner *refiner, const float *spectrum, const float *variances,
                    const struct lw_accel_hit *hit, struct lw_accel_candidate *candidate, struct lw_error *err)
{
    const struct lw_accel_plan *const plan = refiner->plan;
    const int n = 1 << hit->stage;
    double point[3] = {(double)hit->r / (LW_ACCEL_STEPS * n), lw_accel_z(plan, hit->z) / n, lw_accel_w(plan, hit->w) / n};
    struct harmonics h;
    const int rc = make_harmonics(refiner, spectrum, n, point, &h, err);
    if (rc)
        return rc;

    double at[3] = {0}, errors[3] = {0}, powers[MOST_HARMONICS], power = 0;
    struct value value = value_at(&h, at);
    const bool is_maximum = climb(&h, at, &value);
    estimate_errors(&h, &value, is_maximum, errors);
    for (int j = 0; j < h.n_free; j++) {
        at[j] = is_maximum ? at[j] : 0;
        point[h.free[j]] += h.step[h.free[j]] * at[j];
    }
    for (int k = 1; k <= n; k++) {
        struct value its = {0};
        add_value(&h, k, at, &its);
        power += powers[k - 1] = its.sum;
    }
    const double variance = lw_accel_variance(plan->n_blocks, variances, point[0], n, powers);
    const double sigma = lw_sum_sigma(n, power, variance, plan->trials[hit->stage]);
    *candidate = (struct lw_accel_candidate){n, sigma, power, point[0], point[1], point[2], errors[0], errors[1], errors[2]};
    return LW_OK;
}
