/* test_filters.c - tests of the formulas of `lapwing filters` against slow, obvious references in double precision: integrals and
 * sums by definition. */
#include "design/inspiral.h"
#include "design/response.h"
#include "design/taps.h"

#include "../check.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846
enum { MOST_TAPS = 1024 };

/* A number in -1..1 that looks random. */
static double scatter(int64_t i)
{
    return 2 * fmod(fabs(sin(12.9898 * (double)i + 1) * 43758.5453), 1) - 1;
}

/* ---- references ---- */

/* Bessel function I0(x): 1 / pi times the integral of exp(x cos t) from 0 to pi. The midpoint rule converges at once, since the
 * integrand is periodic. */
static double bessel_by_integral(double x)
{
    enum { STEPS = 400 };
    double sum = 0;
    for (int i = 0; i < STEPS; i++)
        sum += exp(x * cos(PI * (i + 0.5) / STEPS));
    return sum / STEPS;
}

static double response_by_sum(const double *taps, int64_t n, int parts, double frequency)
{
    double complex sum = 0;
    for (int64_t m = 0; m < n; m++)
        sum += (taps[m * parts] + (parts == 2 ? I * taps[m * parts + 1] : 0)) * cexp(-2 * PI * I * frequency * (double)m);
    return cabs(sum);
}

/* Largest response at 4000 points from `low` to `high`, both ends included. */
static double largest_response(const double *taps, int64_t n, double low, double high)
{
    double most = 0;
    for (int i = 0; i <= 4000; i++)
        most = fmax(most, response_by_sum(taps, n, 1, low + (high - low) * i / 4000));
    return most;
}

/* ---- Kaiser ---- */

static void test_bessel(void)
{
    for (double x = 0; x < 30; x += 0.37) {
        const double got = lw_bessel_i0(x), wanted = bessel_by_integral(x);
        CHECK(fabs(got - wanted) <= 1e-14 * 10 * wanted, "I0(%g) = %.17g, not %.17g", x, got, wanted);
    }
}

static void test_window(void)
{
    for (int64_t n = 1; n < 40; n++)
        for (int64_t m = 0; m < n; m++) {
            const double w = lw_kaiser_window(6, m, n), mirrored = lw_kaiser_window(6, n - 1 - m, n);
            CHECK(w > 0 && w <= 1 && fabs(w - mirrored) < 1e-14, "sample %d of %d is %g, its mirror %g", (int)m, (int)n, w,
                  mirrored);
        }
    CHECK(lw_kaiser_window(6, 20, 41) == 1, "the middle is %g", lw_kaiser_window(6, 20, 41));
    CHECK(fabs(lw_kaiser_window(6, 0, 41) - 1 / bessel_by_integral(6)) < 1e-15, "the end is %g", lw_kaiser_window(6, 0, 41));
    CHECK(lw_kaiser_window(0, 3, 41) == 1, "without beta sample 3 is %g", lw_kaiser_window(0, 3, 41));
}

/* Kaiser's formulas for length and attenuation agree: a window of the length for a transition has the wanted attenuation beyond
 * that transition, within 1 dB, as Kaiser claims. */
static void test_attenuation(void)
{
    static double taps[MOST_TAPS];
    for (double wanted = 30; wanted <= 90; wanted += 10)
        for (double transition = 0.02; transition < 0.1; transition += 0.03) {
            const double cut = 0.22, length = lw_kaiser_length(wanted, transition);
            const int64_t n = (int64_t)length;
            CHECK(n > 2 && n <= MOST_TAPS && lw_kaiser_transition(wanted, n) <= transition * (1 + 1e-12) &&
                  lw_kaiser_transition(wanted, n - 1) > transition, "%g taps for %g dB and %g", length, wanted, transition);
            lw_taps_band(0, cut, lw_kaiser_beta(wanted), n, taps);
            const double reached = -20 * log10(largest_response(taps, n, cut + transition / 2, 0.5) /
                                               response_by_sum(taps, n, 1, 0));
            CHECK(fabs(reached - wanted) < 1, "%g dB wanted, %g reached with %d taps", wanted, reached, (int)n);
        }
}

/* ---- taps ---- */

static void test_band(void)
{
    static double low[MOST_TAPS], high[MOST_TAPS], band[MOST_TAPS], all[MOST_TAPS];
    for (int64_t n = 3; n < 130; n += n < 10 ? 1 : 7) {
        lw_taps_band(0, 0.1, 5, n, low);
        lw_taps_band(0.3, 0.5, 5, n, high);
        lw_taps_band(0.1, 0.3, 5, n, band);
        lw_taps_band(0, 0.5, 5, n, all);
        for (int64_t m = 0; m < n; m++) {
            CHECK(fabs(band[m] - band[n - 1 - m]) < 1e-15, "tap %d of %d is not symmetric", (int)m, (int)n);
            CHECK(fabs(low[m] + band[m] + high[m] - all[m]) < 1e-15, "tap %d of %d: the bands are not all", (int)m, (int)n);
            if (n % 2 == 1)
                CHECK(all[m] == (m == n / 2 ? 1 : 0),
                      "tap %d of %d of a filter that passes all frequencies is %g", (int)m, (int)n, all[m]);
        }
    }
    lw_taps_band(0, 0.1, 0, 101, low);
    for (int64_t m = 0; m < 101; m++) {
        const double t = (double)(m - 50), wanted = m == 50 ? 0.2 : sin(2 * PI * 0.1 * t) / (PI * t);
        CHECK(fabs(low[m] - wanted) < 1e-15, "tap %d is %g, not %g", (int)m, low[m], wanted);
    }
}

static double same(const double *x, int n, const double *taps, int n_taps, int i)
{
    double sum = 0;
    for (int m = 0; m < n_taps; m++) {
        const int at = i + (n_taps - 1) / 2 - m;
        sum += at >= 0 && at < n ? taps[m] * x[at] : 0;
    }
    return sum;
}

/* A boxcar padded to any length gives the outputs of the unpadded boxcar (mode `same`), and each output is the documented
 * sum. */
static void test_boxcar(void)
{
    enum { N = 40, MOST = 13 };
    double x[N], alone[MOST], padded[MOST];
    for (int i = 0; i < N; i++)
        x[i] = floor(100 * scatter(i));
    for (int n = 1; n <= MOST; n++)
        for (int width = 1; width <= n; width++) {
            lw_taps_boxcar(width, width, alone);
            lw_taps_boxcar(width, n, padded);
            CHECK(lw_taps_energy(padded, n) == width, "width %d of %d has %g ones", width, n, lw_taps_energy(padded, n));
            for (int i = 0; i < N; i++) {
                double sum = 0;
                for (int j = i - width / 2; j < i - width / 2 + width; j++)
                    sum += j >= 0 && j < N ? x[j] : 0;
                CHECK(same(x, N, padded, n, i) == sum && same(x, N, alone, width, i) == sum,
                      "width %d of %d, output %d: %g, %g, %g", width, n, i, same(x, N, padded, n, i), same(x, N, alone, width, i),
                      sum);
            }
        }
}

/* Sampled pulses have the spectra of the continuous pulses where the samples are closer than the pulse is wide. */
static void test_pulses(void)
{
    static double taps[MOST_TAPS];
    lw_taps_gaussian(7.5, 151, taps);
    for (double f = 0; f < 0.08; f += 0.003) {
        const double z = 2 * PI * 7.5 * f, wanted = 7.5 * sqrt(2 * PI) * exp(-z * z / 2);
        CHECK(fabs(response_by_sum(taps, 151, 1, f) - wanted) < 1e-4, "Gaussian at %g: %g, not %g", f,
              response_by_sum(taps, 151, 1, f), wanted);
    }
    CHECK(taps[75] == 1 && fabs(taps[75 - 15] - exp(-2)) < 1e-15, "Gaussian: %g, %g", taps[75], taps[60]);
    lw_taps_ricker(0.05, 151, taps);
    const double peak = response_by_sum(taps, 151, 1, 0.05);
    for (double f = 0; f < 0.2; f += 0.003) {
        const double a = f * f / (0.05 * 0.05), wanted = peak * a * exp(1 - a);
        CHECK(fabs(response_by_sum(taps, 151, 1, f) - wanted) < 1e-4 * peak, "Ricker at %g: %g, not %g", f,
              response_by_sum(taps, 151, 1, f), wanted);
    }
    CHECK(taps[75] == 1 && fabs(taps[74] - taps[76]) == 0, "Ricker: %g, %g, %g", taps[74], taps[75], taps[76]);
}

/* Every window is 1 in the middle and symmetric about it; the Hann window is a raised cosine. */
static void test_windows(void)
{
    enum { N_WINDOWS = 1
#define X(is, name, value) + 1
        LW_WINDOWS(X)
#undef X
    };
    for (int w = 0; w < N_WINDOWS; w++)
        for (double n = 4; n < 1000; n = 2 * n + 1) {
            CHECK(fabs(lw_window_at((enum lw_window)w, n / 2, n) - 1) < 1e-12, "window %d of %g", w, n);
            for (double x = 0; x < n; x += 0.5) {
                const double here = lw_window_at((enum lw_window)w, x, n), there = lw_window_at((enum lw_window)w, n - x, n);
                CHECK(fabs(here - there) < 1e-12 && here < 1 + 1e-12, "window %d of %g at %g: %g and %g", w, n, x, here, there);
            }
        }
    for (int x = 0; x < 16; x++)
        CHECK(fabs(lw_window_at(LW_WINDOW_HANN, x, 16) - (1 - cos(2 * PI * x / 16)) / 2) < 1e-15, "Hann at %d", x);
}

static void test_chirp(void)
{
    static double taps[2 * MOST_TAPS];
    for (int hann = 0; hann < 2; hann++)
        for (int n = 2; n < 1000; n = 2 * n + 1) {
            const double from = 0.31, to = 0.07;
            lw_taps_chirp(from, to, hann ? LW_WINDOW_HANN : LW_WINDOW_RECTANGULAR, n, taps);
            for (int m = 0; m < n; m++) {
                const double t = n - 1 - m, window = hann ? pow(sin(PI * (t + 0.5) / n), 2) : 1;
                const double complex wanted = conj(window * cexp(2 * PI * I * (from * t + (to - from) * t * t / (2 * n))));
                CHECK(cabs(taps[2 * m] + I * taps[2 * m + 1] - wanted) < 1e-11, "tap %d of %d is (%g, %g), not (%g, %g)", m, n,
                      taps[2 * m], taps[2 * m + 1], creal(wanted), cimag(wanted));
            }
        }
}

/* The phases are those of LALSimulation 6.2.1 (the sum of SimInspiralTaylorF2AlignedPhasing's terms, defaults). M. Maggiore,
 * Gravitational Waves, volume 1: by eq. 4.21, in leading order, there are 2.18 s left at 100 Hz for a chirp mass of
 * 1.21 Suns; by eq. 4.40 the last orbit of one Sun has 2.2 kHz. The time left is the slope of the phase at each frequency, and the
 * taps have the energy and the spectrum that the header promises. tests/cli/filters_oracle.py derives the phases from energies and
 * fluxes. */
static void test_inspiral(void)
{
    enum { N_TAPS = 3000 };
    static const struct {
        struct lw_binary binary;
        double hz, phase;
    } known[] = {
        {{1.4, 1.4, 0, 0}, 100, 733.303453852958}, {{30, 20, 0.3, -0.5}, 50, -38.0693974238051},
        {{60, 1.2, 0.9, 0.9}, 25, 1222.09523482719}, {{5, 9, -0.9, 0.4}, 200, -44.2608962509117},
    };
    struct lw_inspiral wave;
    struct lw_error err;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        lw_inspiral_set(&known[i].binary, &wave);
        const double phase = lw_inspiral_phase(&wave, known[i].hz);
        CHECK(fabs(phase - known[i].phase) < 1e-9, "binary %d has the phase %.15g, not %.15g", (int)i, phase, known[i].phase);
    }
    lw_inspiral_set(&(struct lw_binary){.mass_1 = 0.5, .mass_2 = 0.5}, &wave);
    CHECK(fabs(lw_inspiral_frequency(&wave, LW_INSPIRAL_LAST) / 2 - 2200) < 10, "last frequency %g",
          lw_inspiral_frequency(&wave, LW_INSPIRAL_LAST));
    for (double spin = -0.9; spin <= 0.9; spin += 0.6) {
        lw_inspiral_set(&(struct lw_binary){1.6, 1.2085, spin, -spin / 2}, &wave);
        CHECK(fabs(lw_inspiral_time_left(&wave, 10) / 2.18 / pow(10, 8.0 / 3) - 1) < 0.05, "time left %g",
              lw_inspiral_time_left(&wave, 10));
        for (double hz = 20, step = 1e-3; hz < 1500; hz *= 1.3) {
            const double slope = (lw_inspiral_phase(&wave, hz + step) - lw_inspiral_phase(&wave, hz - step)) / (2 * step);
            CHECK(fabs(lw_inspiral_time_left(&wave, hz) * -2 * PI / slope - 1) < 1e-5, "%g Hz: time left %g, slope %g", hz,
                  lw_inspiral_time_left(&wave, hz), slope);
        }
    }
    lw_inspiral_set(&(struct lw_binary){30, 20, 0.5, -0.3}, &wave);
    struct lw_inspiral_shape shape = {1024, 40, N_TAPS, 1000, lw_inspiral_points(N_TAPS), NULL};
    CHECK(shape.points >= N_TAPS * 3 / 2 && shape.points < 2 * N_TAPS, "%d points", (int)shape.points);
    struct lw_transform *backward = NULL;
    double *const taps = aligned_alloc(64, (size_t)lw_transform_doubles(LW_TRANSFORM_BACKWARD, shape.points) * sizeof *taps);
    const int rc = lw_transform_create(LW_TRANSFORM_BACKWARD, shape.points, &backward, &err);
    CHECK(taps && rc == LW_OK, "no transform");
    shape.backward = backward;
    const double kept = lw_inspiral_filter(&wave, &shape, 87, taps), energy = lw_taps_energy(taps, 2 * N_TAPS);
    CHECK(kept > 0.995 && kept < 1 && fabs(energy - 1) < 1e-12, "the taps keep %g of the energy and have %g", kept, energy);
    const double middle = response_by_sum(taps, N_TAPS, 2, 55.0 / 1024);
    for (double hz = 45; hz < 82; hz += 3.7) {
        const double size = response_by_sum(taps, N_TAPS, 2, hz / 1024) / middle, wanted = pow(hz / 55, -7.0 / 6);
        CHECK(fabs(size / wanted - 1) < 0.02, "%g Hz has %g, not %g", hz, size, wanted);
    }
    for (double hz = -200; hz < 200; hz += 33)
        CHECK((hz > 39 && hz < 88) || response_by_sum(taps, N_TAPS, 2, hz / 1024) < 0.05 * middle, "%g Hz passes", hz);
    lw_transform_destroy(backward);
    free(taps);
}

/* ---- response ---- */

static void test_magnitudes(void)
{
    static double taps[2 * 600];
    for (int64_t i = 0; i < 1200; i++)
        taps[i] = scatter(i);
    for (int parts = 1; parts <= 2; parts++)
        for (int64_t n = 1; n <= 600; n = 3 * n + 2) {
            const int64_t points = lw_response_points(n);
            CHECK(points >= 16 * n && points >= 4096 && (points & (points - 1)) == 0, "%d points", (int)points);
            double *const work = calloc((size_t)lw_response_work(points), sizeof *work);
            lw_response_magnitudes(taps, n, parts, points, work);
            for (int64_t k = 0; k < points; k += 61) {
                const double f = (double)k / (double)points, wanted = response_by_sum(taps, n, parts, f);
                CHECK(fabs(work[k] - wanted) < 1e-11, "%d taps, point %d: %g, not %g", (int)n, (int)k, work[k], wanted);
                CHECK(fabs(lw_response_at(taps, n, parts, f) - wanted) < 1e-11, "%d taps at %g: %g, not %g", (int)n, f,
                      lw_response_at(taps, n, parts, f), wanted);
            }
            free(work);
        }
}

/* Figures of a response agree with the response at many more points. */
static void test_figures(void)
{
    enum { N = 129 };
    double taps[N];
    const struct lw_filter_bands bands = {0.14, 0.26, 0.06, 0.34};
    double *const work = calloc((size_t)lw_response_work(lw_response_points(N)), sizeof *work);
    lw_taps_band(0.1, 0.3, 2, N, taps);
    struct lw_filter_figures got;
    lw_response_measure(taps, N, 1, 0.2, &bands, work, &got);
    const double gain = response_by_sum(taps, N, 1, 0.2);
    const double stop = fmax(largest_response(taps, N, 0, 0.06), largest_response(taps, N, 0.34, 0.5));
    double most = 0, deviation = 0;
    for (int i = 0; i <= 4000; i++) {
        const double ratio = response_by_sum(taps, N, 1, 0.14 + 0.12 * i / 4000) / gain;
        deviation = fmax(deviation, fabs(20 * log10(ratio)));
    }
    most = largest_response(taps, N, 0, 0.5);
    CHECK(fabs(got.gain - gain) < 1e-14, "gain %g, not %g", got.gain, gain);
    CHECK(fabs(got.attenuation_db + 20 * log10(stop / gain)) < 0.003, "attenuation %g", got.attenuation_db);
    CHECK(fabs(got.ripple_db - deviation) < 0.01 * deviation, "ripple %g, not %g", got.ripple_db, deviation);
    CHECK(fabs(response_by_sum(taps, N, 1, got.edge_low) / most - sqrt(0.5)) < 1e-3, "lower edge %g", got.edge_low);
    CHECK(fabs(response_by_sum(taps, N, 1, got.edge_high) / most - sqrt(0.5)) < 1e-3, "upper edge %g", got.edge_high);
    CHECK(got.edge_low > 0.09 && got.edge_low < 0.11 && got.edge_high > 0.29 && got.edge_high < 0.31, "edges %g, %g",
          got.edge_low, got.edge_high);

    const struct lw_filter_bands none = {0.2, 0.1, -0.1, 0.6};
    lw_response_measure(taps, N, 1, 0.2, &none, work, &got);
    CHECK(isnan(got.ripple_db) && isnan(got.attenuation_db), "without bands: %g, %g", got.ripple_db, got.attenuation_db);
    free(work);
}

/* The top of a side lobe seldom lies on a point of the grid. This test refines one top after the other to find the attenuation. */
static void test_tops(void)
{
    enum { N = 255 };
    double taps[N], *const work = calloc((size_t)lw_response_work(lw_response_points(N)), sizeof *work);
    lw_taps_band(0, 0.1, 3, N, taps);
    for (double low = 0.11; low < 0.15; low += 0.001) {
        struct lw_filter_figures got;
        lw_response_measure(taps, N, 1, 0, &(struct lw_filter_bands){0, 0.09, -1, low}, work, &got);
        const double wanted = -20 * log10(largest_response(taps, N, low, low + 0.01) / response_by_sum(taps, N, 1, 0));
        CHECK(fabs(got.attenuation_db - wanted) < 0.003, "attenuation from %g on: %g, not %g", low, got.attenuation_db, wanted);
    }
    free(work);
}

/* Complex taps have a response of its own at negative frequencies. */
static void test_complex_edges(void)
{
    enum { N = 128 };
    double taps[2 * N];
    double *const work = calloc((size_t)lw_response_work(lw_response_points(N)), sizeof *work);
    for (int m = 0; m < N; m++) {
        const double w = lw_kaiser_window(5, m, N);
        taps[2 * m] = w * cos(-2 * PI * 0.2 * m);
        taps[2 * m + 1] = w * sin(-2 * PI * 0.2 * m);
    }
    struct lw_filter_figures got;
    lw_response_measure(taps, N, 2, -0.2, NULL, work, &got);
    CHECK(got.edge_low > -0.21 && got.edge_high < -0.19 && got.edge_low < got.edge_high &&
          fabs(got.edge_low + got.edge_high + 0.4) < 1e-6, "edges %g, %g", got.edge_low, got.edge_high);
    CHECK(fabs(got.energy - lw_taps_energy(taps, 2 * N)) == 0 && got.gain > 1, "energy %g, gain %g", got.energy, got.gain);
    free(work);
}

int main(void)
{
    test_bessel();
    test_window();
    test_attenuation();
    test_band();
    test_boxcar();
    test_pulses();
    test_windows();
    test_chirp();
    test_inspiral();
    test_magnitudes();
    test_figures();
    test_tops();
    test_complex_edges();
    return check_result("filters");
}
