/* test_accel.c - what the suite of searches for drifting signals (tests/engine/accel.c) leaves to each engine. On a device these
 * are templates for all lengths of segments, powers beyond 65504, and memory that is too small. */
#include "gpu.h"

#include "accel/templates.h"
#include "base/memory.h"
#include "engine/accel.h"

#include <math.h>

enum { MOST = 1 << 12 };

/* The power at a point of the grid, by its definition. */
static double power_at(const struct lw_accel_plan *plan, const float *spectrum, int64_t r, int z, int w)
{
    const int64_t half = LW_ACCEL_STEPS * plan->half_width;
    float *const t = lw_alloc_array(2 * (2 * half + 1), sizeof *t, "a template", NULL);
    CHECK(lw_accel_template(plan, z, w, t, NULL) == LW_OK, "z %d w %d", z, w);
    double re = 0, im = 0;
    for (int64_t k = 0; k < plan->n_bins; k++) {
        const int64_t j = r - LW_ACCEL_STEPS * k;
        if (j < -half || j > half)
            continue;
        const float *const x = spectrum + 2 * k, *const a = t + 2 * (j + half);
        re += (double)x[0] * a[0] - (double)x[1] * a[1];
        im += (double)x[0] * a[1] + (double)x[1] * a[0];
    }
    lw_free(t);
    return re * re + im * im;
}

static double sum_at(const struct lw_accel_plan *plan, const float *spectrum, const struct lw_accel_hit *hit)
{
    const int H = 1 << hit->stage, z = plan->n_z / 2, w = plan->n_w / 2;
    double sum = 0;
    for (int k = 1; k <= H; k++)
        sum += power_at(plan, spectrum, lw_accel_sub_r(hit->r, k, H), lw_accel_sub_z(hit->z - z, k, H) + z,
                        lw_accel_sub_z(hit->w - w, k, H) + w);
    return sum;
}

/* Search a series of noise with a signal of two harmonics; the strongest hit of two harmonics is the signal. */
static void trial(struct lw_engine *engine, const char *name, double z_max, double w_max, double amplitude)
{
    const double r = 5000.3, z = z_max / 2, w = w_max / 2;       /* those of the fundamental */
    const struct lw_accel_spec spec = {.n = 1 << 15, .n_fft = 1 << 15, .n_stages = 2, .z_max = z_max, .w_max = w_max,
                                       .r_low = 2 * r - 40, .r_high = 2 * r + 90, .sigma = 6};
    const struct lw_accel_ops *const ops = engine->ops->accel;
    struct lw_error err = {0};
    struct lw_accel_plan plan;
    CHECK(lw_accel_plan(&spec, &plan, &err) == LW_OK, "%s: %s", name, err.message);
    float *const series = lw_alloc_array(spec.n, sizeof *series, "a series", NULL);
    float *const spectrum = lw_alloc_array(2 * plan.n_bins, sizeof *spectrum, "a spectrum", NULL);
    float *const variances = lw_alloc_array(plan.n_blocks, sizeof *variances, "variances", NULL);
    unsigned state = 1;
    for (int64_t i = 0; i < spec.n; i++) {
        const double u = (double)i / (double)spec.n;
        const double phase = 2 * M_PI * (r * u + z * (u * u - u) / 2 + w * (u * u * u / 6 - u * u / 4 + u / 12));
        double noise = -6;
        for (int k = 0; k < 12; k++)
            noise += (double)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24);
        series[i] = (float)(noise + amplitude * (cos(phase) + cos(2 * phase)));
    }
    const int64_t most = INT64_C(1) << 32;
    bool is_possible;
    struct lw_accel_hits table = {.hits = lw_alloc_array(MOST, sizeof *table.hits, "hits", NULL), .most = MOST};
    struct lw_accel_search *search = NULL;
    CHECK(ops->bytes(engine, &plan, most, &is_possible).device <= most && is_possible, "%s", name);
    if (ops->create(engine, &plan, NULL, 0, most, &search, &err) || ops->begin(search, series, plan.begin, plan.end, &err) ||
        ops->wait(search, spectrum, variances, &table, &err))
        CHECK(false, "%s: %s", name, err.message);
    CHECK(table.n > 0 && table.n <= MOST, "%s: %lld hits", name, (long long)table.n);
    const struct lw_accel_hit *best = table.hits;
    for (int64_t i = 0; i < table.n && i < MOST; i++) {
        const struct lw_accel_hit *const hit = &table.hits[i];
        if (hit->stage == 1 && (best->stage == 0 || hit->sum > best->sum))
            best = hit;
        const double sum = sum_at(&plan, spectrum, hit);
        CHECK(fabs(hit->sum - sum) < 1e-3 * sum, "%s: hit %lld: %g is %g", name, (long long)i, hit->sum, sum);
    }
    CHECK(fabs((double)best->r / 2 - 2 * r) < 2 && fabs(lw_accel_z(&plan, best->z) - 2 * z) <= 8 &&
              fabs(lw_accel_w(&plan, best->w) - 2 * w) <= 60, "%s: r %g z %g w %g", name, (double)best->r / 2,
          lw_accel_z(&plan, best->z), lw_accel_w(&plan, best->w));
    printf("%s: half width %d, %lld hits, the best %g\n", name, plan.half_width, (long long)table.n, best->sum);
    ops->destroy(search);
    lw_free(series);
    lw_free(spectrum);
    lw_free(variances);
    lw_free(table.hits);
}

/* Searches for which there is no memory, or no segment, are refused. */
static void check_refused(struct lw_engine *engine, double z_max, int64_t most, int code)
{
    const struct lw_accel_spec spec = {.n = 1 << 16, .n_fft = 1 << 16, .n_stages = 1, .z_max = z_max, .r_low = 1, .r_high = 9000,
                                       .sigma = 6};
    struct lw_accel_plan plan;
    struct lw_error err = {0};
    struct lw_accel_search *search = NULL;
    bool is_possible = true;
    CHECK(lw_accel_plan(&spec, &plan, &err) == LW_OK, "%s", err.message);
    engine->ops->accel->bytes(engine, &plan, most, &is_possible);
    const int rc = engine->ops->accel->create(engine, &plan, NULL, 0, most, &search, &err);
    CHECK(!is_possible && rc == code && !search && err.message[0], "z to %g in %lld bytes: %d", z_max, (long long)most, rc);
}

int main(void)
{
    const int missing = gpu_missing("accel");
    if (missing)
        return missing;
    struct lw_engine *const engine = gpu_engine();
    trial(engine, "segments of 1024", 20, 40, 0.3);
    trial(engine, "segments of 2048", 300, 0, 0.5);
    trial(engine, "segments of 4096", 600, 0, 0.5);
    trial(engine, "segments of 8192", 3000, 0, 1);
    trial(engine, "large powers", 20, 0, 100);
    check_refused(engine, 10, 1 << 20, LW_ESYSTEM);
    check_refused(engine, 12000, INT64_C(1) << 40, LW_ECONFIG);
    lw_engine_destroy(engine);
    return check_result("accel");
}
