/* test_plan.c - tests of plans of searches for drifting signals: grid, trials, thresholds, templates, what cannot be searched. */
#include "../check.h"
#include "accel/accel.h"
#include "accel/templates.h"
#include "design/drift.h"
#include "signal/significance.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct lw_accel_spec usual = {.n = 1 << 22, .n_fft = 1 << 22, .n_stages = 4, .z_max = 200, .r_low = 10,
                                           .r_high = (1 << 21) - 1, .sigma = 2};

static struct lw_accel_plan plan(struct lw_accel_spec spec)
{
    struct lw_accel_plan out = {0};
    struct lw_error err;
    CHECK(lw_accel_plan(&spec, &out, &err) == LW_OK, "no plan: %s", err.message);
    return out;
}

/* PRESTO's accelsearch says, for this search: 201 values of z, and the trials below; its threshold of one harmonic is -log(Q(2) /
 * n). */
static void check_usual(void)
{
    const struct lw_accel_plan p = plan(usual);
    CHECK(p.n_bins == 1 << 21 && p.begin == 20 && p.end == (1 << 22) - 1, "%" PRId64 " bins, points %" PRId64 " to %" PRId64,
          p.n_bins, p.begin, p.end);
    CHECK(p.n_z == 201 && p.n_w == 1 && p.half_width == 126, "%d z, %d w, half width %d", p.n_z, p.n_w, p.half_width);
    CHECK(lw_accel_z(&p, 0) == -200 && lw_accel_z(&p, 100) == 0 && lw_accel_z(&p, 200) == 200 && lw_accel_w(&p, 0) == 0, "wrong z");
    for (int stage = 0; stage < 4; stage++) {
        const double trials = (2097151.0 - 10) * 202 * 2 / 6.95 / (1 << stage);
        const double log_tail = log(0.5 * erfc(2 / sqrt(2))) - log(trials);
        CHECK(fabs(p.trials[stage] - trials) < 1, "stage %d: %g trials, not %g", stage, p.trials[stage], trials);
        CHECK(fabs(lw_sum_log_tail(1 << stage, p.least[stage], 0) - log_tail) < 0.02, "stage %d: least sum %g", stage,
              p.least[stage]);
    }
}

static void check_others(void)
{
    struct lw_accel_spec spec = usual;
    spec.z_max = 0;
    CHECK(plan(spec).n_z == 1 && fabs(plan(spec).trials[1] - 2097141.0 / 2) < 1, "without drift: %g trials", plan(spec).trials[1]);
    spec.z_max = 99;
    spec.w_max = 190;
    struct lw_accel_plan p = plan(spec);
    CHECK(p.n_z == 101 && p.n_w == 21 && lw_accel_w(&p, 20) == 200 && p.half_width == (int)(1.1 * (50 + 200 / 12.0)) + 16,
          "jerks: %d z, %d w, half width %d", p.n_z, p.n_w, p.half_width);
    CHECK(fabs(p.trials[0] - 2097141.0 * 102 * 2 / 6.95 * 22 * 20 / 44.2) < 1e3, "jerks: %g trials", p.trials[0]);
    spec = usual;
    spec.r_low = 7.25;
    spec.r_high = 11.75;
    p = plan(spec);
    CHECK(p.begin == 15 && p.end == 24, "points %" PRId64 " to %" PRId64, p.begin, p.end);
    spec.z_max = 0;
    CHECK(plan(spec).trials[3] == 1, "%g trials in 4.5 bins", plan(spec).trials[3]);
    spec = usual;
    spec.z_max = 20;
    spec.lost = 0.01;
    int wide;
    CHECK(lw_drift_half_width(20, 0, 0.01, &wide, NULL) == LW_OK && plan(spec).half_width == wide, "half width %d, not %d",
          plan(spec).half_width, wide);
}

static void check_refused(void)
{
#define AT(field) offsetof(struct lw_accel_spec, field)
    const struct { const char *text; size_t at; double value; } wrong[] = {
        {"drift of -1 bins", AT(z_max), -1},
        {"drift of 1e+06", AT(z_max), 1e6},
        {"drift of nan", AT(z_max), NAN},
        {"of the drift of -20", AT(w_max), -20},
        {"frequencies of 0.5", AT(r_low), 0.5},
        {"to 2.09715e+06", AT(r_low), 2097151},
        {"1..2097152", AT(r_high), 3e6},
        {"significance of 0", AT(sigma), 0},
        {"lost power of 1e-06", AT(lost), 1e-6},
    };
    struct lw_accel_plan p;
    struct lw_error err;
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        struct lw_accel_spec spec = usual;
        *(double *)((char *)&spec + wrong[i].at) = wrong[i].value;
        CHECK(lw_accel_plan(&spec, &p, &err) == LW_ECONFIG && strstr(err.message, wrong[i].text), "%s: %s", wrong[i].text,
              err.message);
    }
    struct lw_accel_spec spec = usual;
    spec.n = 4095;
    CHECK(lw_accel_plan(&spec, &p, &err) == LW_ECONFIG && strstr(err.message, "4095"), "%s", err.message);
    spec = usual;
    spec.n_fft--;
    CHECK(lw_accel_plan(&spec, &p, &err) == LW_ECONFIG && strstr(err.message, "4194303"), "%s", err.message);
    spec = (struct lw_accel_spec){.n = 4096, .n_fft = 4096, .n_stages = 1, .z_max = 2000, .r_low = 1, .r_high = 2000, .sigma = 2};
    CHECK(lw_accel_plan(&spec, &p, &err) == LW_ECONFIG && strstr(err.message, "too short"), "%s", err.message);
}

static bool is_good(int64_t n)
{
    for (int factor = 2; factor <= 7; factor++)
        while (n % factor == 0)
            n /= factor;
    return n == 1;
}

static void check_lengths(void)
{
    for (int64_t n = 4096; n < 9000; n++) {
        int64_t expected = n;
        while (expected % 2 || !is_good(expected))
            expected++;
        CHECK(lw_accel_good_length(n) == expected, "%" PRId64 " becomes %" PRId64, n, lw_accel_good_length(n));
    }
    CHECK(lw_accel_good_length((1 << 28) - 1) == 1 << 28, "2^28 - 1 becomes %" PRId64, lw_accel_good_length((1 << 28) - 1));
}

/* The points of harmonics are the nearest ones. */
static void check_harmonics(void)
{
    for (int H = 1; H <= 16; H *= 2)
        for (int k = 1; k <= H; k++)
            for (int j = -100; j <= 100; j++) {
                CHECK(j < 0 || lw_accel_sub_r(j, k, H) == floor((double)j * k / H + 0.5), "point %d, harmonic %d of %d", j, k, H);
                CHECK(lw_accel_sub_z(j, k, H) == round((double)j * k / H), "distance %d, harmonic %d of %d", j, k, H);
            }
}

static void check_template(struct lw_accel_spec spec, int z, int w)
{
    const struct lw_accel_plan p = plan(spec);
    const int half = LW_ACCEL_STEPS * p.half_width;
    int own;
    CHECK(lw_accel_half_width(&spec, lw_accel_z(&p, z), lw_accel_w(&p, w), &own, NULL) == LW_OK, "no half width");
    CHECK(own <= p.half_width, "a half width of %d above the largest, %d", own, p.half_width);
    float *const found = malloc((size_t)(4 * half + 2) * sizeof *found);
    double *const response = malloc((size_t)(4 * half + 2) * sizeof *response);
    CHECK(lw_accel_template(&p, z, w, found, NULL) == LW_OK, "no template");
    CHECK(lw_drift_response(lw_accel_z(&p, z), lw_accel_w(&p, w), LW_ACCEL_STEPS, p.half_width, response, NULL) == LW_OK, "none");
    for (int j = -half; j <= half; j++) {
        const bool is_within = abs(j) <= LW_ACCEL_STEPS * own;
        const double *const a = response + 2 * (j + half);
        const float *const t = found + 2 * (j + half);
        CHECK(fabs(t[0] - is_within * a[0]) < 1e-7 && fabs(t[1] + is_within * a[1]) < 1e-7, "z %d, w %d: %g %g at %d", z, w, t[0],
              t[1], j);
    }
    free(found);
    free(response);
}

int main(void)
{
    check_usual();
    check_others();
    check_refused();
    check_lengths();
    check_harmonics();
    struct lw_accel_spec spec = usual;
    check_template(spec, 0, 0);
    check_template(spec, 103, 0);
    spec.w_max = 60;
    spec.lost = 0.02;
    check_template(spec, 30, 5);
    return check_result("accel_plan");
}
