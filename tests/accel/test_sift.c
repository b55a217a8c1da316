/* test_sift.c - tests of the choice of hits in a search by the definition, with strong and weak signals in noise, and of relations
 * between candidates against the definition for all pairs. */
#include "../check.h"
#include "accel/sift.h"
#include "design/drift.h"
#include "signal/significance.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BINS = 4096, STAGES = 3 };

static struct lw_accel_plan plan;
static double complex spectrum[BINS];
static float *powers;               /* [z][point of r] */
static float variances[1024];       /* [blocks] */

static double uniform(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static void make_noise(void)
{
    for (int k = 0; k < BINS; k++)
        spectrum[k] = sqrt(-log(uniform())) * cexp(2 * I * M_PI * uniform());
}

static void add_signal(double r, double z, double power)
{
    enum { REACH = 100, STEPS = 64 };
    static double complex response[2 * REACH * STEPS + 1];
    CHECK(lw_drift_response(z, 0, STEPS, REACH, (double *)response, NULL) == LW_OK, "no response");
    const double complex amplitude = sqrt(power) * cexp(2 * I * M_PI * uniform());
    for (int k = (int)r - REACH + 1; k < (int)r + REACH - 1; k++)
        spectrum[k] += amplitude * response[(int)lround((r - k) * STEPS) + REACH * STEPS];
}

static void make_powers(void)
{
    const int half = LW_ACCEL_STEPS * plan.half_width;
    double complex *const response = malloc((size_t)(2 * half + 1) * sizeof *response);
    for (int z = 0; z < plan.n_z; z++) {
        CHECK(lw_drift_response(lw_accel_z(&plan, z), 0, LW_ACCEL_STEPS, plan.half_width, (double *)response, NULL) == LW_OK,
              "no response");
        for (int j = 0; j < 2 * BINS; j++) {
            double re = 0, im = 0;
            const int first = (j + 1) / 2 - plan.half_width, last = j / 2 + plan.half_width;
            for (int k = first > 1 ? first : 1; k <= last && k < BINS; k++) {
                const double complex x = spectrum[k], a = response[j - 2 * k + half];
                re += creal(x) * creal(a) + cimag(x) * cimag(a);
                im += cimag(x) * creal(a) - creal(x) * cimag(a);
            }
            powers[z * 2 * BINS + j] = (float)(re * re + im * im);
        }
    }
    free(response);
}

static float sum_at(int64_t j, int z, int H)
{
    float sum = 0;
    for (int k = 1; k <= H; k++)
        sum += powers[(plan.n_z / 2 + lw_accel_sub_z(z - plan.n_z / 2, k, H)) * 2 * BINS + lw_accel_sub_r(j, k, H)];
    return sum;
}

static int64_t find_hits(struct lw_accel_hit *hits)
{
    int64_t n = 0;
    make_powers();
    for (int stage = 0; stage < plan.spec.n_stages; stage++)
        for (int64_t cell = plan.begin / LW_ACCEL_CELL; cell * LW_ACCEL_CELL < plan.end; cell++) {
            struct lw_accel_hit best = {.sum = 0};
            for (int z = 0; z < plan.n_z; z++)
                for (int64_t j = cell * LW_ACCEL_CELL; j < (cell + 1) * LW_ACCEL_CELL; j++)
                    if (j >= plan.begin && j < plan.end && sum_at(j, z, 1 << stage) > best.sum)
                        best = (struct lw_accel_hit){.r = j, .z = (int16_t)z, .stage = stage, .sum = sum_at(j, z, 1 << stage)};
            if (best.sum >= plan.least[stage])
                hits[n++] = best;
        }
    return n;
}

static double fundamental(const struct lw_accel_hit *hit) { return (double)hit->r / LW_ACCEL_STEPS / (1 << hit->stage); }

static double significance(const struct lw_accel_hit *hit)
{
    return lw_sum_sigma(1 << hit->stage, hit->sum, 0, plan.trials[hit->stage]);
}

/* Thin hits; the result may not depend on their order. */
static int64_t thin(struct lw_accel_hit *hits, int64_t n)
{
    struct lw_accel_hit *const shuffled = malloc((size_t)(n + 1) * sizeof *shuffled);
    memcpy(shuffled, hits, (size_t)n * sizeof *hits);
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t other = (int64_t)(uniform() * (double)(i + 1));
        const struct lw_accel_hit hit = shuffled[i];
        shuffled[i] = shuffled[other];
        shuffled[other] = hit;
    }
    int64_t kept = n, also_kept = n;
    CHECK(lw_accel_thin(&plan, variances, hits, &kept, NULL) == LW_OK, "not thinned");
    CHECK(lw_accel_thin(&plan, variances, shuffled, &also_kept, NULL) == LW_OK, "not thinned");
    CHECK(kept == also_kept && !memcmp(hits, shuffled, (size_t)kept * sizeof *hits), "%" PRId64 " or %" PRId64 " hits are kept",
          kept, also_kept);
    for (int64_t i = 1; i < kept; i++)
        CHECK(significance(&hits[i]) <= significance(&hits[i - 1]) * (1 + 1e-12), "hit %" PRId64 " is above that before", i);
    free(shuffled);
    return kept;
}

/* Whether one of the hits, in front, is a signal within a step of the grid; which ones are near it. */
static bool is_kept(const struct lw_accel_hit *hits, int64_t n, double r, double z)
{
    for (int64_t i = 0; i < n; i++)
        if (fabs(fundamental(&hits[i]) - r) <= 1 && fabs(lw_accel_z(&plan, hits[i].z) / (1 << hits[i].stage) - z) <= 4)
            return true;
    return false;
}

static void check_noise(struct lw_accel_hit *hits)
{
    int64_t before = 0, after = 0;
    for (int i = 0; i < 2; i++) {
        make_noise();
        const int64_t n = find_hits(hits);
        before += n;
        after += thin(hits, n);
    }
    printf("noise: %" PRId64 " of %" PRId64 " hits are kept\n", after, before);
    CHECK(after <= before && after <= 8, "%" PRId64 " hits are kept in noise", after);
}

/* A strong signal with its ridge and side lobes, another of 4 harmonics, and weaker ones beside the first. */
static void check_signals(struct lw_accel_hit *hits)
{
    make_noise();
    add_signal(1000.3, 13, 3000);
    add_signal(1035.2, -20, 60);
    add_signal(1016.5, 12, 60);
    add_signal(965.1, 30, 60);
    add_signal(1090.1, 0, 36);
    for (int k = 1; k <= 4; k++)
        add_signal(k * 870.2, k * -7.1, 80);
    const int64_t n = find_hits(hits), kept = thin(hits, n);
    printf("signals: %" PRId64 " of %" PRId64 " hits are kept\n", kept, n);
    for (int64_t i = 0; i < kept; i++)
        printf("  r %9.3f z %6.2f, %d harmonics, sum %.1f, sigma %.2f\n", fundamental(&hits[i]),
               lw_accel_z(&plan, hits[i].z) / (1 << hits[i].stage), 1 << hits[i].stage, hits[i].sum, significance(&hits[i]));
    CHECK(is_kept(hits, 1, 1000.3, 13), "the strongest is at %g", fundamental(&hits[0]));
    CHECK(is_kept(hits, kept, 1035.2, -20) && is_kept(hits, kept, 1016.5, 12) && is_kept(hits, kept, 965.1, 30), "one is lost");
    CHECK(is_kept(hits, kept, 1090.1, 0), "the weakest, beyond the ridge, is lost");
    CHECK(is_kept(hits, kept, 870.2, -7.1), "the harmonics are lost");
    int beside = 0;
    for (int64_t i = 1; i < kept; i++)
        beside += fabs(fundamental(&hits[i]) - 1000.3) < 80;
    CHECK(beside <= 8, "%d hits beside the strongest are kept, not about the 3 that are signals", beside);
    CHECK(kept < n / 3, "%" PRId64 " of %" PRId64 " hits are kept", kept, n);
}

/* A weak hit beside a strong one goes, and one far away stays, wherever they are. */
static void check_pairs(void)
{
    for (int64_t r = plan.begin; r + 1000 < plan.end; r += 3)
        for (int far = 0; far < 2; far++) {
            struct lw_accel_hit hits[] = {{.r = r + (far ? 1000 : 2), .z = 31, .sum = 30}, {.r = r, .z = 30, .sum = 1000}};
            int64_t n = 2;
            CHECK(lw_accel_thin(&plan, variances, hits, &n, NULL) == LW_OK && n == 1 + far && hits[0].sum == 1000,
                  "%" PRId64 " of 2 hits are kept at %" PRId64, n, r);
        }
}

/* A large sum in a block whose level is poor is less significant than a smaller one in another. */
static void check_levels(void)
{
    struct lw_accel_hit hits[] = {{.r = 24, .z = 30, .sum = 60}, {.r = 4000, .z = 30, .sum = 35}};
    int64_t n = 2;
    variances[0] = 0.1f;
    CHECK(lw_accel_thin(&plan, variances, hits, &n, NULL) == LW_OK && n == 2 && hits[0].r == 4000, "the first hit is at %" PRId64,
          hits[0].r);
    variances[0] = 0;
    CHECK(lw_accel_thin(&plan, variances, hits, &n, NULL) == LW_OK && n == 2 && hits[0].r == 24, "the first hit is at %" PRId64,
          hits[0].r);
}

/* Hits of a very strong pulsar: each cell near its harmonics has one; they go in seconds. */
static void check_many(void)
{
    enum { MANY = 1 << 17 };
    const struct lw_accel_spec spec = {.n = 1 << 21, .n_fft = 1 << 21, .n_stages = 5, .z_max = 200, .r_low = 1, .r_high = 1 << 20,
                                       .sigma = 2};
    CHECK(lw_accel_plan(&spec, &plan, NULL) == LW_OK, "no plan");
    struct lw_accel_hit *const hits = malloc(MANY * sizeof *hits);
    for (int64_t i = 0; i < MANY; i++) {
        const int stage = (int)(i % 5), z = (int)(uniform() * 200 - 100);
        const int64_t r = i / 5 * LW_ACCEL_CELL + (int)(uniform() * LW_ACCEL_CELL);
        const double bins = (double)r / LW_ACCEL_STEPS / (1 << stage), q = fmod(bins + 5000, 10000) - 5000, away = fabs(q) - abs(z);
        const double leak = away > 0.5 ? 0.1 / (away * away) : 1 / (abs(z) + 1.0);
        hits[i] = (struct lw_accel_hit){.r = r, .z = (int16_t)(100 + z), .stage = stage,
                                        .sum = (float)(4e4 * leak + plan.least[stage])};
    }
    const clock_t begin = clock();
    int64_t n = MANY;
    CHECK(lw_accel_thin(&plan, variances, hits, &n, NULL) == LW_OK, "not thinned");
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("%d hits: %.2f s, %" PRId64 " are kept\n", MANY, seconds, n);
    CHECK(seconds < 20, "%g s", seconds);
    free(hits);
}

/* ---- relations -------------------------------------------------------------------------------------------------------------- */

static struct lw_accel_candidate candidate(double sigma, int harmonics, double r, double z)
{
    return (struct lw_accel_candidate){.harmonics = harmonics, .sigma = sigma, .power = 50, .r = r, .z = z,
                                       .r_error = 0.05 / harmonics, .z_error = 0.5 / harmonics};
}

static void check_known(void)
{
    const struct { struct lw_accel_candidate c; int to, n, d; } cases[] = {
        {candidate(50, 8, 1000.1, 10), -1, 0, 0},
        {candidate(40, 8, 1000.12, 10.2), 0, 1, 1},
        {candidate(30, 8, 500.06, 5.1), 0, 1, 2},
        {candidate(28, 8, 500.06, 15), -1, 0, 0},           /* another drift */
        {candidate(25, 1, 3000.2, 30.5), 0, 3, 1},
        {candidate(22, 16, 1000.1 * 13 / 16, 10. * 13 / 16), 0, 13, 16},
        {candidate(20, 1, 1000.1 * 3 / 2, 15), 0, 3, 2},    /* no harmonic of it, but weak */
        {candidate(19, 1, 1003.1, 10), -1, 0, 0},
        {candidate(12, 1, 1003.2 * 3 / 2, 15), -1, 0, 0},   /* no harmonic of it, and not weak enough */
        {candidate(10, 2, 1003.2 * 3 / 2, 15), 7, 3, 2},
        {candidate(8, 1, 17 * 1000.1, 170), -1, 0, 0},
        {candidate(7, 1, 500.06, 15.2), 3, 1, 1},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    struct lw_accel_candidate candidates[CASES];
    struct lw_accel_relation relations[CASES];
    for (int i = 0; i < CASES; i++)
        candidates[i] = cases[i].c;
    CHECK(lw_accel_relate(candidates, CASES, relations, NULL) == LW_OK, "no relations");
    for (int i = 0; i < CASES; i++)
        CHECK(relations[i].to == cases[i].to
              && (cases[i].to < 0 || (relations[i].numerator == cases[i].n && relations[i].denominator == cases[i].d)),
              "candidate %d is related to %" PRId64 ", %d / %d", i, relations[i].to, relations[i].numerator,
              relations[i].denominator);
}

static int compare_sigmas(const void *a, const void *b)
{
    const struct lw_accel_candidate *const x = a, *const y = b;
    return (x->sigma < y->sigma) - (x->sigma > y->sigma);
}

/* Many candidates of few signals: each related one is where it should be, and the first that fits is found. */
static void check_all(int64_t n)
{
    struct lw_accel_candidate *const all = malloc((size_t)n * sizeof *all);
    struct lw_accel_relation *const relations = malloc((size_t)n * sizeof *relations);
    for (int64_t i = 0; i < n; i++) {
        const int k = 1 + (int)(uniform() * 18), d = 1 + (int)(uniform() * 18), which = (int)(uniform() * 20);
        const double r = which < 5 ? (5000.3 + 1234.56 * which) * k / d : 40000 * uniform();
        const double z = which < 5 ? (20. - 7 * which) * k / d : 0;
        all[i] = candidate(5 + 50 * uniform(), 1 << (int)(4 * uniform()), r + 0.05 * uniform(), z + 0.1 * uniform());
    }
    qsort(all, (size_t)n, sizeof *all, compare_sigmas);
    const clock_t begin = clock();
    CHECK(lw_accel_relate(all, n, relations, NULL) == LW_OK, "no relations");
    printf("relations of %" PRId64 " candidates: %.2f s\n", n, (double)(clock() - begin) / CLOCKS_PER_SEC);
    int64_t related = 0;
    for (int64_t i = 0; i < n && n <= 800; i++) {
        int64_t expected = -1;
        for (int64_t j = 0; j < i && expected < 0; j++)
            for (int d = 1; d <= 16 && relations[j].to < 0; d++)
                for (int k = 1; k <= 16; k++) {
                    const double ratio = (double)k / d, unit = fmax(1. / all[i].harmonics, ratio / all[j].harmonics);
                    const double near = 4 * hypot(all[i].r_error, ratio * all[j].r_error) + unit / 2;
                    const double r_most = fmin(near, 1.5 * fmax(1, ratio));
                    const double z_most = 4 * hypot(all[i].z_error, ratio * all[j].z_error) + 2 * unit;
                    int common = 16;
                    while (k % common || d % common)
                        common--;
                    if (common == 1 && fabs(all[i].r - ratio * all[j].r) <= r_most && fabs(all[i].z - ratio * all[j].z) <= z_most
                        && (d <= all[i].harmonics || all[j].sigma >= 2 * all[i].sigma))
                        expected = j;
                }
        CHECK(relations[i].to == expected, "candidate %" PRId64 " is related to %" PRId64 ", not %" PRId64, i, relations[i].to,
              expected);
        related += expected >= 0;
    }
    CHECK(n > 800 || (related > n / 10 && related < n), "%" PRId64 " of %" PRId64 " are related", related, n);
    free(all);
    free(relations);
}

int main(void)
{
    const struct lw_accel_spec spec = {.n = 2 * BINS, .n_fft = 2 * BINS, .n_stages = STAGES, .z_max = 60, .r_low = 40,
                                       .r_high = BINS - 1, .sigma = 2};
    CHECK(lw_accel_plan(&spec, &plan, NULL) == LW_OK, "no plan");
    powers = malloc((size_t)plan.n_z * 2 * BINS * sizeof *powers);
    struct lw_accel_hit *const hits = malloc(3 * 2 * BINS / LW_ACCEL_CELL * sizeof *hits);
    int64_t none = 0;
    CHECK(lw_accel_thin(&plan, variances, hits, &none, NULL) == LW_OK && none == 0, "something of nothing");
    check_noise(hits);
    check_signals(hits);
    check_pairs();
    check_levels();
    free(hits);
    free(powers);
    check_many();
    check_known();
    CHECK(lw_accel_relate(NULL, 0, NULL, NULL) == LW_OK, "no candidates");
    check_all(800);
    check_all(50000);
    return check_result("accel_sift");
}
