/* test_sfft.c - tests of the arithmetic of the sparse transform against its definitions: modular products in 128 bits, the
 * window's response as a direct sum, places and phases of a stage, and the properties of a plan. */
#include "sfft/number.h"
#include "sfft/sfft.h"

#include "../check.h"

#include <inttypes.h>
#include <math.h>

__extension__ typedef __int128 wide;

static void check_products(void)
{
    static const int64_t lengths[] = {2, 3, 1000003, ((int64_t)1 << 31) - 1, (int64_t)1 << 34, 3 * ((int64_t)1 << 40) + 7,
                                      LW_SFFT_MAX_SAMPLES};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        const int64_t n = lengths[l];
        for (uint64_t i = 0; i < 20000; i++) {
            const int64_t a = i % 7 == 0 ? n - 1 : lw_random_below(1, i, n), b = i % 11 == 0 ? n - 1 : lw_random_below(2, i, n);
            const int64_t expected = (int64_t)((wide)a * b % n), got = lw_mod_multiply(a, b, n);
            CHECK(got == expected, "%" PRId64 " x %" PRId64 " mod %" PRId64 " is %" PRId64 ", not %" PRId64, a, b, n, expected,
                  got);
        }
    }
}

static int64_t common_divisor(int64_t a, int64_t b) { return b == 0 ? a : common_divisor(b, a % b); }

static void check_inverses(void)
{
    for (int64_t n = 2; n < 60; n++) {
        for (int64_t a = 0; a < n; a++) {
            const int64_t b = lw_mod_inverse(a, n);
            const bool has_one = common_divisor(n, a) == 1;
            CHECK(has_one ? a * b % n == 1 : b == 0, "inverse of %" PRId64 " mod %" PRId64 ": %" PRId64, a, n, b);
        }
    }
}

static void check_random(void)
{
    /* chi-squared of 64000 draws in 16 cells has mean 15 and standard deviation 5.5 */
    int64_t seen[16] = {0};
    double chi = 0;
    for (uint64_t i = 0; i < 64000; i++) {
        const int64_t x = lw_random_below(5, i, 16);
        CHECK(x >= 0 && x < 16, "%" PRId64, x);
        seen[x & 15]++;
    }
    for (int c = 0; c < 16; c++)
        chi += pow((double)seen[c] - 4000, 2) / 4000;
    CHECK(chi < 50, "chi squared %g", chi);
    CHECK(lw_random_bits(1, 2) != lw_random_bits(2, 1), "exchanging seed and counter gives the same bits");
}

static double response(const struct lw_sfft_window *window, double u)
{
    double sum = 0;
    for (int64_t i = -window->half; i <= window->half; i++)
        sum += window->taps[i + window->half] * cos(2 * M_PI * u * (double)i / (double)window->spec.n_buckets);
    return sum;
}

static void check_window(int64_t n_buckets, double tolerance, double length)
{
    const struct lw_sfft_window_spec spec = {n_buckets, tolerance, 1.5, length};
    struct lw_sfft_window *window = NULL;
    struct lw_error err;
    if (lw_sfft_window_create(&spec, &window, &err) != LW_OK) {
        CHECK(false, "%s", err.message);
        return;
    }
    for (double u = -LW_SFFT_WINDOW_RANGE; u <= LW_SFFT_WINDOW_RANGE; u += 0.0171) {
        const double expected = response(window, u), got = lw_sfft_window_response(window, u);
        CHECK(fabs(got - expected) < 1e-11, "G(%g) is %.15g, not %.15g", u, expected, got);
    }
    CHECK(fabs(lw_sfft_window_response(window, 0) - 1) < 1e-11, "G(0) is %.15g", lw_sfft_window_response(window, 0));
    CHECK(response(window, 0.5) > 0.6, "G(0.5) is %g", response(window, 0.5));
    for (double u = 1.5; u < (double)n_buckets / 2; u += 0.0317)
        CHECK(fabs(response(window, u)) < 2 * tolerance, "G(%g) is %g with tolerance %g", u, response(window, u), tolerance);
    lw_sfft_window_destroy(window);
}

/* A stage's places and phases agree with the formulas in sfft/stage.h, computed in 128 bits. */
static void check_stage(int64_t n, int64_t n_buckets)
{
    const struct lw_sfft_window_spec shape = {n_buckets, 1e-7, 1.5, 5};
    struct lw_sfft_window window = {.spec = shape, .half = lw_sfft_window_half(&shape)};
    const struct lw_sfft_stage_spec spec = {n, n_buckets, lw_sfft_count_shifts(n, n_buckets, 4), 7};
    const struct lw_sfft_stage stage = lw_sfft_stage_make(&spec, &window);
    CHECK((wide)stage.sigma * stage.sigma_inverse % n == 1, "sigma %" PRId64 " of %" PRId64, stage.sigma, n);
    CHECK(stage.ratio <= 16.01, "ratio %g with 4 bits a shift", stage.ratio);
    const double last = (double)stage.shift[spec.n_shifts - 1] * stage.ratio;
    CHECK(fabs(last - (double)n) < 1e-6 * (double)n, "last shift %" PRId64 " of %" PRId64, stage.shift[spec.n_shifts - 1], n);
    for (uint64_t i = 0; i < 2000; i++) {
        const int64_t f = lw_random_below(3, i, n), at = lw_random_below(4, i, 2 * window.half + 1);
        const int d = (int)(i % (uint64_t)spec.n_shifts);
        wide sample = ((wide)stage.sigma * (stage.shift[d] + at - window.half) + stage.tau) % n;
        sample = sample < 0 ? sample + n : sample;
        CHECK(lw_sfft_stage_sample(&stage, d, at) == (int64_t)sample, "sample %" PRId64 " of row %d", at, d);

        const struct lw_sfft_place place = lw_sfft_stage_place(&stage, f);
        CHECK(place.permuted == (int64_t)((wide)stage.sigma * f % n), "f' of %" PRId64, f);
        const double off = (double)place.permuted * (double)n_buckets / (double)n - (double)place.bucket - place.distance;
        CHECK(fabs(off) < 1e-6 || fabs(off - (double)n_buckets) < 1e-6, "bucket %" PRId64 " + %g", place.bucket, place.distance);
        CHECK(fabs(place.distance) <= 0.5 && place.bucket >= 0 && place.bucket < n_buckets, "bucket %" PRId64, place.bucket);

        const int64_t turns = (int64_t)(((wide)stage.sigma * stage.shift[d] + stage.tau) % n * f % n);
        const double got = lw_sfft_stage_turns(&stage, d, f, place.permuted);
        CHECK(fabs(got - (double)turns / (double)n) < 1e-15, "turns %g", got);
    }
}

/* The plan for a signal that is in memory (spec.is_at_hand): its numbers of buckets are powers of two, and at most a third above
 * the numbers of the other plan. */
static void check_plan_at_hand(const struct lw_sfft_spec *otherwise, const struct lw_sfft_plan *other)
{
    struct lw_sfft_spec spec = *otherwise;
    spec.is_at_hand = true;
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    int64_t samples = 0;
    for (int a = 0; a < plan.n_attempts; a++) {
        const int64_t buckets = plan.attempts[a].n_buckets, fewest = other->attempts[a].n_buckets;
        samples += plan.attempts[a].samples;
        CHECK((buckets & (buckets - 1)) == 0, "%" PRId64 " buckets are no power of two", buckets);
        CHECK(buckets >= fewest && 3 * buckets <= 4 * fewest, "%" PRId64 " buckets, not %" PRId64, buckets, fewest);
    }
    CHECK(plan.n_attempts <= other->n_attempts && samples <= spec.n / 4, "%" PRId64 " of %" PRId64 " samples", samples, spec.n);
}

static void check_plans(void)
{
    for (int bits = 4; bits <= 40; bits += 4) {
        for (int64_t k = 1; k <= 1000000; k *= 10) {
            const struct lw_sfft_spec spec = {.n = ((int64_t)1 << bits) + 5, .sparsity = k, .precision = LW_DOUBLE};
            const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
            int64_t samples = 0;
            for (int a = 0; a < plan.n_attempts; a++) {
                samples += plan.attempts[a].samples;
                CHECK((double)plan.attempts[a].n_buckets >= (double)k, "%" PRId64 " buckets", plan.attempts[a].n_buckets);
                CHECK(a == 0 || plan.attempts[a].n_buckets > plan.attempts[a - 1].n_buckets, "attempt %d is no larger", a);
            }
            CHECK(samples <= spec.n / 4, "%" PRId64 " of %" PRId64 " samples", samples, spec.n);
            check_plan_at_hand(&spec, &plan);
        }
    }
    const struct lw_sfft_spec large = {.n = (int64_t)1 << 27, .sparsity = 1000, .precision = LW_DOUBLE};
    CHECK(lw_sfft_plan_make(&large).n_attempts == LW_SFFT_ATTEMPTS, "not all attempts for 1000 lines of 2^27 samples");
}

int main(void)
{
    check_products();
    check_inverses();
    check_random();
    check_window(64, 1e-7, 5);
    check_window(1536, 1e-7, 5);
    check_window(512, 1e-5, 4);
    check_stage((int64_t)1 << 22, 2048);
    check_stage(1000003, 96);
    check_stage((int64_t)1 << 34, 4096);
    check_stage(6 * ((int64_t)1 << 34) + 6, 1536);
    check_plans();
    return check_result("sfft");
}
