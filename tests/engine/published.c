#include "suites.h"

#include "base/memory.h"
#include "engine/published/solver.h"
#include "sfft/number.h"

#include "../check.h"

#include <complex.h>
#include <fftw3.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum support { RANDOM, BLOCK, COMB };

struct scene {
    int64_t n;
    int n_lines;
    enum support support;
    bool is_real, is_single;
    double snr_db;                  /* signal-to-noise ratio in dB; 0: no noise */
    double range_db;                /* ratio of the strongest to the weakest line in dB */
    int n_wanted;                   /* number of lines wanted; 0: all */
    double least;                   /* least amplitude of a wanted line */
    struct lw_published_choice choice;
};

struct trial {
    struct scene scene;
    uint64_t seed;
    double complex *x;              /* [n] */
    double *x_real;                 /* [n] */
    double complex *amplitude;      /* [n]; 0: no line */
    int n_lines;                    /* lines at frequencies 0 .. n/2 only, for a real signal */
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
    if (scene->support == BLOCK)
        return span / 7 + i;
    return scene->support == COMB ? i * (span / scene->n_lines) + 1 : lw_random_below(trial->seed, (uint64_t)i, span);
}

static double place_lines(struct trial *trial)
{
    const struct scene *const scene = &trial->scene;
    double power = 0;
    trial->n_lines = 0;
    memset(trial->amplitude, 0, (size_t)scene->n * sizeof *trial->amplitude);
    for (int i = 0; i < scene->n_lines; i++) {
        const int64_t f = line_frequency(trial, i);
        const double size = pow(10, -scene->range_db / 20 * uniform(trial->seed + 1, (uint64_t)i));
        if (trial->amplitude[f] != 0 || (scene->is_real && f == 0))
            continue;
        trial->amplitude[f] = size * cexp(2 * M_PI * I * uniform(trial->seed + 2, (uint64_t)i));
        if (scene->is_real)
            trial->amplitude[scene->n - f] = conj(trial->amplitude[f]);
        power += size * size * (scene->is_real ? 2 : 1);
        trial->n_lines++;
    }
    return power;
}

static void make_trial(struct trial *trial)
{
    const struct scene *const scene = &trial->scene;
    const double power = place_lines(trial);
    const double sigma = scene->snr_db != 0 ? sqrt(power * pow(10, -scene->snr_db / 10)) : 0;
    memcpy(trial->x, trial->amplitude, (size_t)scene->n * sizeof *trial->x);
    const fftw_plan inverse = fftw_plan_dft_1d((int)scene->n, trial->x, trial->x, FFTW_BACKWARD, FFTW_ESTIMATE);
    fftw_execute(inverse);
    fftw_destroy_plan(inverse);
    for (int64_t t = 0; sigma > 0 && t < scene->n; t++) {
        const double re = normal(trial->seed + 3, (uint64_t)t), im = normal(trial->seed + 4, (uint64_t)t);
        trial->x[t] += scene->is_real ? sigma * re : sigma * M_SQRT1_2 * CMPLX(re, im);
    }
    for (int64_t t = 0; t < scene->n; t++)
        trial->x_real[t] = creal(trial->x[t]);
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

/* The engine under test, and the divisor of the number of trials. */
struct under_test {
    const struct lw_engine_type *type;
    int divisor;
};

static struct lw_engine *open_engine(const struct lw_engine_type *type, int n_threads)
{
    const struct lw_engine_spec spec = {.n_threads = n_threads, .node_ranks = 1};
    struct lw_engine *engine = NULL;
    struct lw_error err;
    CHECK(type->create(&spec, &engine, &err) == LW_OK, "%s", err.message);
    return engine;
}

/* One attempt: the objects that belong to a result's lines. */
struct attempt {
    struct lw_engine *engine;
    struct lw_published_layout *layout;
    struct lw_published_solver *solver;
    struct lw_sfft_result result;
};

static void end_attempt(struct attempt *attempt)
{
    lw_published_solver_destroy(attempt->solver);
    lw_published_layout_destroy(attempt->layout);
    lw_engine_destroy(attempt->engine);
}

static void run(struct attempt *attempt, const struct trial *trial)
{
    const bool is_real = trial->scene.is_real;
    const struct lw_published_signal signal = {is_real ? trial->x_real : (const double *)trial->x, is_real};
    struct lw_published_profile profile = {0};
    struct lw_error err;
    const int rc = attempt->solver->ops->run(attempt->solver, &signal, &attempt->result, &profile, &err);
    CHECK(rc == LW_OK, "%s", err.message);
    CHECK(profile.check > 0, "no time in the profile");
}

static struct attempt try_once(const struct trial *trial, const struct lw_engine_type *type, int number, int n_threads)
{
    const struct scene *const scene = &trial->scene;
    const struct lw_sfft_spec spec = {
        .n = scene->n,
        .is_real = scene->is_real,
        .sparsity = scene->n_wanted > 0 ? scene->n_wanted : scene->n_lines,
        .min_magnitude = scene->least * (double)scene->n,
        .precision = scene->is_single ? LW_SINGLE : LW_DOUBLE,
        .seed = trial->seed,
    };
    struct attempt attempt = {.engine = open_engine(type, n_threads)};
    struct lw_published_plan plan;
    struct lw_error err = {0};
    const bool is_made = attempt.engine && lw_published_plan_make(&spec, &scene->choice, number, &plan, &err) == LW_OK &&
                         lw_published_layout_create(&plan, number, &attempt.layout, &err) == LW_OK &&
                         attempt.engine->ops->published->create(attempt.engine, attempt.layout, &attempt.solver, &err) == LW_OK;
    CHECK(is_made, "%s", err.message);
    if (is_made)
        run(&attempt, trial);
    return attempt;
}

/* ---- statistics ---------------------------------------------------------------------------------------------------- */

struct score {
    int found, wrong, retried;
    double error;                   /* worst trial: sum over all bins of |error|, per line */
};

static void count_trial(const struct trial *trial, const struct lw_sfft_result *result, struct score *score)
{
    const double n = (double)trial->scene.n;
    int found = 0;
    double error = trial->n_lines;
    for (int64_t i = 0; i < result->n_lines; i++) {
        const struct lw_sfft_line *const line = &result->lines[i];
        const double complex a = trial->amplitude[line->frequency];
        found += a != 0;
        error += cabs(CMPLX(line->re, line->im) / n - a) - (a != 0 ? 1 : 0);
    }
    const bool all = found == trial->n_lines && result->n_lines == found;
    score->found += all && result->is_explained;
    score->wrong += !all && result->is_explained;
    score->error = fmax(score->error, error / trial->n_lines);
    CHECK(!all || trial->scene.snr_db != 0 || result->residual < 1e-9, "residual %g with all lines", result->residual);
}

/* All trials find their lines, at the second attempt at the latest. No wrong answer is reported as right. */
static void expect(const struct under_test *test, struct scene scene, int most_trials, double most_error)
{
    const int trials = (most_trials + test->divisor - 1) / test->divisor;
    struct score score = {0};
    struct trial trial = open_trial(&scene);
    for (int i = 0; i < trials; i++) {
        trial.seed = (uint64_t)(1000 * i + 17);
        make_trial(&trial);
        struct attempt attempt = try_once(&trial, test->type, 0, 2);
        if (!attempt.result.is_explained) {
            score.retried++;
            end_attempt(&attempt);
            attempt = try_once(&trial, test->type, 1, 2);
        }
        count_trial(&trial, &attempt.result, &score);
        end_attempt(&attempt);
    }
    close_trial(&trial);
    printf("n %7" PRId64 " k %3d support %d %-7s %-6s snr %3g range %2g: %d/%d found, %d wrong, %d retried, error %.2g\n",
           scene.n, scene.n_lines, scene.support, scene.is_real ? "real" : "complex", scene.is_single ? "single" : "double",
           scene.snr_db, scene.range_db, score.found, trials, score.wrong, score.retried, score.error);
    CHECK(score.found == trials, "%d of %d", score.found, trials);
    CHECK(score.wrong == 0, "%d wrong answers were called explained", score.wrong);
    CHECK(scene.range_db > 0 || score.error < most_error, "L1 error %g", score.error);
}

/* ---- the same again ------------------------------------------------------------------------------------------------ */

/* A solver's second run, and any number of threads, give the same bits. */
static void check_again(const struct under_test *test, struct scene scene)
{
    struct trial trial = open_trial(&scene);
    trial.seed = 3;
    make_trial(&trial);
    struct attempt first = try_once(&trial, test->type, 0, 1);
    run(&first, &trial);
    CHECK(first.result.is_explained && first.result.n_lines == trial.n_lines, "%" PRId64 " lines", first.result.n_lines);
    for (int n_threads = 2; n_threads < 5; n_threads++) {
        struct attempt other = try_once(&trial, test->type, 0, n_threads);
        CHECK(other.result.n_lines == first.result.n_lines && other.result.residual == first.result.residual &&
                  memcmp(other.result.lines, first.result.lines,
                         (size_t)first.result.n_lines * sizeof *first.result.lines) == 0,
              "%d threads give other bits", n_threads);
        end_attempt(&other);
    }
    end_attempt(&first);
    close_trial(&trial);
}

/* Engines agree but for rounding. */
static void check_engines(const struct under_test *test, struct scene scene)
{
    struct trial trial = open_trial(&scene);
    trial.seed = 5;
    make_trial(&trial);
    struct attempt mine = try_once(&trial, test->type, 0, 2), cpu = try_once(&trial, &lw_cpu_engine, 0, 2);
    CHECK(mine.result.n_lines == cpu.result.n_lines && mine.result.n_found == cpu.result.n_found,
          "%" PRId64 " lines, not %" PRId64, mine.result.n_lines, cpu.result.n_lines);
    CHECK(fabs(mine.result.residual - cpu.result.residual) < 1e-9 && mine.result.is_explained == cpu.result.is_explained,
          "residual %g, not %g", mine.result.residual, cpu.result.residual);
    for (int64_t i = 0; i < mine.result.n_lines && i < cpu.result.n_lines; i++) {
        const struct lw_sfft_line *const a = &mine.result.lines[i], *const b = &cpu.result.lines[i];
        CHECK(a->frequency == b->frequency && hypot(a->re - b->re, a->im - b->im) < 1e-11 * (double)scene.n,
              "X[%" PRId64 "] = (%g, %g), X[%" PRId64 "] = (%g, %g)", a->frequency, a->re, a->im, b->frequency, b->re, b->im);
    }
    end_attempt(&mine);
    end_attempt(&cpu);
    close_trial(&trial);
}

/* ---- signals without a sparse spectrum ----------------------------------------------------------------------------- */

enum odd { ZERO, CONSTANT, NOISE, BETWEEN, PULSE };

static double complex odd_sample(enum odd odd, int64_t t, int64_t n)
{
    switch (odd) {
    case ZERO: return 0;
    case CONSTANT: return 3;
    case NOISE: return CMPLX(normal(1, (uint64_t)t), normal(2, (uint64_t)t));
    case BETWEEN: return cexp(2 * M_PI * I * 12345.5 * (double)t / (double)n);
    default: return t < n / 8;
    }
}

static void check_odd(const struct under_test *test, enum odd odd, bool is_explained, int64_t n_lines)
{
    const struct scene scene = {.n = 1 << 17, .n_lines = 6};
    struct trial trial = open_trial(&scene);
    for (int64_t t = 0; t < scene.n; t++)
        trial.x[t] = odd_sample(odd, t, scene.n);
    for (int number = 0; number < LW_PUBLISHED_ATTEMPTS; number++) {
        struct attempt attempt = try_once(&trial, test->type, number, 2);
        const struct lw_sfft_result *const result = &attempt.result;
        CHECK(result->is_explained == is_explained, "signal %d, attempt %d: residual %g", odd, number, result->residual);
        CHECK(n_lines < 0 || result->n_lines == n_lines, "signal %d: %" PRId64 " lines", odd, result->n_lines);
        CHECK(is_explained || result->residual > 0.01, "signal %d: residual %g", odd, result->residual);
        CHECK(odd != CONSTANT || (result->lines[0].frequency == 0 &&
                                  fabs(result->lines[0].re / 3 / (double)scene.n - 1) < 1e-9),
              "constant: X[%" PRId64 "] = %g", result->lines[0].frequency, result->lines[0].re);
        end_attempt(&attempt);
    }
    close_trial(&trial);
}

static void check_statistics(const struct under_test *test)
{
    /* L1 error of unit lines over all bins; the windows' tolerances are 1e-8 and 1e-6 */
    const double clean = 1e-6, clean_single = 1e-3;
    expect(test, (struct scene){.n = 1 << 16, .n_lines = 10}, 100, clean);
    expect(test, (struct scene){.n = 1 << 18, .n_lines = 50}, 20, clean);
    expect(test, (struct scene){.n = 262147, .n_lines = 50}, 10, clean);
    expect(test, (struct scene){.n = 250001, .n_lines = 1}, 10, clean);
    expect(test, (struct scene){.n = 250000, .n_lines = 20, .is_real = true}, 20, clean);
    expect(test, (struct scene){.n = 1 << 18, .n_lines = 50, .is_single = true}, 20, clean_single);
    expect(test, (struct scene){.n = 1 << 18, .n_lines = 50, .support = BLOCK}, 20, clean);
    expect(test, (struct scene){.n = 1 << 18, .n_lines = 50, .support = COMB}, 20, clean);
    expect(test, (struct scene){.n = 1 << 18, .n_lines = 50, .range_db = 60}, 20, clean);
    expect(test, (struct scene){.n = 1 << 18, .n_lines = 50, .choice = {.window = LW_PUBLISHED_GAUSSIAN}}, 10, clean);
    expect(test, (struct scene){.n = 1 << 18, .n_lines = 50, .choice = {.comb = 2048}}, 20, clean);
    expect(test, (struct scene){.n = 1 << 18, .n_lines = 20, .snr_db = 20}, 20, 0.05);
    expect(test, (struct scene){.n = 1 << 18, .n_lines = 20, .snr_db = 20, .is_real = true, .choice = {.comb = 2048}}, 20,
           0.05);
    expect(test, (struct scene){.n = 1 << 20, .n_lines = 20, .snr_db = 0.001}, 5, 0.2);
    /* cusFFT's own example; most of the elected are no lines */
    expect(test, (struct scene){.n = 1 << 18, .n_lines = 1000, .choice = {.n_buckets = 3816}}, 1, clean);
}

int suite_published(const struct lw_engine_type *type, int divisor)
{
    const struct under_test test = {type, divisor};
    const struct scene real_comb = {.n = 98304, .n_lines = 8, .is_real = true,
                                    .choice = {.comb = 1536, .window = LW_PUBLISHED_GAUSSIAN}};
    /* the bits of the chosen buckets exceed a GPU's shared memory */
    const struct scene many_loops = {.n = 1 << 18, .n_lines = 6, .snr_db = 30,
                                     .choice = {.location_loops = 24, .votes = 16, .n_buckets = 16384}};
    /* lines that are found but not reported (more than wanted, or too weak), and their energy */
    const struct scene few_wanted = {.n = 98304, .n_lines = 14, .range_db = 20, .snr_db = 30, .n_wanted = 8};
    const struct scene strong_wanted = {.n = 98304, .n_lines = 14, .range_db = 20, .snr_db = 30, .is_real = true, .least = 0.4};
    /* few buckets, and an odd number of them: half of the lines share theirs */
    const struct scene crowded = {.n = 100003, .n_lines = 12, .snr_db = 40, .choice = {.n_buckets = 47}};
    /* There are as many buckets as lines: all buckets are selected, and all frequencies elected. */
    const struct scene full = {.n = 98304, .n_lines = 8, .is_real = true, .snr_db = 40, .choice = {.n_buckets = 16}};
    check_statistics(&test);
    check_again(&test, (struct scene){.n = 100003, .n_lines = 12, .snr_db = 25});
    check_again(&test, real_comb);
    /* powers of two have GPU kernels of their own, with samples in columns */
    check_again(&test, (struct scene){.n = 1 << 16, .n_lines = 12, .snr_db = 25, .choice = {.n_buckets = 4096}});
    check_again(&test, (struct scene){.n = 1 << 18, .n_lines = 6, .snr_db = 25, .is_real = true, .choice = {.n_buckets = 256}});
    check_engines(&test, (struct scene){.n = 100003, .n_lines = 12, .snr_db = 25});
    check_engines(&test, real_comb);
    check_engines(&test, many_loops);
    check_engines(&test, crowded);
    check_engines(&test, full);
    check_engines(&test, few_wanted);
    check_engines(&test, strong_wanted);
    check_odd(&test, ZERO, true, 0);
    check_odd(&test, CONSTANT, true, 1);
    check_odd(&test, NOISE, false, -1);
    check_odd(&test, BETWEEN, false, -1);
    check_odd(&test, PULSE, false, -1);
    return check_result("sfft2_conformance");
}
