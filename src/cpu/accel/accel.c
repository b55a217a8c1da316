#include "cpu/accel/accel.h"

#include "base/leave.h"
#include "cpu/dispatch.h"
#include "sfft/sfft.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* Modelled seconds of a power, and of a sum for each stage's harmonics. */
#define POWER_SECONDS 1.6e-9
#define HARMONIC_SECONDS 7e-11

/* Points of the shortest piece. */
#define LEAST_PIECE (16 * LW_ACCEL_CELL)

#define LEAST_N 256
#define MOST_N (1 << 20)

/* Choose the transform: a point of a longer one costs more, by its steps and as it leaves the near caches (measured from 512 to
 * 8192 points), but of a shorter one a larger part is lost to the templates' ends. */
static void choose_segment(const struct lw_accel_plan *plan, int64_t *best_n, int64_t *best_hop)
{
    double least = INFINITY;
    *best_n = *best_hop = 0;
    for (int64_t n = LEAST_N, log2_n = 8; n <= MOST_N; n *= 2, log2_n++) {
        const int64_t hop = (n - 2 * (int64_t)plan->half_width) / 8 * 8;
        const double cost = hop > 0 ? ((double)log2_n - 4.8) * (double)n / (double)hop : INFINITY;
        if (cost < least) {
            least = cost;
            *best_n = n;
            *best_hop = hop;
        }
    }
}

/* Lay out the search's memory, and a lane's; both are counted while their base is NULL. The plane takes what is left. */
static void lay_out(struct lw_accel_search *s, struct lw_arena *arena)
{
    const struct lw_accel_plan *const plan = s->plan;
    const int64_t harmonics = lw_cpu_harmonics(plan), real = sizeof(float);
    s->spectrum = lw_arena_take(arena, (plan->spec.n_fft + 2) * real);
    s->edges = lw_arena_take(arena, (s->n_blocks + 1) * (int64_t)sizeof *s->edges);
    s->counted = lw_arena_take(arena, s->n_blocks * (int64_t)sizeof *s->counted);
    s->medians = lw_arena_take(arena, s->n_blocks * real);
    s->factors = lw_arena_take(arena, s->n_blocks * real);
    s->variances = lw_arena_take(arena, s->n_blocks * real);
    s->templates = lw_arena_take(arena, s->n_rows * 4 * s->n * real);
    s->segments = lw_arena_take(arena, s->batch * 2 * s->n * real);
    s->sub_z = lw_arena_take(arena, harmonics * plan->n_z * (int64_t)sizeof *s->sub_z);
    s->sub_w = lw_arena_take(arena, harmonics * plan->n_w * (int64_t)sizeof *s->sub_w);
}

static void lay_out_lane(const struct lw_accel_search *s, struct lw_cpu_accel_lane *lane, struct lw_arena *arena)
{
    lane->work = lw_cpu_take(arena, s->kernels->drift_work(s->n) * (int64_t)sizeof(float));
    lane->levels = lw_cpu_take(arena, 2 * s->n * (int64_t)sizeof(float));       /* complex numbers, too */
    lane->largest = lw_cpu_take(arena, LW_ACCEL_MOST_STAGES * LW_CPU_SPAN_CELLS * LW_CPU_HARMONICS_LANES * (int64_t)sizeof(float));
    lane->powers = lw_cpu_take(arena, s->widest * (int64_t)sizeof *lane->powers);
}

/* Set all sizes. @return  bytes of all but the plane, whose levels are set to what is left of `most`, and no more than are used */
static int64_t set_sizes(struct lw_accel_search *s, const struct lw_engine *engine, const struct lw_accel_plan *plan, int64_t most)
{
    *s = (struct lw_accel_search){.plan = plan, .kernels = lw_cpu_kernels(LW_SINGLE)};
    s->n_blocks = plan->n_blocks;
    choose_segment(plan, &s->n, &s->hop);
    s->batch = lw_max64(8, 2 * (int64_t)engine->n_workers);
    s->n_rows = ((int64_t)plan->n_z * plan->n_w + 1) / 2;
    s->widest = lw_min64(plan->n_bins, LW_ACCEL_WIDEST_BLOCK);
    struct lw_arena arena = {0}, lane_arena = {0};
    struct lw_cpu_accel_lane lane;
    lay_out(s, &arena);
    lay_out_lane(s, &lane, &lane_arena);
    const int64_t fixed = (int64_t)sizeof *s + arena.used + s->kernels->drift_bytes(s->n) +
                          lw_sfft_fftw_bytes(plan->spec.n_fft, true) / 2 +
                          engine->n_workers * (lane_arena.used + (int64_t)sizeof lane);
    const int64_t batch = lw_cpu_piece_levels(plan, s->batch * LW_ACCEL_STEPS * s->hop);
    const int64_t all = plan->spec.n_stages > 1 ? lw_cpu_piece_of(plan, plan->begin, plan->end).n_levels : batch;
    s->n_levels = lw_min64(all, (most - fixed) / (int64_t)sizeof *s->plane - LW_CPU_PLANE_PADDING);
    return fixed;
}

static struct lw_bytes bytes(const struct lw_engine *engine, const struct lw_accel_plan *plan, int64_t most, bool *is_possible)
{
    struct lw_accel_search s;
    const int64_t fixed = set_sizes(&s, engine, plan, most), least = lw_cpu_piece_levels(plan, LEAST_PIECE);
    *is_possible = s.n_levels >= lw_min64(least, lw_cpu_piece_of(plan, plan->begin, plan->end).n_levels);
    return (struct lw_bytes){.host = fixed + (lw_max64(s.n_levels, 0) + LW_CPU_PLANE_PADDING) * (int64_t)sizeof *s.plane};
}

static double seconds(const struct lw_engine *engine, const struct lw_accel_plan *plan)
{
    int64_t n, hop;
    choose_segment(plan, &n, &hop);
    const double points = (double)(plan->end - plan->begin) * plan->n_z * plan->n_w, fft = (double)plan->spec.n_fft;
    return fft * log2(fft) * 1e-9 +
           points * (POWER_SECONDS * (double)n / (double)hop + HARMONIC_SECONDS * lw_cpu_harmonics(plan)) / engine->n_workers;
}

static void destroy(struct lw_accel_search *s)
{
    if (!s)
        return;
    if (s->transform)
        fftwf_destroy_plan(s->transform);
    s->kernels->drift_destroy(s->drift);
    lw_cpu_lanes_close(&s->lanes);
    lw_free(s->plane);
    lw_free(s->spectrum);
    lw_free(s);
}

static int open_memory(struct lw_accel_search *s, int n_threads, struct lw_error *err)
{
    struct lw_arena arena = {0}, lane_arena = {0};
    struct lw_cpu_accel_lane counted;
    lay_out(s, &arena);
    lay_out_lane(s, &counted, &lane_arena);
    if (lw_cpu_lanes_open(&s->lanes, n_threads, sizeof counted, lane_arena.used, err))
        return LW_ESYSTEM;
    for (int i = 0; i < n_threads; i++) {
        struct lw_cpu_accel_lane *const lane = lw_cpu_lane_at(&s->lanes, i);
        lay_out_lane(s, lane, &(struct lw_arena){.base = lane->base.memory});
    }
    char *const memory = lw_alloc((size_t)arena.used, "a search's spectrum and templates", err);
    if (!memory)
        return LW_ESYSTEM;
    lay_out(s, &(struct lw_arena){.base = memory});
    s->plane = lw_alloc_array(s->n_levels + LW_CPU_PLANE_PADDING, sizeof *s->plane, "a search's powers", err);
    return s->plane ? LW_OK : LW_ESYSTEM;
}

static void fill_tables(struct lw_accel_search *s)
{
    const struct lw_accel_plan *const plan = s->plan;
    lw_accel_blocks(plan->n_bins, s->edges);
    for (int i = 0; i < lw_cpu_harmonics(plan); i++) {
        int k, H;
        lw_cpu_harmonic(i, &k, &H);
        for (int z = 0; z < plan->n_z; z++)
            s->sub_z[i * plan->n_z + z] = (int16_t)lw_accel_sub_z(z - plan->n_z / 2, k, H);
        for (int w = 0; w < plan->n_w; w++)
            s->sub_w[i * plan->n_w + w] = (int16_t)lw_accel_sub_z(w - plan->n_w / 2, k, H);
    }
}

static int make_templates(struct lw_accel_search *s, struct lw_error *err)
{
    const int64_t taps = 2 * LW_ACCEL_STEPS * (int64_t)s->plan->half_width + 1;
    LW_FREED float *const all = lw_alloc_array(taps * s->lanes.n, 2 * sizeof *all, "templates", err);
    if (!all)
        return LW_ESYSTEM;
    int rc = LW_OK;
#pragma omp parallel for num_threads(s->lanes.n) schedule(dynamic, 1)
    for (int64_t row = 0; row < s->n_rows; row++) {
        struct lw_error own;
        const int thread = omp_get_thread_num(), code = lw_leave_is_asked() ? lw_leave_check(&own)
            : lw_cpu_accel_template(s, lw_cpu_lane_at(&s->lanes, thread), row, all + thread * taps * 2, &own);
        if (code) {
#pragma omp critical(lw_cpu_accel_templates)
            *err = own, rc = code;
        }
    }
    return rc;
}

static int create(struct lw_engine *engine, const struct lw_accel_plan *plan, const struct lw_accel_zap *zaps, int64_t n_zaps,
                  int64_t most, struct lw_accel_search **out, struct lw_error *err)
{
    struct lw_accel_search *const s = lw_alloc(sizeof *s, "a search", err);
    if (!s)
        return LW_ESYSTEM;
    set_sizes(s, engine, plan, most);
    s->zaps = zaps;
    s->n_zaps = n_zaps;
    int rc = open_memory(s, engine->n_workers, err);
    if (!rc && !(rc = s->kernels->drift_create(s->n, &s->drift, err))) {
        fill_tables(s);
        lw_cpu_lanes_warm_up(&s->lanes);
        fftwf_forget_wisdom();              /* earlier plans must not change this one */
        const fftwf_iodim64 dims = {.n = plan->spec.n_fft, .is = 1, .os = 1};
        s->transform = fftwf_plan_guru64_dft_r2c(1, &dims, 0, NULL, s->spectrum, (fftwf_complex *)s->spectrum, FFTW_ESTIMATE);
        rc = s->transform ? make_templates(s, err)
                          : lw_fail(err, LW_ESYSTEM, "FFTW cannot plan a transform of %" PRId64 " samples", plan->spec.n_fft);
    }
    if (rc) {
        destroy(s);
        return rc;
    }
    *out = s;
    return LW_OK;
}

static int begin(struct lw_accel_search *s, const float *series, int64_t first, int64_t end, struct lw_error *err)
{
    (void)err;
    s->series = series;
    s->begin = first;
    s->end = end;
    return LW_OK;
}

static int wait_for(struct lw_accel_search *s, float *spectrum, float *variances, struct lw_accel_hits *hits,
                    struct lw_error *err)
{
    const int rc = lw_cpu_accel_spectrum(s, err);
    if (rc)
        return rc;
    memcpy(spectrum, s->spectrum, (size_t)s->plan->n_bins * 2 * sizeof *spectrum);
    memcpy(variances, s->variances, (size_t)s->n_blocks * sizeof *variances);
    return lw_cpu_accel_find(s, hits, err);
}

const struct lw_accel_ops lw_cpu_accel_ops = {
    .bytes = bytes, .seconds = seconds, .create = create, .begin = begin, .wait = wait_for, .destroy = destroy,
};
