/* test_spectrum.c - tests of power spectra and whitened filters against their definitions: sums in double precision, and
 * sorting. */
#include "design/transform.h"
#include "design/welch.h"
#include "design/whiten.h"

#include "../check.h"
#include "base/memory.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

/* A number in -1..1 that looks random. */
static double scatter(int64_t i)
{
    return 2 * fmod(fabs(sin(12.9898 * (double)i + 1) * 43758.5453), 1) - 1;
}

static double complex sum_at(const double *re, const double *im, int64_t n, double turns)
{
    double complex sum = 0;
    for (int64_t m = 0; m < n; m++)
        sum += (re[m] + (im ? I * im[m] : 0)) * cexp(-2 * PI * I * turns * (double)m);
    return sum;
}

/* ---- transforms ---- */

static void test_transforms(void)
{
    for (int64_t n = 1; n < 40; n++) {
        struct lw_transform *real = NULL, *forward = NULL, *backward = NULL;
        double re[40], im[40];
        CHECK(lw_transform_create(LW_TRANSFORM_REAL, n, &real, NULL) == LW_OK &&
              lw_transform_create(LW_TRANSFORM_FORWARD, n, &forward, NULL) == LW_OK &&
              lw_transform_create(LW_TRANSFORM_BACKWARD, n, &backward, NULL) == LW_OK, "transforms of %d", (int)n);
        double *const a = lw_alloc((size_t)lw_transform_doubles(LW_TRANSFORM_REAL, n) * sizeof *a, "a", NULL);
        double *const b = lw_alloc((size_t)lw_transform_doubles(LW_TRANSFORM_FORWARD, n) * sizeof *b, "b", NULL);
        for (int64_t m = 0; m < n; m++) {
            a[m] = b[2 * m] = re[m] = scatter(m);
            b[2 * m + 1] = im[m] = scatter(m + 1000);
        }
        lw_transform_run(real, a);
        lw_transform_run(forward, b);
        for (int64_t k = 0; k < n; k++) {
            const double complex wanted = sum_at(re, im, n, (double)k / (double)n);
            CHECK(cabs(b[2 * k] + I * b[2 * k + 1] - wanted) < 1e-12, "forward %d of %d", (int)k, (int)n);
            if (k <= n / 2)
                CHECK(cabs(a[2 * k] + I * a[2 * k + 1] - sum_at(re, NULL, n, (double)k / (double)n)) < 1e-12, "real %d of %d",
                      (int)k, (int)n);
        }
        lw_transform_run(backward, b);
        for (int64_t m = 0; m < n; m++)
            CHECK(hypot(b[2 * m] / (double)n - re[m], b[2 * m + 1] / (double)n - im[m]) < 1e-14, "and back %d of %d", (int)m,
                  (int)n);
        lw_transform_destroy(real);
        lw_transform_destroy(forward);
        lw_transform_destroy(backward);
        lw_free(a);
        lw_free(b);
    }
}

/* ---- Welch ---- */

enum { N = 20, SEGMENTS = 7, HOP = N / 2, SAMPLES = (SEGMENTS + 1) * HOP, WIDTH = N / 2 + 1 };

static void test_spectra(void)
{
    static double x[SAMPLES], spectra[SEGMENTS][WIDTH], again[SEGMENTS][WIDTH];
    const double rate = 50;
    struct lw_welch *welch = NULL;
    for (int i = 0; i < SAMPLES; i++)
        x[i] = scatter(i) + 3;
    CHECK(lw_welch_create(N, rate, 2, &welch, NULL) == LW_OK, "no spectrum was created");
    lw_welch_spectra(welch, x, SEGMENTS, spectra[0]);
    for (int s = 0; s < SEGMENTS; s++)
        for (int k = 0; k < WIDTH; k++) {
            double complex sum = 0;
            double squares = 0;
            for (int m = 0; m < N; m++) {
                const double w = 0.5 - 0.5 * cos(2 * PI * m / N);
                sum += w * x[s * HOP + m] * cexp(-2 * PI * I * k * m / N);
                squares += w * w;
            }
            const double wanted = (k == 0 || k == N / 2 ? 1 : 2) * cabs(sum) * cabs(sum) / (rate * squares);
            CHECK(fabs(spectra[s][k] - wanted) < 1e-13 * spectra[s][0], "segment %d, frequency %d: %g, not %g", s, k,
                  spectra[s][k], wanted);
        }

    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int b = 0; b < 3; b++) {
        x[2 * HOP + 5] = bad[b];        /* a sample of segments 1 and 2 */
        lw_welch_spectra(welch, x, SEGMENTS, again[0]);
        for (int s = 0; s < SEGMENTS; s++) {
            const bool counts = s != 1 && s != 2;
            CHECK(counts ? memcmp(again[s], spectra[s], sizeof spectra[s]) == 0 : again[s][0] == -1,
                  "%g: segment %d begins with %g", bad[b], s, again[s][0]);
        }
    }
    lw_welch_destroy(welch);
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Columns of numbers that are scattered, of few values, rising, falling and equal. */
static double number_of(int column, int i, int n)
{
    const double numbers[] = {1 + scatter(i + 7 * n), floor(4 * scatter(i + n)) + 5, i, -i, 2};
    return numbers[column];
}

static void test_medians(void)
{
    enum { MOST = 90, COLUMNS = 5 };
    static double columns[COLUMNS * MOST], sorted[MOST], medians[COLUMNS];
    for (int n = 1; n < MOST; n++) {
        double bias = 0;
        for (int i = 1; i <= (n % 2 ? n : n - 1); i++)
            bias += (i % 2 ? 1.0 : -1.0) / i;
        CHECK(fabs(lw_welch_bias(n) - bias) < 1e-14, "bias of %d is %g, not %g", n, lw_welch_bias(n), bias);
        for (int c = 0; c < COLUMNS; c++)
            for (int i = 0; i < n; i++)
                columns[c * n + i] = number_of(c, i, n);
        for (int c = 0; c < COLUMNS; c++) {
            double column[MOST];
            memcpy(column, columns + c * n, (size_t)n * sizeof *column);
            lw_welch_medians(column, n, 1, 1, &medians[0]);
            memcpy(sorted, columns + c * n, (size_t)n * sizeof *sorted);
            qsort(sorted, (size_t)n, sizeof *sorted, compare);
            const double wanted = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2 / lw_welch_bias(n);
            CHECK(medians[0] == wanted, "median of %d numbers of kind %d is %g, not %g", n, c, medians[0], wanted);
        }
    }
    lw_welch_medians(columns, MOST - 1, COLUMNS, 3, medians);
    for (int c = 2; c < COLUMNS; c++)
        CHECK(medians[c] == (c == 2 ? 44 : c == 3 ? -44 : 2) / lw_welch_bias(MOST - 1), "median %d of several is %g", c,
              medians[c]);
}

/* ---- whitening ---- */

enum { M = 13, SEGMENT = 24, FREQUENCIES = SEGMENT / 2 + 1, LONG = M + 2 * SEGMENT - 4, FILTERS = 3 };

static double inverse_at(const double *spectrum, int t, double rate, double low, double high)
{
    double q = 0;
    for (int k = 1; k < SEGMENT / 2; k++)
        if (k * rate / SEGMENT >= low && k * rate / SEGMENT <= high)
            q += 2 * cos(2 * PI * k * t / SEGMENT) / sqrt(spectrum[k]) / SEGMENT;
    return q * pow(cos(PI * t / SEGMENT), 2);
}

/* Power of the taps' output, from the two-sided spectrum. */
static double power_behind(const double complex *taps, const double *spectrum, double rate)
{
    double power = 0;
    for (int k = 0; k < SEGMENT; k++) {
        double complex response = 0;
        for (int m = 0; m < LONG; m++)
            response += taps[m] * cexp(-2 * PI * I * k * m / SEGMENT);
        const int folded = k <= SEGMENT / 2 ? k : SEGMENT - k;
        power += spectrum[folded] / (folded % (SEGMENT / 2) == 0 ? 1 : 2) * cabs(response) * cabs(response) * rate / SEGMENT;
    }
    return power;
}

static void check_whitened(const double *filters, int parts, const double *spectrum, double low, double high)
{
    static double taps[FILTERS * LONG * 2], again[FILTERS * LONG * 2];
    const double rate = 48;
    struct lw_error err = {0};
    const struct lw_stored_taps stored = lw_stored_doubles(filters, parts == 2);
    struct lw_whiten_spec spec = {stored, 0, FILTERS, M, parts, spectrum, SEGMENT, rate, low, high, 1};
    CHECK(lw_whitened_taps(M, SEGMENT) == LONG, "%d taps", (int)lw_whitened_taps(M, SEGMENT));
    CHECK(lw_whiten(&spec, taps, &err) == LW_OK, "%s", err.message);
    spec.n_threads = 3;
    CHECK(lw_whiten(&spec, again, &err) == LW_OK, "%s", err.message);
    CHECK(memcmp(taps, again, sizeof(double) * FILTERS * LONG * (size_t)parts) == 0, "threads change bits");
    for (int f = 0; f < FILTERS; f++) {
        double complex wanted[LONG] = {0};
        for (int m = 0; m < M; m++)
            for (int a = 1 - SEGMENT / 2; a < SEGMENT / 2; a++)
                for (int b = 1 - SEGMENT / 2; b < SEGMENT / 2; b++) {
                    const double *const tap = filters + (f * M + m) * parts;
                    const double w = inverse_at(spectrum, a, rate, low, high) * inverse_at(spectrum, b, rate, low, high);
                    wanted[m + a + b + SEGMENT - 2] += (tap[0] + (parts == 2 ? I * tap[1] : 0)) * w;
                }
        const double scale = 1 / sqrt(power_behind(wanted, spectrum, rate) / parts);
        for (int m = 0; m < LONG; m++) {
            const double *const tap = taps + (f * LONG + m) * parts;
            const double complex got = tap[0] + (parts == 2 ? I * tap[1] : 0);
            CHECK(cabs(got - scale * wanted[m]) < 1e-13, "tap %d of %d, parts %d: %g, not %g", m, f, parts, creal(got),
                  creal(scale * wanted[m]));
        }
    }
}

static void test_whitening(void)
{
    double filters[FILTERS * M * 2], spectrum[FREQUENCIES];
    for (int i = 0; i < FILTERS * M * 2; i++)
        filters[i] = scatter(i);
    for (int k = 0; k < FREQUENCIES; k++)
        spectrum[k] = 1.5 + scatter(k + 50);
    check_whitened(filters, 1, spectrum, 0, 24);
    check_whitened(filters, 2, spectrum, 0, 24);
    check_whitened(filters, 2, spectrum, 5, 11);
    spectrum[0] = spectrum[FREQUENCIES - 1] = 0;        /* the whitening does not divide by these two */
    check_whitened(filters, 1, spectrum, 0, 24);
}

static void test_refusals(void)
{
    double filters[M] = {0}, spectrum[FREQUENCIES], taps[LONG];
    struct lw_error err;
    struct lw_whiten_spec spec = {lw_stored_doubles(filters, false), 0, 1, M, 1, spectrum, SEGMENT, 48, 0, 24, 2};
    for (int k = 0; k < FREQUENCIES; k++)
        spectrum[k] = 1;
    CHECK(lw_whiten(&spec, taps, &err) == LW_EDATA && strstr(err.message, "filter 0 passes no frequency"),
          "a filter of zeros is not refused");
    filters[3] = 1;
    CHECK(lw_whiten(&spec, taps, &err) == LW_OK, "a filter of a single 1 is refused");
    spectrum[7] = 0;
    CHECK(lw_whiten(&spec, taps, &err) == LW_EDATA && strstr(err.message, "14 Hz"),
          "a spectrum with a zero in the band is not refused");
    spec.high_hz = 13;
    CHECK(lw_whiten(&spec, taps, &err) == LW_OK, "a spectrum with a zero outside the band is refused");
}

int main(void)
{
    test_transforms();
    test_spectra();
    test_medians();
    test_whitening();
    test_refusals();
    return check_result("spectrum");
}
