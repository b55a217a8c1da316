/* test_normalize.c - tests of the levels of spectra: blocks, means of medians, white noise, red noise. */
#include "../check.h"
#include "accel/normalize.h"
#include "base/integers.h"
#include "base/memory.h"
#include "base/select.h"
#include "sfft/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Return noise of mean 1 with the distribution of powers. */
static double noise(uint64_t seed, int64_t bin)
{
    return -log(((double)(lw_random_bits(seed, (uint64_t)bin) >> 11) + 0.5) * 0x1p-53);
}

static void check_blocks(void)
{
    for (int64_t n = 1; n < 300000; n += 1 + n / 7) {
        const int64_t n_blocks = lw_accel_blocks(n, NULL);
        int64_t *const edges = malloc((size_t)(n_blocks + 1) * sizeof *edges);
        CHECK(lw_accel_blocks(n, edges) == n_blocks && edges[0] == 0 && edges[n_blocks] == n, "%" PRId64 " bins", n);
        for (int64_t i = 0; i < n_blocks; i++) {
            const int64_t width = edges[i + 1] - edges[i], wanted = lw_min64(lw_max64(edges[i] / 16, 16), 4096);
            CHECK(lw_accel_block_at(n_blocks, edges[i]) == i && lw_accel_block_at(n_blocks, edges[i + 1] - 1) == i,
                  "%" PRId64 " bins: not in block %" PRId64, n, i);
            CHECK(width == wanted || (i == n_blocks - 1 && width > 0 && 2 * width < 3 * wanted), "%" PRId64 " bins: block %" PRId64
                  " has %" PRId64, n, i, width);
        }
        free(edges);
    }
}

/* The median of n exponentials is the order statistic of number (n + 1) / 2 from below; for n = 1, 2, 3 its mean is 1, 1/2, 5/6. */
static void check_median(void)
{
    const double means[] = {1, 0.5, 5.0 / 6, 1.0 / 3 + 1.0 / 4};
    for (int n = 1; n <= 4; n++)
        CHECK(fabs(lw_accel_median_mean(n) - means[n - 1]) < 1e-12, "median of %d: %g", n, lw_accel_median_mean(n));
    CHECK(fabs(lw_accel_median_mean(1000001) - log(2)) < 1e-6, "median of many: %g", lw_accel_median_mean(1000001));
    for (int n = 16; n <= 17; n++) {
        double sum = 0, powers[17];
        for (int trial = 0; trial < 20000; trial++) {
            for (int i = 0; i < n; i++)
                powers[i] = noise(7, trial * 17 + i);
            sum += lw_select(powers, n, (n - 1) / 2) / 20000;
        }
        CHECK(fabs(sum / lw_accel_median_mean(n) - 1) < 0.01, "medians of %d powers: %g, not %g", n, sum, lw_accel_median_mean(n));
    }
}

struct spectrum {
    int64_t n_bins, n_blocks;
    int64_t *edges, *counted;
    float *medians, *factors, *variances;
    double *powers;
};

static struct spectrum open_spectrum(int64_t n_bins)
{
    struct spectrum s = {.n_bins = n_bins, .n_blocks = lw_accel_blocks(n_bins, NULL)};
    s.edges = calloc((size_t)s.n_blocks + 1, sizeof *s.edges);
    s.counted = calloc((size_t)s.n_blocks, sizeof *s.counted);
    s.medians = calloc((size_t)s.n_blocks, sizeof *s.medians);
    s.factors = calloc((size_t)s.n_blocks, sizeof *s.factors);
    s.variances = calloc((size_t)s.n_blocks, sizeof *s.variances);
    s.powers = calloc(8192, sizeof *s.powers);
    lw_accel_blocks(n_bins, s.edges);
    return s;
}

static void close_spectrum(struct spectrum *s)
{
    free(s->edges);
    free(s->counted);
    free(s->medians);
    free(s->factors);
    free(s->variances);
    free(s->powers);
}

/* Level of the noise: white, and red below the knee. */
static double level_at(double r, double knee, double slope) { return 1 + (knee > 0 ? pow((r + 1) / knee, slope) : 0); }

static void normalize(struct spectrum *s, uint64_t seed, double knee, double slope)
{
    for (int64_t b = 0; b < s->n_blocks; b++) {
        for (int64_t r = s->edges[b]; r < s->edges[b + 1]; r++)
            s->powers[r - s->edges[b]] = noise(seed, r) * level_at((double)r, knee, slope);
        s->counted[b] = s->edges[b + 1] - s->edges[b];
        s->medians[b] = (float)lw_select(s->powers, s->counted[b], (s->counted[b] - 1) / 2);
    }
    lw_accel_factors(s->n_blocks, s->counted, s->medians, s->factors, s->variances);
}

/* White noise in 16 million bins: as many powers above 10 and 15 as the exponential has, but for Poisson's error; wide blocks. */
static void check_white(void)
{
    enum { SPECTRA = 16, BINS = 1 << 20 };
    double above[2] = {0};
    int64_t narrow = 0;
    struct spectrum s = open_spectrum(BINS);
    for (uint64_t seed = 0; seed < SPECTRA; seed++) {
        normalize(&s, seed, 0, 0);
        for (int64_t b = 0, run = 0; b < s.n_blocks; b++) {
            for (int64_t r = s.edges[b]; r < s.edges[b + 1]; r++) {
                const double power = noise(seed, r) * s.factors[b] * s.factors[b];
                above[0] += power > 10;
                above[1] += power > 15;
            }
            run += s.counted[b];
            if (b == s.n_blocks - 1 || s.factors[b + 1] != s.factors[b]) {
                narrow += run < 20000 ? run : 0;
                run = 0;
            }
        }
    }
    for (int i = 0; i < 2; i++) {
        const double expected = SPECTRA * (double)BINS * exp(-10 - 5 * i);
        CHECK(fabs(above[i] - expected) < 3 * sqrt(expected), "%g powers above %d, not %g", above[i], 10 + 5 * i, expected);
    }
    CHECK((double)narrow < 0.01 * SPECTRA * BINS, "%" PRId64 " bins of white noise have narrow blocks", narrow);
    close_spectrum(&s);
}

/* Short spectra of white noise: powers with b log(1 + P / b) beyond s are exp(-s) of all, for all s, where b = 1 / v is that of
 * their level (within 0.05 in many spectra). Powers P beyond 26 are more than 100 times as many. The level does not depend on the
 * power here. */
static void check_tails(void)
{
    enum { SPECTRA = 1500, BINS = 4096, TAILS = 3 };
    const double tails[TAILS] = {14, 20, 26};
    double found[TAILS] = {0}, plain = 0;
    struct spectrum s = open_spectrum(BINS);
    for (uint64_t seed = 1000; seed < 1000 + SPECTRA; seed++) {
        normalize(&s, seed, 0, 0);
        for (int64_t b = 0; b < s.n_blocks; b++) {
            const double level = 1 / pow(s.factors[b], 2), v = s.variances[b];
            const double part = (double)s.counted[b] / ((double)BINS * SPECTRA);
            for (int i = 0; i < TAILS; i++)
                found[i] += part * exp(tails[i] - expm1(v * tails[i]) / v * level);
            plain += part * exp(26 * (1 - level));
        }
    }
    for (int i = 0; i < TAILS; i++)
        CHECK(fabs(found[i] - 1) < 0.15, "powers beyond exp(-%g): %g times as many", tails[i], found[i]);
    CHECK(plain > 100, "powers beyond exp(-26) without variances: %g times as many", plain);
    close_spectrum(&s);
}

/* Harmonics in bins 16, 31, 47 and 62: three in blocks of one run vary together, the fourth alone. */
static void check_variance(void)
{
    const float variances[] = {0.5f, 0.1f, 0.1f, 0.02f};
    const double powers[] = {1, 2, 3, 4}, found = lw_accel_variance(4, variances, 15.6, 4, powers);
    CHECK(fabs(found - (0.1 * 36 + 0.02 * 16) / 100) < 1e-6, "a variance of %g", found);
    CHECK(lw_accel_variance(4, variances, 3, 4, NULL) == 0.5, "%g of one run", lw_accel_variance(4, variances, 3, 4, NULL));
}

/* One block is 20 times as high as the noise, one a twentieth: the high one is as sure as its left neighbours, the low one is
 * alone, and gives its variance to none that is surer. */
static void check_bound(void)
{
    enum { HIGH = 20, LOW = 40 };
    struct spectrum s = open_spectrum(1 << 14);
    for (int64_t b = 0; b < s.n_blocks; b++) {
        s.counted[b] = s.edges[b + 1] - s.edges[b];
        s.medians[b] = (float)(lw_accel_median_mean(s.counted[b]) * (b == HIGH ? 20 : b == LOW ? 0.05 : 1));
    }
    lw_accel_factors(s.n_blocks, s.counted, s.medians, s.factors, s.variances);
    const double alone = 1.5 / ((double)s.counted[LOW] * (M_LN2 * M_LN2));
    CHECK(fabs(s.factors[HIGH] * s.factors[HIGH] * 20 - 1) < 1e-5 && s.variances[HIGH] == s.variances[HIGH - 1],
          "a high block: factor %g, variance %g, %g to its left", s.factors[HIGH], s.variances[HIGH], s.variances[HIGH - 1]);
    CHECK(fabs(s.factors[LOW] * s.factors[LOW] / 20 - 1) < 1e-5 && fabs(s.variances[LOW] / alone - 1) < 1e-5,
          "a low block: factor %g, variance %g, not %g", s.factors[LOW], s.variances[LOW], alone);
    CHECK(s.variances[LOW + 1] < 0.5 * alone && s.variances[LOW - 1] < 0.5 * alone, "variances beside a low block: %g, %g",
          s.variances[LOW - 1], s.variances[LOW + 1]);
    close_spectrum(&s);
}

/* Red noise: levels of blocks, on average over many spectra, and their scatter, where the noise is steep and bins are many. */
static void check_red(double knee, double slope)
{
    enum { SPECTRA = 40, BINS = 1 << 18 };
    struct spectrum s = open_spectrum(BINS);
    double *const sums = calloc((size_t)s.n_blocks, sizeof *sums);
    for (uint64_t seed = 100; seed < 100 + SPECTRA; seed++) {
        normalize(&s, seed, knee, slope);
        for (int64_t b = 0; b < s.n_blocks; b++)
            sums[b] += 1.0 / s.factors[b] / s.factors[b] / SPECTRA;
    }
    double worst = 0, mean = 0, n = 0;
    for (int64_t b = 0; b < s.n_blocks; b++) {
        const double middle = 0.5 * (double)(s.edges[b] + s.edges[b + 1] - 1), ratio = sums[b] / level_at(middle, knee, slope);
        if (middle < 256)
            continue;
        worst = fmax(worst, fabs(ratio - 1));
        mean += ratio;
        n++;
    }
    CHECK(worst < 0.15 && fabs(mean / n - 1) < 0.03, "knee %g, slope %g: levels off by up to %g, on average %g", knee, slope,
          worst, mean / n);
    free(sums);
    close_spectrum(&s);
}

/* A block without counted bins, or without power, gets 0 and spoils no neighbour. */
static void check_gaps(void)
{
    struct spectrum s = open_spectrum(1 << 18);
    normalize(&s, 5, 0, 0);
    s.counted[3] = 0;
    s.medians[3] = 0;
    s.medians[70] = 0;
    lw_accel_factors(s.n_blocks, s.counted, s.medians, s.factors, s.variances);
    for (int64_t b = 0; b < s.n_blocks; b++)
        CHECK(b == 3 || b == 70 ? s.factors[b] == 0 : fabs(s.factors[b] - 1) < 0.02,
              "factor %g of block %" PRId64, s.factors[b], b);
    close_spectrum(&s);
}

int main(void)
{
    check_blocks();
    check_median();
    check_white();
    check_tails();
    check_variance();
    check_bound();
    check_red(1000, -2);
    check_red(3000, -4);
    check_red(20000, -3);
    check_red(100, -4);
    check_gaps();
    return check_result("accel_normalize");
}
