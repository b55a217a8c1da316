/* test_survey.c - tests of the synthetic survey: a sample depends on its position alone, the noise is normal, and each filter has
 * its documented properties. */
#include "../check.h"
#include "jobs/synth/survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20000, M = 301, F = 6, C = 4 };

static struct lw_synth make(bool is_complex, enum lw_scalar scalar)
{
    return (struct lw_synth){.n_samples = N, .n_channels = C, .n_taps = M, .n_filters = F, .is_complex = is_complex,
                             .scalar = scalar, .seed = 3, .sample_rate_hz = 1000};
}

/* A line made in pieces of any length equals the line made at once. */
static void test_pieces(bool is_complex)
{
    const struct lw_synth synth = make(is_complex, LW_FLOAT64);
    const size_t parts = is_complex ? 2 : 1;
    static double whole[2 * N], pieces[2 * N];
    for (int64_t channel = 0; channel < C; channel++) {
        lw_synth_line(&synth, channel, 0, N, whole);
        for (int64_t first = 0, count = 1; first < N; first += count, count = 3 * count % 977 + 1) {
            const int64_t here = first + count > N ? N - first : count;
            lw_synth_line(&synth, channel, first, here, pieces + (size_t)first * parts);
        }
        CHECK(memcmp(whole, pieces, N * parts * sizeof *whole) == 0, "channel %d, %zu parts", (int)channel, parts);
    }
}

/* Noise without hidden signals has the mean, deviation, skewness and kurtosis of a normal distribution within 5 standard errors. */
static void test_noise(enum lw_scalar scalar)
{
    struct lw_synth synth = make(false, scalar);
    synth.n_filters = 1;
    static double line[N];
    lw_synth_line(&synth, 1, 0, N, line);
    const double mean = lw_synth_mean(scalar), sigma = lw_synth_sigma(scalar);
    double moments[5] = {0};
    for (int i = 0; i < N; i++)
        for (int k = 1; k <= 4; k++)
            moments[k] += pow((line[i] - mean) / sigma, k) / N;
    const double errors[5] = {0, 1, sqrt(2), sqrt(15), sqrt(96)}, expected[5] = {0, 0, 1, 0, 3};
    for (int k = 1; k <= 4; k++)
        CHECK(fabs(moments[k] - expected[k]) < 5 * errors[k] / sqrt(N), "%d: moment %d is %g", scalar, k, moments[k]);
}

static void test_independence(void)
{
    struct lw_synth synth = make(true, LW_FLOAT64);
    synth.n_filters = 1;
    static double a[2 * N], b[2 * N];
    lw_synth_line(&synth, 1, 0, N, a);
    lw_synth_line(&synth, 2, 0, N, b);
    double channels = 0, neighbours = 0, parts = 0;
    for (int i = 0; i + 1 < N; i++) {
        channels += a[2 * i] * b[2 * i] / N;
        neighbours += a[2 * i] * a[2 * i + 2] / N;
        parts += a[2 * i] * a[2 * i + 1] / N;
    }
    CHECK(fabs(channels) < 5 / sqrt(N) && fabs(neighbours) < 5 / sqrt(N) && fabs(parts) < 5 / sqrt(N),
          "correlations %g, %g, %g", channels, neighbours, parts);
}

/* Gain |H| of a filter at a frequency in hertz. */
static double gain(const struct lw_synth *synth, const double *taps, double hz)
{
    double re = 0, im = 0;
    for (int64_t m = 0; m < synth->n_taps; m++) {
        const double angle = -2 * acos(-1) * hz / synth->sample_rate_hz * (double)m;
        const double h_re = synth->is_complex ? taps[2 * m] : taps[m], h_im = synth->is_complex ? taps[2 * m + 1] : 0;
        re += h_re * cos(angle) - h_im * sin(angle);
        im += h_re * sin(angle) + h_im * cos(angle);
    }
    return hypot(re, im);
}

static double energy(const double *taps, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += taps[i] * taps[i];
    return sum;
}

static void test_filters(bool is_complex)
{
    const struct lw_synth synth = make(is_complex, LW_FLOAT32);
    double taps[2 * M];
    for (int f = 0; f < F; f++) {
        lw_synth_filter(&synth, f, taps);
        const double centre = lw_synth_centre_hz(&synth, f), far = f < F / 2 ? 480 : 10;
        if (lw_synth_is_chirp(f)) {
            const double found = energy(taps, is_complex ? 2 * M : M);
            CHECK(fabs(found - 1) < 0.01, "filter %d: energy %g", f, found);
        } else {
            CHECK(fabs(gain(&synth, taps, centre) - 1) < 0.01, "filter %d: gain %g", f, gain(&synth, taps, centre));
            CHECK(gain(&synth, taps, far) < 1e-3, "filter %d: gain %g at %g Hz", f, gain(&synth, taps, far), far);
        }
    }
}

/* Modulus of output `i` of the full convolution of the line. */
static double filtered(const struct lw_synth *synth, const double *line, const double *taps, int64_t i)
{
    double re = 0, im = 0;
    for (int64_t m = 0; m < synth->n_taps; m++) {
        if (i - m < 0 || i - m >= synth->n_samples)
            continue;
        if (synth->is_complex) {
            const double *const x = line + 2 * (i - m), *const h = taps + 2 * m;
            re += x[0] * h[0] - x[1] * h[1];
            im += x[0] * h[1] + x[1] * h[0];
        } else {
            re += line[i - m] * taps[m];
        }
    }
    return hypot(re, im);
}

/* A matched filter's output peaks where the `hidden` text has the signal, but for the shift that noise causes, and has the
 * documented signal-to-noise ratio. */
static void test_hidden(bool is_complex)
{
    const struct lw_synth synth = make(is_complex, LW_INT16);
    static double line[2 * N];
    double taps[2 * M];
    for (int f = 0; f < F; f += 2) {
        lw_synth_line(&synth, lw_synth_channel(&synth, f), 0, N, line);
        lw_synth_filter(&synth, f, taps);
        const int64_t start = lw_synth_chirp_start(&synth, f), peak = start + M - 1;
        CHECK(start >= 0 && start + M <= N, "chirp %d at %d", f, (int)start);
        int64_t best = 0;
        double largest = 0;
        for (int64_t i = peak - 600; i < peak + 600; i++)
            if (filtered(&synth, line, taps, i) > largest) {
                largest = filtered(&synth, line, taps, i);
                best = i;
            }
        const double promised = LW_SYNTH_SIGNAL_TO_NOISE * lw_synth_sigma(LW_INT16);
        CHECK(llabs(best - peak) <= 3, "chirp %d peaks at %d, not %d", f, (int)best, (int)peak);
        CHECK(fabs(largest - promised) < 4 * lw_synth_sigma(LW_INT16), "chirp %d peaks with %g, not %g", f, largest, promised);
    }
}

static void test_words(void)
{
    struct lw_synth synth = make(false, LW_FLOAT32);
    char text[240];
    lw_synth_hidden_text(&synth, 0, text, sizeof text);
    CHECK(strstr(text, "channel 0: chirp in samples 2814..3114") && strstr(text, "peaks near sample 2964"), "%s", text);
    lw_synth_hidden_text(&synth, 1, text, sizeof text);
    CHECK(strstr(text, "channel 1: tone of 149.993896 Hz") != NULL, "%s", text);
    synth.n_samples = M - 1;
    CHECK(lw_synth_chirp_start(&synth, 0) == -1, "a signal too short for a chirp has one");
    CHECK(strstr(lw_synth_hidden_text(&synth, 0, text, sizeof text), "nothing for filter 0") != NULL, "%s", text);
}

int main(void)
{
    test_pieces(false);
    test_pieces(true);
    test_noise(LW_FLOAT32);
    test_noise(LW_UINT8);
    test_noise(LW_INT32);
    test_independence();
    test_filters(false);
    test_filters(true);
    test_hidden(false);
    test_hidden(true);
    test_words();
    return check_result("survey");
}
