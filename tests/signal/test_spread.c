/* test_spread.c - tests of sigma of noise with and without signals, against the true value and against the definition on sorted
 * values. */
#include "../check.h"
#include "signal/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 18, MOST_BINS = (1 << 16) + 1 };

static double values[2 * N], counts[MOST_BINS], work[MOST_BINS];
static float singles[2 * N];
static unsigned char skip[N];
static uint32_t counted[MOST_BINS];

static uint64_t random_state = 1;

static double uniform(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

/* Make noise of sigma 1, with a pulse of `height` in the given part of every period. */
static void make(int n_numbers, double part, double height)
{
    for (int i = 0; i < n_numbers; i++)
        values[i] = normal() + (i % 5000 < part * 5000 ? height : 0);
}

/* Sigma of n values, counted in three parts. Empty first bins of a part are left out. */
static double sigma_of(enum lw_precision precision, bool is_complex, int64_t n, const unsigned char *leaves_out, double *n_finite)
{
    const int64_t bins = lw_spread_bins(precision), cuts[] = {0, n / 3, n / 2, n}, parts = is_complex ? 2 : 1;
    memset(counted, 0, sizeof counted);
    for (int64_t i = 0; i < parts * n; i++)
        singles[i] = (float)values[i];
    for (int part = 2; part >= 0; part--) {
        const int64_t first = cuts[part], its = cuts[part + 1] - first;
        const void *const from =
            precision == LW_SINGLE ? (const void *)(singles + parts * first) : (const void *)(values + parts * first);
        const struct lw_spread_values v = {precision, is_complex, from, its, 1, 1, leaves_out ? leaves_out + first : NULL, 0};
        lw_spread_count(&v, counted, 0);
    }
    int64_t begin = 0, end = bins;
    while (begin < bins && counted[begin] == 0)
        begin++;
    while (end > begin && end < bins && counted[end] == 0)
        end--;
    for (int64_t i = begin; i < end; i++)
        counts[i - begin] = counted[i];
    return lw_spread_sigma(precision, is_complex, begin, counts, end - begin, work, n_finite);
}

/* ---- the definition -------------------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double by_definition(int64_t n, bool is_complex)
{
    static double sizes[N];
    for (int64_t i = 0; i < n; i++)
        sizes[i] = is_complex ? hypot(values[2 * i], values[2 * i + 1]) : fabs(values[i]);
    qsort(sizes, (size_t)n, sizeof *sizes, compare);
    const double unit = is_complex ? sqrt(1 - 4 / (exp(4) - 1)) : sqrt(1 - 4 * exp(-2) / sqrt(2 * acos(-1)) / erf(sqrt(2)));
    double sigma = sizes[n / 2] / (is_complex ? sqrt(log(2)) : 0.6744897501960817);
    for (int step = 0; step < 60; step++) {
        double squares = 0;
        int64_t m = 0;
        for (; m < n && sizes[m] < 2 * sigma; m++)
            squares += sizes[m] * sizes[m];
        sigma = sqrt(squares / (double)m) / unit;
    }
    return sigma;
}

/* ---- cases ----------------------------------------------------------------------------------------------------------- */

static void truths(void)
{
    static const struct {
        double part, height, within;
    } cases[] = {{0, 0, 0.003}, {0.18, 8, 0.01}, {0.05, 3, 0.03}, {0.3, 1e6, 0.01}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double n_finite;
        make(N, cases[k].part, cases[k].height);
        for (int precision = LW_SINGLE; precision <= LW_DOUBLE; precision++) {
            const double sigma = sigma_of((enum lw_precision)precision, false, N, NULL, &n_finite),
                         wanted = by_definition(N, false);
            CHECK(fabs(sigma - 1) < cases[k].within, "pulses of %g in %g: sigma %g", cases[k].height, cases[k].part, sigma);
            CHECK(fabs(sigma / wanted - 1) < 5e-4, "pulses of %g in %g: sigma %.8g, by definition %.8g", cases[k].height,
                  cases[k].part, sigma, wanted);
            CHECK(n_finite == N, "%g of %d values", n_finite, N);
        }
    }
}

static void complexes(void)
{
    double n_finite;
    for (int has_signals = 0; has_signals < 2; has_signals++) {
        make(2 * N, has_signals ? 0.18 : 0, 8);
        for (int precision = LW_SINGLE; precision <= LW_DOUBLE; precision++) {
            const double sigma = sigma_of((enum lw_precision)precision, true, N, NULL, &n_finite), wanted = by_definition(N, true);
            CHECK(fabs(sigma / sqrt(2) - 1) < (has_signals ? 0.01 : 0.003), "complex: sigma^2 is %g", sigma * sigma);
            CHECK(fabs(sigma / wanted - 1) < 5e-4, "complex: sigma %.8g, by definition %.8g", sigma, wanted);
        }
    }
}

/* Scales near the ends of the types' ranges, where squares overflow or underflow. */
static void scales(void)
{
    static const double scales[] = {1e-30, 1e30, 1e-300, 1e300};
    double n_finite;
    make(2 * N, 0, 0);
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        const double one = sigma_of(LW_DOUBLE, is_complex, N, NULL, &n_finite);
        for (int s = 0; s < 4; s++) {
            for (int i = 0; i < 2 * N; i++)
                values[i] *= scales[s];
            for (int precision = s < 2 ? LW_SINGLE : LW_DOUBLE; precision <= LW_DOUBLE; precision++) {
                const double sigma = sigma_of((enum lw_precision)precision, is_complex, N, NULL, &n_finite);
                CHECK(fabs(sigma / scales[s] / one - 1) < 1e-3, "noise of %g: sigma %g", scales[s], sigma);
            }
            for (int i = 0; i < 2 * N; i++)
                values[i] /= scales[s];
        }
    }
}

/* Values that are not finite do not count, and left-out values do not, either. */
static void left_out(void)
{
    double n_finite, few;
    make(N, 0, 0);
    const double sigma = sigma_of(LW_SINGLE, false, N / 2, NULL, &n_finite);
    for (int i = 0; i < N / 2; i++) {
        values[N / 2 + i] = i % 3 == 0 ? (double)NAN : i % 3 == 1 ? (double)INFINITY : 0;
        skip[N / 2 + i] = i % 3 == 2;
    }
    const double same = sigma_of(LW_SINGLE, false, N, skip, &few), exact = sigma_of(LW_DOUBLE, false, N, skip, &few);
    CHECK(same == sigma && few == n_finite && n_finite == N / 2, "%g of %g values: sigma %g, not %g", few, n_finite, same, sigma);
    CHECK(fabs(exact / sigma - 1) < 1e-3, "double precision: sigma %g, not %g", exact, sigma);
    CHECK(sigma_of(LW_SINGLE, false, N, NULL, &few) < sigma, "zeros that count do not lower sigma");
}

/* The noise is 0 where more than half of the values are 0, or where there are no values. */
static void nothing(void)
{
    double n_finite;
    memset(values, 0, sizeof values);
    for (int i = 0; i < 49; i++)
        values[i] = 1;
    CHECK(sigma_of(LW_SINGLE, false, 100, NULL, &n_finite) == 0 && n_finite == 100,
          "sigma of 100 values, 51 of which are 0, must be 0");
    for (int i = 0; i < 100; i++)
        values[i] = NAN;
    CHECK(sigma_of(LW_SINGLE, false, 100, NULL, &n_finite) == 0 && n_finite == 0, "sigma without finite values must be 0");
    CHECK(sigma_of(LW_DOUBLE, true, 50, NULL, &n_finite) == 0 && n_finite == 0, "sigma without finite complex values must be 0");
    CHECK(sigma_of(LW_SINGLE, false, 0, NULL, &n_finite) == 0 && n_finite == 0, "sigma of no values must be 0");
}

/* Values of few bits lie near the middle of their bins. */
static void levels(void)
{
    double n_finite;
    for (int level = 1; level < 64; level++) {
        for (int i = 0; i < 1000; i++)
            values[i] = i % 2 ? level : -level;
        const double sigma = sigma_of(LW_SINGLE, false, 1000, NULL, &n_finite) / level, wanted = by_definition(1000, false) / level;
        CHECK(fabs(sigma / wanted - 1) < 5e-3, "values of %d: sigma %g, by definition %g", level, sigma * level, wanted * level);
    }
}

/* ---- series side by side --------------------------------------------------------------------------------------------- */

enum { PLACES = 700, ACROSS = 37 };

/* Series [first, first + n) of values [PLACES][ACROSS] give the same counts together as one by one. */
static void check_abreast(enum lw_precision precision, bool is_complex, int first, int n, bool skips)
{
    static uint32_t together[LW_SPREAD_SERIES * MOST_BINS], alone[MOST_BINS];
    static double line[2 * PLACES];
    static unsigned char marks[LW_SPREAD_SERIES * PLACES];
    const int64_t bins = lw_spread_bins(precision), bytes = (precision == LW_SINGLE ? 4 : 8) * (is_complex ? 2 : 1);
    const char *const from = precision == LW_SINGLE ? (const char *)singles : (const char *)values;
    memset(together, 0, sizeof together);
    for (int i = 0; i < n * PLACES; i++)
        marks[i] = uniform() < 0.1;
    const struct lw_spread_values all = {precision, is_complex, from + first * bytes, PLACES,
                                         ACROSS,    n,          skips ? marks : NULL, PLACES};
    lw_spread_count(&all, together, bins);
    for (int k = 0; k < n; k++) {
        int64_t begin, end, least = 0, most = bins;
        for (int64_t i = 0; i < PLACES; i++)
            memcpy((char *)line + i * bytes, from + (i * ACROSS + first + k) * bytes, (size_t)bytes);
        memset(alone, 0, sizeof alone);
        const struct lw_spread_values its = {precision, is_complex, line, PLACES, 1, 1, skips ? marks + k * PLACES : NULL, 0};
        lw_spread_count(&its, alone, 0);
        CHECK(memcmp(alone, together + k * bins, (size_t)bins * sizeof *alone) == 0, "series %d of %d from %d on", k, n, first);
        lw_spread_range(alone, bins, &begin, &end);
        while (alone[least] == 0)
            least++;
        while (alone[most - 1] == 0)
            most--;
        CHECK(begin == least && end == most, "bins %d .. %d, not %d .. %d", (int)begin, (int)end, (int)least, (int)most);
    }
    int64_t begin = 1, end = 1;
    memset(alone, 0, sizeof alone);
    lw_spread_range(alone, bins, &begin, &end);
    CHECK(begin == 0 && end == 0, "bins of nothing: %d .. %d", (int)begin, (int)end);
}

static void test_abreast(void)
{
    make(2 * PLACES * ACROSS, 0.1, 8);
    values[5] = NAN;
    values[77] = -INFINITY;
    for (int i = 0; i < 2 * PLACES * ACROSS; i++)
        singles[i] = (float)values[i];
    for (int kind = 0; kind < 8; kind++)
        for (int n = 1; n <= LW_SPREAD_SERIES; n += 5)
            check_abreast(kind % 2 ? LW_SINGLE : LW_DOUBLE, kind / 2 % 2, n - 1, n, kind / 4);
}

int main(void)
{
    truths();
    complexes();
    scales();
    left_out();
    nothing();
    levels();
    test_abreast();
    return check_result("spread");
}
