/* accel.c - suite for the engines' searches of drifting signals (engine/accel.h) against their definition in accel/accel.h, summed
 * in double: the spectrum, the powers, the sums over harmonics, the largest of each cell; and the same bits for all cuts and
 * memory. */
#include "suites.h"

#include "accel/normalize.h"
#include "accel/templates.h"
#include "base/integers.h"
#include "base/memory.h"
#include "base/select.h"
#include "design/drift.h"
#include "engine/accel.h"
#include "sfft/number.h"

#include "../check.h"

#include <complex.h>
#include <fftw3.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Relative error of sums: powers may be kept with 11 bits. */
#define TOLERANCE 1.5e-3

struct trial {
    const char *name;
    int64_t n, n_fft;
    int n_stages;
    double z_max, w_max, r_low, r_high;
    struct lw_accel_zap zaps[3];
    int n_zaps;
};

static const struct trial trials[] = {
    {"one harmonic", 4096, 4096, 1, 20, 0, 1, 2048, {{0}}, 0},
    {"one z", 6000, 6000, 3, 0, 0, 3.5, 3000, {{0}}, 0},
    {"padded", 5000, 5120, 5, 20, 0, 1, 2560, {{0, 2}, {700, 790}, {2500, 2560}}, 3},
    {"a part", 16384, 16384, 5, 20, 0, 3000.5, 4321, {{0}}, 0},
    {"jerks", 8192, 8192, 4, 20, 40, 700, 2000, {{900, 901}}, 1},
    {"a block without bins", 4096, 4096, 2, 8, 0, 10, 1500, {{0, 64}}, 1},
    {"wide", 65536, 65536, 4, 20, 0, 1, 32768, {{0}}, 0},
};

static double uniform(uint64_t counter) { return ((double)(lw_random_bits(44, counter) >> 11) + 0.5) * 0x1p-53; }

/* Make white and red noise with a pulse train of 8 harmonics and a sinusoid, both with drift. */
static void make_series(const struct trial *t, float *series)
{
    double red = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const double u = (double)i / (double)t->n_fft, train = 0.05 * (double)t->n * u + 1.2 * (u * u - u);
        const double tone = 0.11 * (double)t->n * u + 4 * (u * u - u);
        const double white = sqrt(-2 * log(uniform(2 * (uint64_t)i))) * cos(2 * M_PI * uniform(2 * (uint64_t)i + 1));
        red = 0.99 * red + 0.2 * white;
        double x = white + red + 0.3 * cos(2 * M_PI * tone);
        for (int h = 1; h <= 8; h++)
            x += 0.06 * cos(2 * M_PI * h * train);
        series[i] = (float)(1000 * x);
    }
    double mean = 0;
    for (int64_t i = 0; i < t->n; i++)
        mean += series[i] / (double)t->n;
    for (int64_t i = 0; i < t->n; i++)
        series[i] -= (float)mean;
}

/* ---- the search ---------------------------------------------------------------------------------------------------- */
struct found {
    float *spectrum, *variances;
    struct lw_accel_hits hits;
};

static int compare_hits(const void *left, const void *right)
{
    const struct lw_accel_hit *const a = left, *const b = right;
    return a->r != b->r ? lw_compare64(a->r, b->r) : a->stage - b->stage;
}

static const struct lw_accel_ops *ops_of(const struct lw_engine *engine) { return engine->ops->accel; }

/* Search a series in `n_cuts` ranges, cut at cells, one after the other. */
static void search(struct lw_engine *engine, const struct lw_accel_plan *plan, const struct trial *t, int64_t most, int n_cuts,
                   const float *series, struct found *found)
{
    struct lw_error err;
    struct lw_accel_search *search = NULL;
    int rc = ops_of(engine)->create(engine, plan, t->zaps, t->n_zaps, most, &search, &err);
    CHECK(rc == LW_OK, "%s: %s", t->name, err.message);
    struct lw_accel_hits part = found->hits;
    found->hits.n = 0;
    for (int64_t cut = 0, at = plan->begin; cut < n_cuts && !rc; cut++) {
        const int64_t ideal = plan->begin + (plan->end - plan->begin) * (cut + 1) / n_cuts;
        const int64_t end = cut == n_cuts - 1 ? plan->end : ideal / LW_ACCEL_CELL * LW_ACCEL_CELL;
        part.hits = found->hits.hits + found->hits.n;
        part.most = found->hits.most - found->hits.n;
        if (end <= at)
            continue;
        rc = ops_of(engine)->begin(search, series, at, end, &err);
        rc = rc ? rc : ops_of(engine)->wait(search, found->spectrum, found->variances, &part, &err);
        CHECK(rc == LW_OK && part.n <= part.most, "%s: %s; %" PRId64 " hits", t->name, rc ? err.message : "", part.n);
        found->hits.n += lw_min64(part.n, part.most);
        at = end;
    }
    ops_of(engine)->destroy(search);
    qsort(found->hits.hits, (size_t)found->hits.n, sizeof *found->hits.hits, compare_hits);
}

static struct found open_found(const struct lw_accel_plan *plan)
{
    struct lw_error err;
    const int64_t most = plan->spec.n_stages * ((plan->end - plan->begin) / LW_ACCEL_CELL + 2);
    return (struct found){lw_alloc_array(2 * plan->n_bins, sizeof(float), "a spectrum", &err),
                          lw_alloc_array(plan->n_blocks, sizeof(float), "variances", &err),
                          {lw_alloc_array(most, sizeof(struct lw_accel_hit), "hits", &err), most, 0}};
}

static void close_found(struct found *found)
{
    lw_free(found->spectrum);
    lw_free(found->variances);
    lw_free(found->hits.hits);
}

/* ---- the definition ------------------------------------------------------------------------------------------------ */
static bool is_zapped(const struct trial *t, int64_t bin)
{
    for (int i = 0; i < t->n_zaps; i++)
        if (t->zaps[i].first <= bin && bin < t->zaps[i].end)
            return true;
    return false;
}

/* Transform and normalize in double. */
static void make_spectrum(const struct lw_accel_plan *plan, const struct trial *t, const float *series, double complex *x,
                          float *variances)
{
    double *const samples = fftw_alloc_real((size_t)plan->spec.n_fft), *const powers = samples;
    double complex *const bins = fftw_alloc_complex((size_t)plan->n_bins + 1);
    const fftw_plan transform = fftw_plan_dft_r2c_1d((int)plan->spec.n_fft, samples, bins, FFTW_ESTIMATE);
    for (int64_t i = 0; i < plan->spec.n_fft; i++)
        samples[i] = i < t->n ? series[i] : 0;
    fftw_execute(transform);
    const int64_t n_blocks = lw_accel_blocks(plan->n_bins, NULL);
    int64_t *const edges = calloc((size_t)n_blocks + 1, sizeof *edges), *const counted = calloc((size_t)n_blocks, sizeof *counted);
    float *const medians = calloc((size_t)n_blocks, sizeof *medians);
    lw_accel_blocks(plan->n_bins, edges);
    for (int64_t b = 0; b < n_blocks; b++) {
        for (int64_t r = edges[b]; r < edges[b + 1]; r++)
            if (!is_zapped(t, r))
                powers[counted[b]++] = creal(bins[r]) * creal(bins[r]) + cimag(bins[r]) * cimag(bins[r]);
        medians[b] = counted[b] ? (float)lw_select(powers, counted[b], (counted[b] - 1) / 2) : 0;
    }
    lw_accel_factors(n_blocks, counted, medians, medians, variances);
    for (int64_t b = 0; b < n_blocks; b++)
        for (int64_t r = edges[b]; r < edges[b + 1]; r++)
            x[r] = is_zapped(t, r) ? 0 : bins[r] * medians[b];
    free(edges);
    free(counted);
    free(medians);
    fftw_destroy_plan(transform);
    fftw_free(samples);
    fftw_free(bins);
}

/* Powers at all points of the plane: [n_w][n_z][2 n_bins] */
static double *make_plane(const struct lw_accel_plan *plan, const double complex *x)
{
    struct lw_error err;
    const int64_t points = LW_ACCEL_STEPS * plan->n_bins;
    double *const plane = calloc((size_t)(points * plan->n_z * plan->n_w), sizeof *plane);
    for (int row = 0; row < plan->n_z * plan->n_w; row++) {
        const double z = lw_accel_z(plan, row % plan->n_z), w = lw_accel_w(plan, row / plan->n_z);
        int half_width;
        lw_accel_half_width(&plan->spec, z, w, &half_width, &err);
        const int64_t half = LW_ACCEL_STEPS * half_width;
        double complex *const response = calloc((size_t)(2 * half + 1), sizeof *response);
        CHECK(lw_drift_response(z, w, LW_ACCEL_STEPS, half_width, (double *)response, &err) == LW_OK, "%s", err.message);
        for (int64_t j = 0; j < points; j++) {
            double complex sum = 0;
            const int64_t first = lw_max64((j - half + 1) / 2, 0), last = lw_min64((j + half) / 2, plan->n_bins - 1);
            for (int64_t k = first; k <= last; k++)
                if (llabs(j - LW_ACCEL_STEPS * k) <= half)
                    sum += x[k] * conj(response[j - LW_ACCEL_STEPS * k + half]);
            plane[row * points + j] = creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
        }
        free(response);
    }
    return plane;
}

static double sum_at(const struct lw_accel_plan *plan, const double *plane, int64_t j, int z, int w, int H)
{
    double sum = 0;
    for (int k = 1; k <= H; k++) {
        const int64_t row = (int64_t)(lw_accel_sub_z(w - plan->n_w / 2, k, H) + plan->n_w / 2) * plan->n_z +
                            lw_accel_sub_z(z - plan->n_z / 2, k, H) + plan->n_z / 2;
        sum += plane[row * LW_ACCEL_STEPS * plan->n_bins + lw_accel_sub_r(j, k, H)];
    }
    return sum;
}

/* ---- checks -------------------------------------------------------------------------------------------------------- */
static void check_spectrum(const struct trial *t, const struct lw_accel_plan *plan, const float *spectrum, const double complex *x)
{
    double error = 0, square = 0;
    for (int64_t r = 0; r < plan->n_bins; r++) {
        const double re = spectrum[2 * r] - creal(x[r]), im = spectrum[2 * r + 1] - cimag(x[r]);
        error += re * re + im * im;
        square += creal(x[r]) * creal(x[r]) + cimag(x[r]) * cimag(x[r]);
        CHECK(!is_zapped(t, r) || (spectrum[2 * r] == 0 && spectrum[2 * r + 1] == 0), "%s: bin %" PRId64 " is not 0", t->name, r);
    }
    CHECK(error < 1e-10 * square, "%s: spectrum off by %g of its energy", t->name, error / square);
}

/* Each cell and stage with a large sum has one hit, at a point with that sum or one as large but for rounding. */
static void check_hits(const struct trial *t, const struct lw_accel_plan *plan, const struct lw_accel_hits *hits,
                       const double *plane)
{
    const struct lw_accel_hit *hit = hits->hits, *const last = hit + hits->n;
    int64_t n_sure = 0;
    for (int64_t cell = plan->begin / LW_ACCEL_CELL; cell * LW_ACCEL_CELL < plan->end; cell++) {
        const int64_t begin = lw_max64(cell * LW_ACCEL_CELL, plan->begin), end = lw_min64((cell + 1) * LW_ACCEL_CELL, plan->end);
        bool is_found[LW_ACCEL_MOST_STAGES] = {false};
        double largest[LW_ACCEL_MOST_STAGES] = {0};
        for (int stage = 0; stage < plan->spec.n_stages; stage++)
            for (int64_t j = begin; j < end; j++)
                for (int row = 0; row < plan->n_z * plan->n_w; row++)
                    largest[stage] = fmax(largest[stage], sum_at(plan, plane, j, row % plan->n_z, row / plan->n_z, 1 << stage));
        for (; hit < last && hit->r < end; hit++) {
            const bool is_possible = hit->r >= begin && hit->stage >= 0 && hit->stage < plan->spec.n_stages && hit->z >= 0 &&
                                     hit->z < plan->n_z && hit->w >= 0 && hit->w < plan->n_w && !is_found[hit->stage];
            CHECK(is_possible, "%s: a hit of stage %d at %" PRId64 ", z %d, w %d", t->name, hit->stage, hit->r, hit->z, hit->w);
            if (!is_possible)
                continue;
            is_found[hit->stage] = true;
            const double sum = sum_at(plan, plane, hit->r, hit->z, hit->w, 1 << hit->stage), most = largest[hit->stage];
            CHECK(fabs(sum - hit->sum) <= TOLERANCE * sum && sum >= most * (1 - TOLERANCE) && hit->sum >= plan->least[hit->stage],
                  "%s: stage %d, point %" PRId64 ", z %d, w %d: %g, not %g; the cell's largest is %g", t->name, hit->stage, hit->r,
                  hit->z, hit->w, hit->sum, sum, most);
        }
        for (int stage = 0; stage < plan->spec.n_stages; stage++) {
            n_sure += largest[stage] > plan->least[stage] * (1 + TOLERANCE);
            CHECK(is_found[stage] ? largest[stage] > plan->least[stage] * (1 - TOLERANCE)
                                  : largest[stage] < plan->least[stage] * (1 + TOLERANCE),
                  "%s: cell %" PRId64 ", stage %d: a hit is %s, largest sum %g", t->name, cell, stage,
                  is_found[stage] ? "found" : "missed", largest[stage]);
        }
    }
    CHECK(hit == last && n_sure > 10, "%s: %" PRId64 " hits, %" PRId64 " sure ones", t->name, hits->n, n_sure);
}

static void check_same(const struct trial *t, const char *what, const struct lw_accel_plan *plan, const struct found *a,
                       const struct found *b)
{
    CHECK(memcmp(a->spectrum, b->spectrum, (size_t)plan->n_bins * 8) == 0, "%s, %s: another spectrum", t->name, what);
    bool is_same = a->hits.n == b->hits.n;
    for (int64_t i = 0; is_same && i < a->hits.n; i++) {
        const struct lw_accel_hit x = a->hits.hits[i], y = b->hits.hits[i];
        is_same = x.r == y.r && x.z == y.z && x.w == y.w && x.stage == y.stage && memcmp(&x.sum, &y.sum, sizeof x.sum) == 0;
    }
    CHECK(is_same, "%s, %s: other hits (%" PRId64 ", not %" PRId64 ")", t->name, what, b->hits.n, a->hits.n);
}

/* Return the least memory that a search needs, and check that it uses no more than it may. */
static int64_t least_memory(struct lw_engine *engine, const struct trial *t, const struct lw_accel_plan *plan, int64_t most)
{
    int64_t fits = most, small = 0;
    bool is_possible;
    while (fits - small > 1024) {
        const int64_t middle = small + (fits - small) / 2;
        const struct lw_bytes bytes = ops_of(engine)->bytes(engine, plan, middle, &is_possible);
        CHECK(!is_possible || lw_max64(bytes.host, bytes.device) <= middle, "%s: %" PRId64 " bytes of %" PRId64, t->name,
              lw_max64(bytes.host, bytes.device), middle);
        *(is_possible ? &fits : &small) = middle;
    }
    return fits;
}

static struct lw_engine *open_engine(const struct lw_engine_type *type, int n_threads)
{
    struct lw_engine *engine = NULL;
    struct lw_error err;
    const int rc = type->create(&(struct lw_engine_spec){.n_threads = n_threads}, &engine, &err);
    CHECK(rc == LW_OK && engine->ops->accel, "no engine: %s", rc ? err.message : "no such search");
    return engine;
}

static void run_trial(const struct lw_engine_type *type, const struct trial *t)
{
    const int64_t plenty = INT64_C(1) << 30;
    struct lw_error err;
    const struct lw_accel_spec spec = {.n = t->n, .n_fft = t->n_fft, .n_stages = t->n_stages, .z_max = t->z_max, .w_max = t->w_max,
                                       .r_low = t->r_low, .r_high = t->r_high, .sigma = 2};
    struct lw_accel_plan plan;
    CHECK(lw_accel_plan(&spec, &plan, &err) == LW_OK, "%s: %s", t->name, err.message);
    for (int stage = 0; stage < t->n_stages; stage++)       /* a hit in about half of the cells */
        plan.least[stage] = (float)((1 << stage) + 2.5 * sqrt(1 << stage) + log(plan.n_z * plan.n_w));
    struct lw_engine *engine = open_engine(type, 1);
    float *const series = calloc((size_t)t->n, sizeof *series);
    double complex *const x = calloc((size_t)plan.n_bins, sizeof *x);
    struct found all = open_found(&plan), other = open_found(&plan);

    make_series(t, series);
    search(engine, &plan, t, plenty, 1, series, &all);
    make_spectrum(&plan, t, series, x, other.variances);
    check_spectrum(t, &plan, all.spectrum, x);
    CHECK(memcmp(all.variances, other.variances, (size_t)plan.n_blocks * sizeof *all.variances) == 0, "%s: variances", t->name);
    for (int64_t r = 0; r < plan.n_bins; r++)
        x[r] = CMPLX(all.spectrum[2 * r], all.spectrum[2 * r + 1]);
    double *const plane = make_plane(&plan, x);
    check_hits(t, &plan, &all.hits, plane);

    search(engine, &plan, t, plenty, 3, series, &other);
    check_same(t, "three ranges", &plan, &all, &other);
    search(engine, &plan, t, least_memory(engine, t, &plan, plenty), 1, series, &other);
    check_same(t, "little memory", &plan, &all, &other);
    lw_engine_destroy(engine);
    engine = open_engine(type, 3);
    search(engine, &plan, t, plenty, 2, series, &other);
    check_same(t, "three threads", &plan, &all, &other);
    lw_engine_destroy(engine);
    free(plane);
    close_found(&all);
    close_found(&other);
    free(x);
    free(series);
}

/* A series of zeros has no hits; hits beyond the room are counted. */
static void check_ends(const struct lw_engine_type *type)
{
    struct lw_error err;
    const struct lw_accel_spec spec = {.n = 4096, .n_fft = 4096, .n_stages = 2, .z_max = 4, .r_low = 1, .r_high = 2048, .sigma = 2};
    struct lw_accel_plan plan;
    CHECK(lw_accel_plan(&spec, &plan, &err) == LW_OK, "%s", err.message);
    plan.least[0] = plan.least[1] = 1;
    struct lw_engine *const engine = open_engine(type, 2);
    struct lw_accel_search *search = NULL;
    CHECK(ops_of(engine)->create(engine, &plan, NULL, 0, INT64_C(1) << 30, &search, &err) == LW_OK, "%s", err.message);
    struct found found = open_found(&plan);
    float *const series = calloc((size_t)spec.n, sizeof *series);
    for (int round = 0; round < 2; round++) {
        found.hits.most = round == 0 ? found.hits.most : 10;
        CHECK(ops_of(engine)->begin(search, series, plan.begin, plan.end, &err) == LW_OK &&
                  ops_of(engine)->wait(search, found.spectrum, found.variances, &found.hits, &err) == LW_OK, "%s", err.message);
        CHECK(round == 0 ? found.hits.n == 0 : found.hits.n > 10, "%" PRId64 " hits", found.hits.n);
        make_series(&trials[0], series);
    }
    ops_of(engine)->destroy(search);
    lw_engine_destroy(engine);
    close_found(&found);
    free(series);
}

/* All other bins are zapped, so that the tone's power is 1. A sum of several harmonics reads it at several points of r, z and w:
 * the one with the lowest w, then z, then r counts. */
static void check_ties(const struct lw_engine_type *type)
{
    enum { BIN = 101 };
    struct lw_error err;
    const struct lw_accel_spec spec = {.n = 4096, .n_fft = 4096, .n_stages = 3, .z_max = 8, .w_max = 20, .r_low = 1, .r_high = 2048,
                                       .sigma = 2};
    const struct trial t = {.name = "ties", .n = 4096, .zaps = {{0, BIN}, {BIN + 1, 2048}}, .n_zaps = 2};
    struct lw_accel_plan plan;
    CHECK(lw_accel_plan(&spec, &plan, &err) == LW_OK, "%s", err.message);
    plan.least[0] = plan.least[1] = plan.least[2] = 0.9f;
    struct lw_engine *const engine = open_engine(type, 2);
    struct found found = open_found(&plan);
    float *const series = calloc((size_t)spec.n, sizeof *series);
    for (int i = 0; i < spec.n; i++)
        series[i] = (float)cos(2 * M_PI * BIN * i / (double)spec.n);
    search(engine, &plan, &t, INT64_C(1) << 30, 1, series, &found);
    const struct lw_accel_hit wanted[] = {{.r = 2 * BIN, .z = 4, .w = 1}, {.r = 4 * BIN - 1, .z = 4, .w = 1},
                                          {.r = 8 * BIN - 2, .z = 3, .w = 0}};
    for (int i = 0; i < 3; i++) {
        bool is_found = false;
        for (const struct lw_accel_hit *hit = found.hits.hits; hit < found.hits.hits + found.hits.n; hit++)
            is_found |= hit->stage == i && hit->r == wanted[i].r && hit->z == wanted[i].z && hit->w == wanted[i].w;
        CHECK(is_found, "ties of %d harmonics: no hit at %" PRId64, 1 << i, wanted[i].r);
    }
    lw_engine_destroy(engine);
    close_found(&found);
    free(series);
}

int suite_accel(const struct lw_engine_type *type, int divisor)
{
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        if (trials[i].n * trials[i].n_stages < 1 << (divisor > 1 ? 16 : 20))
            run_trial(type, &trials[i]);
    check_ends(type);
    check_ties(type);
    return check_result("suite_accel");
}
