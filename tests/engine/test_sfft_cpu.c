/* The sparse transform against signals whose spectrum is known, over many seeds: supports of all shapes, noise, unequal
 * lines, real signals, lengths without factors; the same bits for any number of threads; and signals that are not sparse,
 * about which it has to say so. Only what it finds itself counts: nothing falls back here. */
#include "../../src/sfft_buckets_cpu.h"
#include "../../src/sfft_dense_cpu.h"
#include "../../src/sfft_number.h"
#include "../../src/memory.h"

#include "../check.h"

#include <complex.h>
#include <fftw3.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum support { RANDOM, BLOCK, COMB, PAIRS };
static const char *const support_names[] = {"random", "block", "comb", "pairs"};

struct scene {
    int64_t n;
    int n_lines;
    enum support support;
    bool is_real;
    double snr_db;                  /* 0: no noise */
    double range_db;                /* between the strongest and the weakest line */
    bool tells_snr;
    bool is_single;
};

/* A signal x[t] of lines with given X[f] / n, plus white noise. */
struct trial {
    struct scene scene;
    uint64_t seed;
    double complex *x;              /* [n] */
    double *x_real;                 /* [n], if is_real */
    double complex *amplitude;      /* [n]: 0 where there is no line */
    int n_lines;                    /* fewer than asked for where two fell together */
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
        trial->x_real[t] = creal(trial->x[t]);
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

static struct lw_sfft_signal trial_signal(const struct trial *trial)
{
    return (struct lw_sfft_signal){{LW_FLOAT64, !trial->scene.is_real, false},
                                   trial->scene.is_real ? (const void *)trial->x_real : trial->x, 1};
}

/* A transform made for one shape of trials; the seed is part of it, so there is one per trial. */
struct transform {
    struct lw_sfft *sfft;
    struct lw_sfft_cpu *cpu;
};

static struct transform open_transform(const struct lw_sfft_spec *spec, int n_threads)
{
    struct transform t = {0};
    struct lw_error err;
    const struct lw_sfft_plan plan = lw_sfft_plan_make(spec);
    const int rc = plan.n_attempts == 0 ? lw_fail(&err, LW_ECONFIG, "%" PRId64 " lines of %" PRId64 " samples: dense",
                                                  spec->sparsity, spec->n)
                                        : lw_sfft_create(&plan, n_threads, &t.sfft, &err);
    CHECK(rc == LW_OK && lw_sfft_cpu_create(t.sfft, plan.n_attempts, n_threads, &t.cpu, &err) == LW_OK, "%s", err.message);
    return t;
}

static void close_transform(struct transform *t)
{
    lw_sfft_cpu_destroy(t->cpu);
    lw_sfft_destroy(t->sfft);
}

/* Recover with as many attempts as it takes; returns those made. */
static int recover(struct transform *t, const struct lw_sfft_plan *plan, const struct lw_sfft_signal *signal,
                   struct lw_sfft_result *result)
{
    int attempt = 0;
    do {
        for (int s = lw_sfft_first_stage(t->sfft, attempt); s < lw_sfft_first_stage(t->sfft, attempt + 1); s++)
            lw_sfft_cpu_gather(t->cpu, s, signal);
        lw_sfft_recover(t->sfft, attempt++, result);
    } while (!result->is_explained && attempt < plan->n_attempts);
    return attempt;
}

/* ---- statistics ------------------------------------------------------------------------------------------------------ */

struct score {
    int trials;
    int found;                      /* all lines, and said so: the job would not fall back to the dense transform */
    int fell_back, wrong, retried;
    double error;                   /* worst over trials: sum over all bins of |error|, per line */
};

static void count_trial(const struct trial *trial, const struct lw_sfft_result *result, int attempts, struct score *score)
{
    const double n = (double)trial->scene.n;
    int found = 0;
    double error = trial->n_lines, strongest = 0;
    for (int64_t i = 0; i < result->n_lines; i++) {
        const struct lw_sfft_line *const line = &result->lines[i];
        const double complex a = trial->amplitude[line->frequency];
        found += a != 0;
        error += cabs(CMPLX(line->re, line->im) / n - a) - (a != 0 ? 1 : 0);
        strongest = fmax(strongest, cabs(a));
    }
    const bool all = found == trial->n_lines;
    score->trials++;
    score->found += all && result->is_explained;
    score->fell_back += !result->is_explained;
    score->wrong += result->is_explained && !all;
    score->retried += attempts > 1;
    score->error = fmax(score->error, error / trial->n_lines);
}

static struct trial open_trial(const struct scene *scene)
{
    struct lw_error err;
    struct trial trial = {.scene = *scene};
    trial.x = lw_alloc_array(scene->n, sizeof *trial.x, "a signal", &err);
    trial.x_real = lw_alloc_array(scene->n, sizeof *trial.x_real, "a signal", &err);
    trial.amplitude = lw_alloc_array(scene->n, sizeof *trial.amplitude, "a spectrum", &err);
    CHECK(trial.x && trial.x_real && trial.amplitude, "%s", err.message);
    return trial;
}

static void close_trial(struct trial *trial)
{
    lw_free(trial->x);
    lw_free(trial->x_real);
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
        const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
        const struct lw_sfft_signal signal = trial_signal(&trial);
        struct transform t = open_transform(&spec, 1);
        struct lw_sfft_result result;
        const int attempts = recover(&t, &plan, &signal, &result);
        count_trial(&trial, &result, attempts, &score);
        close_transform(&t);
    }
    close_trial(&trial);
    printf("n %8" PRId64 " k %4d %-6s %-7s %-6s snr %3g range %2g: %d/%d found, %d fell back, %d wrong, %d retried, error %.2g\n",
           scene->n, scene->n_lines, support_names[scene->support], scene->is_real ? "real" : "complex",
           scene->is_single ? "single" : "double", scene->snr_db, scene->range_db, score.found, score.trials, score.fell_back,
           score.wrong, score.retried, score.error);
    return score;
}

/* Found in at least `least` trials; never a wrong answer that is called right. With unit lines the L1 error is bounded. */
static void expect(struct scene scene, int trials, int least, double most_error)
{
    const struct score score = run_trials(&scene, trials);
    CHECK(score.found >= least, "%d of %d", score.found, trials);
    CHECK(score.wrong == 0, "%d wrong answers were called explained", score.wrong);
    CHECK(scene.range_db > 0 || score.error < most_error, "L1 error %g", score.error);
}

/* ---- the same for any number of threads; every stored type ------------------------------------------------------------ */

static void check_threads(void)
{
    const struct scene scene = {.n = 300007, .n_lines = 40, .snr_db = 25};
    struct trial trial = open_trial(&scene);
    trial.seed = 3;
    make_trial(&trial);
    const struct lw_sfft_spec spec = trial_spec(&trial);
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    const struct lw_sfft_signal signal = trial_signal(&trial);
    struct lw_sfft_result first = {0};
    struct transform one = open_transform(&spec, 1);
    recover(&one, &plan, &signal, &first);
    for (int n_threads = 2; n_threads < 6; n_threads++) {
        struct transform many = open_transform(&spec, n_threads);
        struct lw_sfft_result result;
        recover(&many, &plan, &signal, &result);
        CHECK(result.n_lines == first.n_lines && result.residual == first.residual &&
                  memcmp(result.lines, first.lines, (size_t)first.n_lines * sizeof *first.lines) == 0,
              "%d threads give other bits", n_threads);
        close_transform(&many);
    }
    close_transform(&one);
    close_trial(&trial);
}

/* 100 cos(2 pi 5 t / 64) as integers and floats of either byte order, with a stride. */
static void check_types(void)
{
    enum { N = 64 };
    for (int scalar = 0; scalar < LW_N_SCALARS; scalar++) {
        const size_t bytes = lw_scalar_bytes((enum lw_scalar)scalar);
        _Alignas(8) unsigned char stored[2 * N * 8], swapped[2 * N * 8];
        for (int i = 0; i < 2 * N; i++) {
            const double value = i % 100;
            switch ((enum lw_scalar)scalar) {
#define X(name, type, text) case name: ((type *)(void *)stored)[i] = (type)value; break;
                LW_SCALARS(X)
#undef X
            case LW_N_SCALARS: break;
            }
            for (size_t b = 0; b < bytes; b++)
                swapped[(size_t)i * bytes + b] = stored[(size_t)i * bytes + bytes - 1 - b];
        }
        for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
            const void *const samples = is_swapped ? swapped : stored;
            const struct lw_sfft_signal real = {{(enum lw_scalar)scalar, false, is_swapped}, samples, 2};
            const struct lw_sfft_signal both = {{(enum lw_scalar)scalar, true, is_swapped}, samples, 1};
            for (int i = 0; i < N; i++) {
                double a[2], b[2];
                lw_sfft_cpu_sample(&real, i, a);
                lw_sfft_cpu_sample(&both, i, b);
                CHECK(a[0] == 2 * i % 100 && a[1] == 0, "type %d, sample %d: %g %g", scalar, i, a[0], a[1]);
                CHECK(b[0] == 2 * i % 100 && b[1] == (2 * i + 1) % 100, "type %d, sample %d: %g %g", scalar, i, b[0], b[1]);
            }
        }
    }
}

/* ---- signals without a sparse spectrum -------------------------------------------------------------------------------- */

static struct lw_sfft_result recover_signal(const double complex *x, int64_t n, int64_t k, struct lw_sfft_line lines[16])
{
    const struct lw_sfft_spec spec = {.n = n, .sparsity = k, .precision = LW_DOUBLE, .seed = 5};
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    const struct lw_sfft_signal signal = {{LW_FLOAT64, true, false}, x, 1};
    struct transform t = open_transform(&spec, 1);
    struct lw_sfft_result result;
    recover(&t, &plan, &signal, &result);
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

    const struct lw_sfft_spec spec = {.n = n, .is_real = is_real, .sparsity = k};
    struct lw_sfft_result result;
    CHECK(lw_sfft_dense_cpu(&spec, samples, lines, &result, &err) == LW_OK, "%s", err.message);
    CHECK(result.n_lines == (k < n_bins ? k : n_bins), "%" PRId64 " lines", result.n_lines);
    for (int64_t i = 0; i < result.n_lines; i++) {
        const double complex x = CMPLX(lines[i].re, lines[i].im);
        CHECK(cabs(x - spectrum[lines[i].frequency]) < 1e-11 * (double)n, "X[%" PRId64 "]", lines[i].frequency);
        CHECK(cabs(x) > sizes[result.n_lines - 1] * (1 - 1e-9), "X[%" PRId64 "] is not among the largest", lines[i].frequency);
        CHECK(i == 0 || lines[i].frequency > lines[i - 1].frequency, "not in order at %" PRId64, i);
    }
    CHECK(k < n ? result.residual > 0 && result.residual < 1 : result.residual < 1e-12, "residual %g", result.residual);
    lw_free(samples);
    lw_free(spectrum);
    lw_free(sizes);
    lw_free(lines);
}

int main(void)
{
    /* L1 error over all bins, what is found and is none included, of unit lines; the tolerances of the windows are 1e-7
     * and 1e-5 */
    const double clean = 1e-6, clean_single = 1e-3;
    expect((struct scene){.n = 1 << 16, .n_lines = 20}, 1000, 999, clean);
    expect((struct scene){.n = 1 << 18, .n_lines = 100}, 200, 200, clean);
    expect((struct scene){.n = 1 << 20, .n_lines = 300, .support = BLOCK}, 15, 15, clean);
    expect((struct scene){.n = 1 << 18, .n_lines = 64, .support = COMB}, 50, 50, clean);
    expect((struct scene){.n = 1 << 18, .n_lines = 100, .support = PAIRS}, 50, 50, clean);
    expect((struct scene){.n = 262147, .n_lines = 100}, 50, 50, clean);
    expect((struct scene){.n = 250000, .n_lines = 50, .is_real = true}, 50, 50, clean);
    expect((struct scene){.n = 250001, .n_lines = 1}, 50, 50, clean);
    expect((struct scene){.n = 1 << 18, .n_lines = 100, .range_db = 60}, 50, 50, clean);
    expect((struct scene){.n = 1 << 16, .n_lines = 20, .is_single = true}, 200, 200, clean_single);
    expect((struct scene){.n = 1 << 18, .n_lines = 50, .snr_db = 40}, 50, 50, 5e-3);
    expect((struct scene){.n = 1 << 18, .n_lines = 100, .snr_db = 20, .tells_snr = true}, 100, 99, 0.05);
    expect((struct scene){.n = 1 << 20, .n_lines = 50, .snr_db = 20}, 10, 10, 0.05);
    expect((struct scene){.n = 1 << 20, .n_lines = 20, .snr_db = 0.001, .tells_snr = true}, 20, 19, 0.2);
    check_odd_signals();
    check_threads();
    check_types();
    check_dense(1, false, 1);
    check_dense(1, true, 3);
    check_dense(30, false, 7);
    check_dense(30, true, 5);
    check_dense(31, true, 40);
    check_dense(64, false, 64);
    return check_result("sfft_cpu");
}
