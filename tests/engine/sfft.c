/* sfft.c - the suite of the sparse transform, against signals whose spectrum is known, over many seeds: supports of all shapes,
 * noise, unequal lines, real signals, lengths without factors. It must report signals that are not sparse. There is no fallback
 * to the dense transform here: only the sparse transform's own lines count. */
#include "suites.h"

#include "base/memory.h"
#include "engine/sparse.h"
#include "sfft/number.h"
#include "sfft/probe.h"

#include "../check.h"

#include <complex.h>
#include <fftw3.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct lw_engine *engine;    /* engine under test */

enum support { RANDOM, BLOCK, COMB, PAIRS };
static const char *const support_names[] = {"random", "block", "comb", "pairs"};

struct scene {
    int64_t n;
    int n_lines;
    enum support support;
    bool is_real;
    double snr_db;                  /* signal-to-noise ratio in dB; 0: no noise */
    double range_db;                /* ratio of the strongest to the weakest line in dB */
    bool tells_snr;
    bool is_single;
    int most_attempts;              /* attempts that it may use; 0: any number */
};

/* A signal x[t] of lines with known amplitudes X[f] / n, plus white noise. */
struct trial {
    struct scene scene;
    uint64_t seed;
    double complex *x;              /* [n] */
    double complex *amplitude;      /* [n]; 0: no line */
    int n_lines;                    /* fewer than requested if two lines fall on one frequency */
};

static double uniform(uint64_t seed, uint64_t counter) { return (double)(lw_random_bits(seed, counter) >> 11) * 0x1p-53; }

static double normal(uint64_t seed, uint64_t counter)
{
    return sqrt(-2 * log(uniform(seed, 2 * counter) + 0x1p-54)) * cos(2 * M_PI * uniform(seed, 2 * counter + 1));
}

static int64_t line_frequency(const struct trial *trial, int i)
{
    const struct scene *const scene = &trial->scene;
    const int64_t span = scene->is_real ? (scene->n - 1) / 2 : scene->n;
    switch (scene->support) {
    case BLOCK: return (span / 7 + i) % span;
    case COMB: return i * (span / scene->n_lines) + 1;
    case PAIRS: return (lw_random_below(trial->seed, (uint64_t)(i / 2), span - 1) + i % 2) % span;
    default: return lw_random_below(trial->seed, (uint64_t)i, span);
    }
}

static double place_lines(struct trial *trial)
{
    const struct scene *const scene = &trial->scene;
    double power = 0;
    trial->n_lines = 0;
    for (int i = 0; i < scene->n_lines; i++) {
        const int64_t f = line_frequency(trial, i);
        if (trial->amplitude[f] != 0)
            continue;
        const double size = pow(10, -scene->range_db / 20 * uniform(trial->seed + 1, (uint64_t)i));
        const double complex a = size * cexp(2 * M_PI * I * uniform(trial->seed + 2, (uint64_t)i));
        trial->amplitude[f] = scene->is_real && f == 0 ? size : a;
        if (scene->is_real && f > 0)
            trial->amplitude[scene->n - f] = conj(a);
        power += size * size * (scene->is_real && f > 0 ? 2 : 1);
        trial->n_lines++;
    }
    return power;
}

static void make_trial(struct trial *trial)
{
    const struct scene *const scene = &trial->scene;
    const int64_t n = scene->n;
    memset(trial->amplitude, 0, (size_t)n * sizeof *trial->amplitude);
    const double power = place_lines(trial);
    memcpy(trial->x, trial->amplitude, (size_t)n * sizeof *trial->x);
    const fftw_plan inverse = fftw_plan_dft_1d((int)n, trial->x, trial->x, FFTW_BACKWARD, FFTW_ESTIMATE);
    fftw_execute(inverse);
    fftw_destroy_plan(inverse);
    const double sigma = scene->snr_db != 0 ? sqrt(power * pow(10, -scene->snr_db / 10)) : 0;
    for (int64_t t = 0; t < n; t++) {
        const double re = normal(trial->seed + 3, (uint64_t)t), im = normal(trial->seed + 4, (uint64_t)t);
        if (sigma > 0)
            trial->x[t] += scene->is_real ? sigma * re : sigma * M_SQRT1_2 * CMPLX(re, im);
        if (scene->is_real)
            trial->x[t] = creal(trial->x[t]);
    }
}

static struct lw_sfft_spec trial_spec(const struct trial *trial)
{
    const struct scene *const scene = &trial->scene;
    return (struct lw_sfft_spec){
        .n = scene->n, .is_real = scene->is_real, .sparsity = scene->n_lines,
        .precision = scene->is_single ? LW_SINGLE : LW_DOUBLE, .has_snr = scene->tells_snr, .snr_db = scene->snr_db,
        .seed = trial->seed,
    };
}

/* A transform for one trial: its layout depends on the seed. */
struct transform {
    struct lw_sfft_layout *layout;
    struct lw_sfft_solver *solver;
    double complex *samples;        /* samples of the largest stage */
};

/* Copy the samples of a stage, in its order. */
static void take_samples(const struct lw_sfft_stage *stage, const double complex *x, double complex *samples)
{
    const int64_t length = 2 * stage->window->half + 1;
    for (int d = 0; d < stage->spec.n_shifts; d++)
        for (int64_t i = 0; i < length; i++)
            samples[d * length + i] = x[lw_sfft_stage_sample(stage, d, i)];
}

/* Make the plan for the noise that a probe of the signal finds. */
static struct lw_sfft_plan probe(const struct lw_sfft_spec *spec, const double complex *x)
{
    const struct lw_sfft_plan plan = lw_sfft_probe_plan(spec);
    struct lw_error err;
    struct lw_sfft_layout *layout = NULL;
    struct lw_sfft_probe seen = {0};
    CHECK(plan.n_attempts == 1 && lw_sfft_layout_create(&plan, &layout, &err) == LW_OK, "%s", err.message);
    double complex *const samples = lw_alloc_array(plan.attempts[0].samples, sizeof *samples, "samples", &err);
    take_samples(&layout->stages[0], x, samples);
    CHECK(lw_sfft_probe(layout, (const double *)samples, &seen, &err) == LW_OK, "%s", err.message);
    lw_free(samples);
    lw_sfft_layout_destroy(layout);
    return lw_sfft_plan_for(spec, lw_sfft_probe_snr(&seen));
}

/* Open a transform as the job does: for the noise that the scene gives, or that a probe finds. */
static struct transform open_transform(const struct lw_sfft_spec *spec, const double complex *x)
{
    struct transform t = {0};
    struct lw_error err;
    const struct lw_sfft_plan plan = spec->has_snr ? lw_sfft_plan_make(spec) : probe(spec, x);
    if (plan.n_attempts == 0)
        lw_fail(&err, LW_ECONFIG, "%" PRId64 " lines of %" PRId64 " samples: dense", spec->sparsity, spec->n);
    CHECK(plan.n_attempts > 0 && lw_sfft_layout_create(&plan, &t.layout, &err) == LW_OK &&
              engine->ops->sparse->create(engine, t.layout, &t.solver, &err) == LW_OK, "%s", err.message);
    int64_t most = 0;
    for (int s = 0; s < t.layout->n_stages; s++)
        most = lw_sfft_stage_samples(&t.layout->stages[s]) > most ? lw_sfft_stage_samples(&t.layout->stages[s]) : most;
    CHECK(t.samples = lw_alloc_array(most, sizeof *t.samples, "samples", &err), "%s", err.message);
    return t;
}

static void close_transform(struct transform *t)
{
    lw_sfft_solver_destroy(t->solver);
    lw_sfft_layout_destroy(t->layout);
    lw_free(t->samples);
}

static void load(struct transform *t, int s, const double complex *x)
{
    struct lw_error err;
    take_samples(&t->layout->stages[s], x, t->samples);
    CHECK(t->solver->ops->load(t->solver, s, (const double *)t->samples, &err) == LW_OK, "%s", err.message);
}

/* Recover with as many attempts as needed; return how many. */
static int recover(struct transform *t, const double complex *x, struct lw_sfft_result *result)
{
    struct lw_error err;
    int attempt = 0;
    do {
        for (int s = lw_sfft_first_stage(t->layout, attempt); s < lw_sfft_first_stage(t->layout, attempt + 1); s++)
            load(t, s, x);
        CHECK(t->solver->ops->recover(t->solver, attempt++, result, &err) == LW_OK, "%s", err.message);
    } while (!result->is_explained && attempt < t->layout->plan.n_attempts);
    return attempt;
}

/* ---- statistics ------------------------------------------------------------------------------------------------------ */

struct score {
    int trials;
    int found;                      /* found all lines and reported so: the job would not fall back to the dense transform */
    int fell_back, wrong, retried, most_attempts;
    int lines;                      /* sum over trials */
    double error;                   /* worst trial: sum over all bins of |error|, per line */
};

/* Number of lines that a result must have: all, or with noise only those above its detection limit. */
static int count_certain(const struct trial *trial, double limit)
{
    const struct scene *const scene = &trial->scene;
    const double least = scene->range_db > 0 && scene->snr_db != 0 ? limit / (double)scene->n : 0;
    int count = 0;
    for (int64_t f = 0; f < (scene->is_real ? scene->n / 2 + 1 : scene->n); f++)
        count += trial->amplitude[f] != 0 && cabs(trial->amplitude[f]) >= least;
    return count;
}

static void count_trial(const struct trial *trial, const struct lw_sfft_result *result, int attempts, struct score *score)
{
    const double n = (double)trial->scene.n;
    int found = 0, certain = 0;
    double error = trial->n_lines;
    for (int64_t i = 0; i < result->n_lines; i++) {
        const struct lw_sfft_line *const line = &result->lines[i];
        const double complex a = trial->amplitude[line->frequency];
        found += a != 0;
        certain += a != 0 && (trial->scene.range_db == 0 || trial->scene.snr_db == 0 || cabs(a) * n >= result->detection_limit);
        error += cabs(CMPLX(line->re, line->im) / n - a) - (a != 0 ? 1 : 0);
    }
    const bool all = found == result->n_lines && certain == count_certain(trial, result->detection_limit);
    score->trials++;
    score->found += all && result->is_explained;
    score->lines += found;
    score->fell_back += !result->is_explained;
    score->wrong += result->is_explained && !all;
    score->retried += attempts > 1;
    score->most_attempts = attempts > score->most_attempts ? attempts : score->most_attempts;
    score->error = fmax(score->error, error / trial->n_lines);
}

static struct trial open_trial(const struct scene *scene)
{
    struct lw_error err;
    struct trial trial = {.scene = *scene};
    trial.x = lw_alloc_array(scene->n, sizeof *trial.x, "a signal", &err);
    trial.amplitude = lw_alloc_array(scene->n, sizeof *trial.amplitude, "a spectrum", &err);
    CHECK(trial.x && trial.amplitude, "%s", err.message);
    return trial;
}

static void close_trial(struct trial *trial)
{
    lw_free(trial->x);
    lw_free(trial->amplitude);
}

static struct score run_trials(const struct scene *scene, int trials)
{
    struct score score = {0};
    struct trial trial = open_trial(scene);
    for (int i = 0; i < trials; i++) {
        trial.seed = (uint64_t)(1000 * i + 17);
        make_trial(&trial);
        const struct lw_sfft_spec spec = trial_spec(&trial);
        struct transform t = open_transform(&spec, trial.x);
        struct lw_sfft_result result;
        const int attempts = recover(&t, trial.x, &result);
        count_trial(&trial, &result, attempts, &score);
        close_transform(&t);
    }
    close_trial(&trial);
    printf("n %8" PRId64 " k %4d %-6s %-7s %-6s snr %3g range %2g: %d/%d found, %d fell back, "
           "%d wrong, %d retried, most %d, %d lines, error %.2g\n",
           scene->n, scene->n_lines, support_names[scene->support], scene->is_real ? "real" : "complex",
           scene->is_single ? "single" : "double", scene->snr_db, scene->range_db, score.found, score.trials, score.fell_back,
           score.wrong, score.retried, score.most_attempts, score.lines, score.error);
    return score;
}

/* Expect lines to be found in at least `least` trials, no wrong answer that is reported as right, and for unit lines a bounded L1
 * error. */
static void expect(struct scene scene, int trials, int least, double most_error)
{
    const struct score score = run_trials(&scene, trials);
    CHECK(score.found >= least, "%d of %d", score.found, trials);
    CHECK(score.wrong == 0, "%d wrong answers were called explained", score.wrong);
    CHECK(scene.range_db > 0 || score.error < most_error, "L1 error %g", score.error);
    CHECK(scene.most_attempts == 0 || score.most_attempts <= scene.most_attempts, "%d attempts", score.most_attempts);
}

/* ---- signals without a sparse spectrum -------------------------------------------------------------------------------- */

static struct lw_sfft_result recover_signal(const double complex *x, int64_t n, int64_t k, struct lw_sfft_line lines[16])
{
    const struct lw_sfft_spec spec = {.n = n, .sparsity = k, .precision = LW_DOUBLE, .seed = 5};
    struct transform t = open_transform(&spec, x);
    struct lw_sfft_result result;
    recover(&t, x, &result);
    for (int64_t i = 0; i < result.n_lines && i < 16; i++)
        lines[i] = result.lines[i];
    close_transform(&t);
    return result;
}

static void check_odd_signals(void)
{
    enum { N = 1 << 18 };
    struct lw_error err;
    struct lw_sfft_line lines[16];
    double complex *const x = lw_alloc_array(N, sizeof *x, "a signal", &err);
    struct lw_sfft_result r = recover_signal(x, N, 10, lines);
    CHECK(r.is_explained && r.n_lines == 0 && r.residual == 0, "zero: %" PRId64 " lines", r.n_lines);

    for (int t = 0; t < N; t++)
        x[t] = 3;
    r = recover_signal(x, N, 10, lines);
    CHECK(r.is_explained && r.n_lines == 1 && lines[0].frequency == 0 && fabs(lines[0].re / (3.0 * N) - 1) < 1e-9,
          "constant: %" PRId64 " lines", r.n_lines);

    for (int t = 0; t < N; t++)
        x[t] = CMPLX(normal(1, (uint64_t)t), normal(2, (uint64_t)t));
    r = recover_signal(x, N, 10, lines);
    CHECK(!r.is_explained && r.residual > 0.8, "noise: explained, residual %g", r.residual);
    CHECK(r.is_noise && fabs(r.noise_power / 2 - 1) < 0.1, "noise: its power is %g, not 2; it is%s noise", r.noise_power,
          r.is_noise ? "" : " not taken for");

    for (int t = 0; t < N; t++)
        x[t] = cexp(2 * M_PI * I * 12345.5 * t / N);
    r = recover_signal(x, N, 4, lines);
    CHECK(!r.is_explained && r.residual > 0.01, "a tone between two bins: explained, residual %g", r.residual);

    for (int t = 0; t < N; t++)
        x[t] = t < N / 8;
    r = recover_signal(x, N, 10, lines);
    CHECK(!r.is_explained, "a pulse: explained by %" PRId64 " lines", r.n_lines);
    lw_free(x);
}

/* ---- twice the same ---------------------------------------------------------------------------------------------------- */

/* Two solvers of the same layout, and the first solver again, give the same bits. */
static void check_repeats(void)
{
    const struct scene scene = {.n = 300007, .n_lines = 40, .snr_db = 25};
    struct trial trial = open_trial(&scene);
    trial.seed = 3;
    make_trial(&trial);
    const struct lw_sfft_spec spec = trial_spec(&trial);
    struct transform one = open_transform(&spec, trial.x), other = open_transform(&spec, trial.x);
    struct lw_sfft_result first, second, again;
    recover(&one, trial.x, &first);
    recover(&other, trial.x, &second);
    CHECK(first.n_lines == second.n_lines && first.residual == second.residual &&
              memcmp(first.lines, second.lines, (size_t)first.n_lines * sizeof *first.lines) == 0,
              "two solvers give different bits");
    recover(&one, trial.x, &again);
    CHECK(again.n_lines == second.n_lines && again.residual == second.residual &&
              memcmp(again.lines, second.lines, (size_t)second.n_lines * sizeof *again.lines) == 0,
              "the second run of a solver gives other bits");
    close_transform(&one);
    close_transform(&other);
    close_trial(&trial);
}

/* ---- the dense transform, by its definition --------------------------------------------------------------------------- */

static int by_magnitude(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static void check_dense(int64_t n, bool is_real, int64_t k)
{
    struct lw_error err;
    double *const samples = lw_alloc((size_t)lw_sfft_dense_samples_bytes(n, is_real), "samples", &err);
    double complex *const spectrum = lw_alloc_array(n, sizeof *spectrum, "a spectrum", &err);
    double *const sizes = lw_alloc_array(n, sizeof *sizes, "sizes", &err);
    struct lw_sfft_line *const lines = lw_alloc_array(k, sizeof *lines, "lines", &err);
    const int64_t n_bins = is_real ? n / 2 + 1 : n;
    for (int64_t f = 0; f < n; f++) {
        for (int64_t t = 0; t < n; t++)
            spectrum[f] += (normal(8, (uint64_t)t) + (is_real ? 0 : I * normal(9, (uint64_t)t))) *
                           cexp(-2 * M_PI * I * (double)(f * t % n) / (double)n);
        sizes[f] = f < n_bins ? cabs(spectrum[f]) : 0;
    }
    for (int64_t t = 0; t < n; t++) {
        samples[is_real ? t : 2 * t] = normal(8, (uint64_t)t);
        if (!is_real)
            samples[2 * t + 1] = normal(9, (uint64_t)t);
    }
    qsort(sizes, (size_t)n, sizeof *sizes, by_magnitude);

    const struct lw_sfft_spec spec = {.n = n, .is_real = is_real, .sparsity = k, .wants_spectrum = true};
    struct lw_sfft_result result;
    CHECK(engine->ops->dense->transform(engine, &spec, samples, lines, &result, &err) == LW_OK, "%s", err.message);
    CHECK(result.n_lines == (k < n_bins ? k : n_bins), "%" PRId64 " lines", result.n_lines);
    for (int64_t i = 0; i < result.n_lines; i++) {
        const double complex x = CMPLX(lines[i].re, lines[i].im);
        CHECK(cabs(x - spectrum[lines[i].frequency]) < 1e-11 * (double)n, "X[%" PRId64 "]", lines[i].frequency);
        CHECK(cabs(x) > sizes[result.n_lines - 1] * (1 - 1e-9), "X[%" PRId64 "] is not among the largest", lines[i].frequency);
        CHECK(i == 0 || lines[i].frequency > lines[i - 1].frequency, "not in order at %" PRId64, i);
    }
    for (int64_t f = 0; f < n_bins; f++)
        CHECK(cabs(CMPLX(samples[2 * f], samples[2 * f + 1]) - spectrum[f]) < 1e-11 * (double)n, "X[%" PRId64 "] in place", f);
    CHECK(k < n ? result.residual > 0 && result.residual < 1 : result.residual < 1e-12, "residual %g", result.residual);
    lw_free(samples);
    lw_free(spectrum);
    lw_free(sizes);
    lw_free(lines);
}

/* A pulse of one sample has equal coefficients: the lowest frequencies are taken. A zero signal has no lines. */
static void check_dense_ties(bool is_real)
{
    enum { N = 100, K = 7 };
    struct lw_error err;
    struct lw_sfft_line lines[K];
    struct lw_sfft_result result;
    struct lw_sfft_spec spec = {.n = N, .is_real = is_real, .sparsity = K};
    double *const samples = lw_alloc((size_t)lw_sfft_dense_samples_bytes(N, is_real), "samples", &err);
    samples[0] = 2;
    CHECK(engine->ops->dense->transform(engine, &spec, samples, lines, &result, &err) == LW_OK && result.n_lines == K, "%" PRId64
          " lines of a pulse", result.n_lines);
    for (int i = 0; i < K; i++)
        CHECK(lines[i].frequency == i && fabs(lines[i].re - 2) < 1e-12, "%" PRId64 ": %g", lines[i].frequency, lines[i].re);

    memset(samples, 0, (size_t)lw_sfft_dense_samples_bytes(N, is_real));
    samples[0] = 2;
    spec.min_magnitude = 2.1;
    CHECK(engine->ops->dense->transform(engine, &spec, samples, lines, &result, &err) == LW_OK && result.n_lines == 0, "%" PRId64
          " lines are below the minimum", result.n_lines);
    memset(samples, 0, (size_t)lw_sfft_dense_samples_bytes(N, is_real));
    spec.min_magnitude = 0;
    CHECK(engine->ops->dense->transform(engine, &spec, samples, lines, &result, &err) == LW_OK && result.n_lines == 0 &&
              result.residual == 0, "%" PRId64 " lines of nothing", result.n_lines);
    lw_free(samples);
}

/* ---- all together --------------------------------------------------------------------------------------------------------- */

/* Make one in `divisor` of the trials of each scene, and at least one. */
static void check_scenes(int divisor)
{
    enum { ONE = 1, TWO = 2 };      /* attempts with unknown noise, for lines of equal and of unequal strength */
    /* L1 error of unit lines over all bins, those without a line included; the windows' tolerances are 1e-7 and 1e-5 */
    const double clean = 1e-6, clean_single = 1e-3;
    const struct {
        struct scene scene;
        int trials, may_miss;
        double most_error;
    } cases[] = {
        {{.n = 1 << 16, .n_lines = 20}, 1000, 1, clean},
        {{.n = 1 << 18, .n_lines = 100}, 200, 0, clean},
        {{.n = 1 << 20, .n_lines = 300, .support = BLOCK}, 15, 0, clean},
        {{.n = 1 << 18, .n_lines = 64, .support = COMB}, 50, 0, clean},
        {{.n = 1 << 18, .n_lines = 100, .support = PAIRS}, 50, 0, clean},
        {{.n = 262147, .n_lines = 100}, 50, 0, clean},
        {{.n = 250000, .n_lines = 50, .is_real = true}, 50, 0, clean},
        {{.n = 250001, .n_lines = 1}, 50, 0, clean},
        {{.n = 1 << 18, .n_lines = 100, .range_db = 60}, 50, 0, clean},
        {{.n = 1 << 16, .n_lines = 20, .is_single = true}, 200, 0, clean_single},
        {{.n = 1 << 18, .n_lines = 50, .snr_db = 40}, 50, 0, 5e-3},
        {{.n = 1 << 18, .n_lines = 100, .snr_db = 20, .tells_snr = true}, 100, 1, 0.05},
        {{.n = 1 << 20, .n_lines = 50, .snr_db = 20, .most_attempts = ONE}, 10, 0, 0.05},
        {{.n = 1 << 20, .n_lines = 10, .snr_db = 10, .most_attempts = ONE}, 4, 0, 0.1},
        {{.n = 1000003, .n_lines = 20, .snr_db = 20, .is_real = true, .most_attempts = ONE}, 4, 0, 0.05},
        {{.n = 1 << 20, .n_lines = 1, .snr_db = 0.001, .most_attempts = ONE}, 4, 0, 0.2},
        {{.n = 1 << 20, .n_lines = 64, .support = COMB, .snr_db = 20, .most_attempts = TWO}, 2, 0, 0.05},
        {{.n = 1 << 20, .n_lines = 100, .snr_db = 20, .range_db = 20, .most_attempts = TWO}, 3, 0, 0},
        {{.n = 1 << 20, .n_lines = 100, .snr_db = 20, .range_db = 40, .is_real = true, .most_attempts = TWO}, 3, 0, 0},
        {{.n = 1000003, .n_lines = 100, .snr_db = 20, .range_db = 60, .most_attempts = TWO}, 3, 0, 0},
        {{.n = 1 << 20, .n_lines = 20, .snr_db = 0.001, .tells_snr = true}, 20, 1, 0.2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int trials = cases[i].trials >= divisor ? cases[i].trials / divisor : 1;
        expect(cases[i].scene, trials, trials - (divisor == 1 ? cases[i].may_miss : 0), cases[i].most_error);
    }
}

int suite_sfft(const struct lw_engine_type *type, int divisor)
{
    struct lw_error err;
    char name[40];
    snprintf(name, sizeof name, "sfft_conformance_%s", type->name);
    const struct lw_engine_spec spec = {.n_threads = 1, .node_ranks = 1};
    if (type->create(&spec, &engine, &err)) {
        fprintf(stderr, "%s: %s\n", name, err.message);
        return 1;
    }
    check_scenes(divisor);
    check_odd_signals();
    check_repeats();
    check_dense(1, false, 1);
    check_dense(1, true, 3);
    check_dense(30, false, 7);
    check_dense(30, true, 5);
    check_dense(31, true, 40);
    check_dense(64, false, 64);
    check_dense_ties(false);
    check_dense_ties(true);
    lw_engine_destroy(engine);
    return check_result(name);
}
