/* test_published.c - tests of the published sparse transform against its definitions: windows by direct sums, buckets by 128-bit
 * indices, the cutoff by sorting, votes by visiting all frequencies; and which plans are accepted or refused. */
#include "base/memory.h"
#include "cpu/sfft/published/bins.h"
#include "sfft/number.h"
#include "sfft/published/steps.h"

#include "../check.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

static double uniform(uint64_t seed, uint64_t counter) { return (double)(lw_random_bits(seed, counter) >> 11) * 0x1p-53; }

/* ---- windows ------------------------------------------------------------------------------------------------------- */

static double response(const struct lw_sfft_window *window, double u)
{
    double sum = 0;
    for (int64_t i = -window->half; i <= window->half; i++)
        sum += window->taps[i + window->half] * cos(2 * M_PI * u * (double)i / (double)window->spec.n_buckets);
    return sum;
}

static void check_window(enum lw_published_window kind, enum lw_precision precision)
{
    const struct lw_sfft_spec spec = {.n = 1 << 18, .sparsity = 8, .precision = precision};
    const struct lw_published_choice choice = {.window = kind, .n_buckets = 256};
    struct lw_published_plan plan;
    struct lw_published_layout *layout = NULL;
    struct lw_error err;
    if (lw_published_plan_make(&spec, &choice, 0, &plan, &err) || lw_published_layout_create(&plan, 0, &layout, &err)) {
        CHECK(false, "%s", err.message);
        return;
    }
    const struct lw_sfft_window *const window = layout->window;
    for (double u = -LW_SFFT_WINDOW_RANGE; u <= LW_SFFT_WINDOW_RANGE; u += 0.0171) {
        const double expected = response(window, u), got = lw_sfft_window_response(window, u);
        CHECK(fabs(got - expected) < 1e-10, "G(%g) is %.15g, not %.15g", u, expected, got);
    }
    CHECK(fabs(response(window, 0) - 1) < 1e-12, "G(0) is %.15g", response(window, 0));
    CHECK(response(window, 0.5) > 0.85 && response(window, 0.3) > 0.99, "not flat: G(0.5) is %g", response(window, 0.5));
    for (double u = 1.2; u < 128; u += 0.0317)
        CHECK(fabs(response(window, u)) < plan.window.tolerance, "G(%g) is %g, tolerance %g", u, response(window, u),
              plan.window.tolerance);
    lw_published_layout_destroy(layout);
}

/* ---- buckets ------------------------------------------------------------------------------------------------------- */

static double complex bucket_by_definition(const struct lw_sfft_stage *loop, const struct lw_published_signal *signal, int64_t b)
{
    const int64_t n = loop->spec.n, half = loop->window->half;
    double complex sum = 0;
    for (int64_t i = -half; i <= half; i++) {
        const wide at = (((wide)loop->sigma * i + loop->tau) % n + n) % n;
        if (lw_mod(i, loop->spec.n_buckets) == b)
            sum += loop->window->taps[i + half] * lw_cpu_published_sample(signal, (int64_t)at);
    }
    return sum;
}

static void check_bins(int64_t n, int64_t n_buckets, int64_t half, bool is_real)
{
    enum { LOOPS = 3, MOST = 2100 };
    static double complex memory[2][LOOPS][MOST];
    static double taps[20001], samples[2 * 30000];
    const struct lw_sfft_window window = {.spec = {.n_buckets = n_buckets}, .half = half, .taps = taps};
    const struct lw_published_signal signal = {samples, is_real};
    double complex *planes[2][LOOPS];
    struct lw_sfft_stage loops[LOOPS];
    for (int64_t i = 0; i < 2 * n; i++)
        samples[i] = uniform(1, (uint64_t)i) - 0.5;
    for (int64_t i = 0; i <= 2 * half; i++)
        taps[i] = uniform(2, (uint64_t)i) - 0.5;
    for (int l = 0; l < LOOPS; l++) {
        const struct lw_sfft_stage_spec spec = {n, n_buckets, 1, (uint64_t)l};
        loops[l] = lw_sfft_stage_make(&spec, &window);
        planes[0][l] = memory[0][l];
        planes[1][l] = memory[1][l];
    }
    for (int way = 0; way < 4; way++) {
        const struct lw_published_bins bins = {loops, LOOPS, planes[way > 0], 1 + way};
        memset(memory[way > 0], 0x7f, sizeof memory[0]);
        lw_cpu_published_bin(&bins, &signal);
        for (int l = 0; way > 0 && l < LOOPS; l++)
            CHECK(memcmp(planes[0][l], planes[1][l], (size_t)n_buckets * sizeof **planes[0]) == 0, "other bits by %d threads",
                  1 + way);
    }
    for (int l = 0; l < LOOPS; l++) {
        for (int64_t b = 0; b < n_buckets; b += 1 + n_buckets / 50) {
            const double complex expected = bucket_by_definition(&loops[l], &signal, b);
            CHECK(cabs(planes[0][l][b] - expected) < 1e-12, "n %" PRId64 ": bucket %" PRId64 " of loop %d", n, b, l);
        }
    }
}

/* ---- cutoff -------------------------------------------------------------------------------------------------------- */

/* Values of all sizes, with many ties and zeros. */
static double value_at(int kind, uint64_t i)
{
    if (kind == 0)
        return 0;
    if (kind == 1)
        return (double)(lw_random_bits(9, i) % 5);
    return kind == 2 ? uniform(9, i) : exp2(600 * (uniform(9, i) - 0.5));
}

static void check_cutoff(int64_t count, int64_t most, int kind)
{
    enum { MOST = 3000 };
    static double values[MOST];
    static int64_t selected[MOST];
    static bool is_taken[MOST];
    for (int64_t i = 0; i < count; i++)
        values[i] = value_at(kind, (uint64_t)i);
    const int64_t a = lw_published_cut(values, count, most, selected);
    CHECK(a == (most < count ? most : count), "%" PRId64 " of %" PRId64, a, most);
    memset(is_taken, 0, sizeof is_taken);
    double least = INFINITY;
    for (int64_t i = 0; i < a; i++) {
        CHECK(i == 0 || selected[i] > selected[i - 1], "places are not in order");
        is_taken[selected[i]] = true;
        least = fmin(least, values[selected[i]]);
    }
    /* Equal values are selected in order of their places. */
    const int64_t last = a > 0 ? selected[a - 1] : -1;
    for (int64_t i = 0; i < count; i++)
        CHECK(is_taken[i] || values[i] < least || (values[i] == least && (i > last || values[last] > least)),
              "%g at %" PRId64 " was left out", values[i], i);
}

/* ---- votes --------------------------------------------------------------------------------------------------------- */

/* The bucket with the nearest centre; the upper one of two equally near. */
static int64_t nearest_bucket(const struct lw_sfft_stage *loop, int64_t f)
{
    const wide n = loop->spec.n, permuted = (wide)loop->sigma * f % n;
    return (int64_t)((2 * permuted * loop->spec.n_buckets + n) / (2 * n)) % loop->spec.n_buckets;
}

static bool holds(const int64_t *list, int64_t count, int64_t value)
{
    for (int64_t i = 0; i < count; i++)
        if (list[i] == value)
            return true;
    return false;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check_votes(int64_t n, int64_t n_buckets, int64_t n_frequencies, int64_t comb_size, int n_threads)
{
    enum { LOOPS = 4, PLACES = 12, MOST = 5000, NEEDED = 2, RESIDUES = 9 };
    static uint8_t votes[MOST];
    static int64_t elected[MOST], counts[PLACES], places[PLACES], permuted[RESIDUES];
    static int expected[MOST];
    int64_t approved[RESIDUES];
    struct lw_published_ballot ballot = {
        .n_frequencies = n_frequencies, .votes = votes, .needed = NEEDED, .elected = elected, .capacity = MOST,
        .counts = counts, .n_threads = n_threads,
    };
    for (int r = 0; r < RESIDUES; r++)
        approved[r] = r * (r + 1) / 2;
    const struct lw_published_comb comb = {comb_size, approved, RESIDUES, permuted};
    memset(votes, 0, sizeof votes);
    memset(expected, 0, sizeof expected);
    for (int l = 0; l < LOOPS; l++) {
        const struct lw_sfft_stage_spec spec = {n, n_buckets, 1, (uint64_t)l + 5};
        const struct lw_sfft_stage loop = lw_sfft_stage_make(&spec, NULL);
        for (int i = 0; i < PLACES; i++)
            places[i] = i * (n_buckets / PLACES) + (i > 0 ? (i + l) % 3 : 0);
        lw_published_vote(&ballot, &loop, &comb, places, PLACES);
        for (int64_t f = 0; f < n_frequencies; f++)
            expected[f] += holds(places, PLACES, nearest_bucket(&loop, f)) &&
                           (comb_size == 0 || holds(approved, RESIDUES, f % comb_size));
    }
    int64_t enough = 0;
    for (int64_t f = 0; f < n_frequencies; f++) {
        CHECK(votes[f] == expected[f], "n %" PRId64 ": %d votes for %" PRId64 ", not %d", n, votes[f], f, expected[f]);
        enough += expected[f] >= NEEDED;
    }
    CHECK(ballot.n_elected == enough && enough > 0, "%" PRId64 " elected, not %" PRId64, ballot.n_elected, enough);
    qsort(elected, (size_t)enough, sizeof *elected, by_number);
    for (int64_t i = 0; i < enough; i++)
        CHECK(expected[elected[i]] >= NEEDED && (i == 0 || elected[i] > elected[i - 1]), "elected: %" PRId64, elected[i]);
}

/* The list ends at its capacity; the count goes on. */
static void check_capacity(void)
{
    enum { N = 1000, BUCKETS = 64, PLACES = 8, CAPACITY = 5 };
    uint8_t votes[N] = {0};
    int64_t elected[CAPACITY + 1] = {[CAPACITY] = -7}, counts[PLACES], places[PLACES] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct lw_published_ballot ballot = {
        .n_frequencies = N, .votes = votes, .needed = 1, .elected = elected, .capacity = CAPACITY, .counts = counts,
        .n_threads = 2,
    };
    const struct lw_published_comb none = {0};
    const struct lw_sfft_stage_spec spec = {N, BUCKETS, 1, 3};
    const struct lw_sfft_stage loop = lw_sfft_stage_make(&spec, NULL);
    lw_published_vote(&ballot, &loop, &none, places, PLACES);
    CHECK(ballot.n_elected == N * PLACES / BUCKETS, "%" PRId64 " elected", ballot.n_elected);
    CHECK(elected[CAPACITY] == -7, "the list goes beyond its capacity");
}

/* ---- plans --------------------------------------------------------------------------------------------------------- */

static void check_plans(void)
{
    struct lw_published_plan plan;
    struct lw_error err;
    for (int bits = 18; bits <= 34; bits += 4) {
        for (int64_t k = 10; k <= 1000 && k < (int64_t)1 << (bits - 10); k *= 10) {
            const struct lw_sfft_spec spec = {.n = ((int64_t)1 << bits) - 1, .sparsity = k, .precision = LW_DOUBLE};
            const struct lw_published_choice choice = {0};
            const int rc = lw_published_plan_make(&spec, &choice, 0, &plan, &err);
            const double balanced = sqrt((double)spec.n * (double)k / bits);
            CHECK(rc == LW_OK, "2^%d, %" PRId64 ": %s", bits, k, err.message);
            CHECK((double)plan.choice.n_buckets >= balanced / 1.5 && plan.choice.n_buckets >= 16 * k, "%" PRId64 " buckets",
                  plan.choice.n_buckets);
            CHECK(plan.n_selected == 2 * k && plan.choice.votes <= plan.choice.location_loops, "%d votes", plan.choice.votes);
            CHECK(plan.samples == (lw_published_count_loops(&plan) + 1) * (2 * lw_published_window_half(&plan) + 1),
                  "the plan's number of samples is wrong");
            const int64_t buckets = plan.choice.n_buckets;
            CHECK(lw_published_plan_make(&spec, &choice, 1, &plan, &err) != LW_OK || plan.choice.n_buckets == 2 * buckets,
                  "the second attempt has %" PRId64 " buckets", plan.choice.n_buckets);
        }
    }
    const struct lw_sfft_spec spec = {.n = 1000000, .sparsity = 10};
    const struct lw_published_choice refused[] = {
        {.votes = 5, .location_loops = 4}, {.location_loops = 40, .estimation_loops = 40}, {.comb = 4096}, {.n_buckets = 9},
        {.n_buckets = 500000},
    };
    static const char *const named[] = {
        "--location-loops 4,votes=5", "--location-loops 40", "--comb 4096", "--buckets 9 ", "500000 buckets"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK(lw_published_plan_make(&spec, &refused[i], 0, &plan, &err) == LW_ECONFIG, "choice %zu is not refused", i);
        CHECK(strstr(err.message, named[i]) != NULL, "%s", err.message);
    }
    /* fewer buckets than usual: as many are selected as there are, and more loops estimate */
    static const struct {
        int64_t n_buckets, selected[2], louder;
        int loops;
    } few[] = {
        {10, {10, 10}, 9, 59}, {31, {20, 20}, 23, 59}, {41, {20, 20}, 20, 37}, {101, {20, 40}, 50, 10}, {400, {20, 40}, 200, 10},
    };
    for (size_t i = 0; i < 2 * sizeof few / sizeof *few; i++) {
        const struct lw_published_choice choice = {.n_buckets = few[i / 2].n_buckets};
        const int attempt = i % 2;
        CHECK(lw_published_plan_make(&spec, &choice, attempt, &plan, &err) == LW_OK, "%s", err.message);
        CHECK(plan.choice.n_buckets == choice.n_buckets && plan.n_selected == few[i / 2].selected[attempt] &&
                  plan.n_louder == few[i / 2].louder && plan.choice.estimation_loops == few[i / 2].loops,
              "%" PRId64 " buckets: %" PRId64 " selected, %" PRId64 " louder, %d loops", choice.n_buckets, plan.n_selected,
              plan.n_louder, plan.choice.estimation_loops);
    }
    const struct lw_published_choice comb = {.comb = 4000};
    CHECK(lw_published_plan_make(&spec, &comb, 0, &plan, &err) == LW_OK && plan.n_residues == 20, "%" PRId64 " residues",
          plan.n_residues);
}

int main(void)
{
    for (int precision = 0; precision < 2; precision++) {
        check_window(LW_PUBLISHED_DOLPH_CHEBYSHEV, (enum lw_precision)precision);
        check_window(LW_PUBLISHED_GAUSSIAN, (enum lw_precision)precision);
    }
    check_bins(30000, 64, 391, false);
    check_bins(29989, 2100, 10000, true);
    check_bins(20000, 1030, 100, false);
    check_bins(29989, 1231, 7000, false);
    for (int kind = 0; kind < 4; kind++) {
        check_cutoff(0, 3, kind);
        check_cutoff(1, 1, kind);
        check_cutoff(7, 0, kind);
        check_cutoff(3000, 40, kind);
        check_cutoff(2999, 2998, kind);
        check_cutoff(100, 200, kind);
    }
    for (int n_threads = 1; n_threads < 4; n_threads++) {
        check_votes(4096, 128, 4096, 0, n_threads);
        check_votes(4999, 100, 2500, 0, n_threads);
        check_votes(4800, 128, 4800, 160, n_threads);
        check_votes(4800, 48, 2401, 40, n_threads);
    }
    check_capacity();
    check_plans();
    return check_result("sfft2");
}
