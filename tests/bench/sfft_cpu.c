/* sfft_cpu.c - sparse transforms of a signal in memory on the CPU, beside FFTW's of all samples.
 *
 *     bench_sfft_cpu [LOG2_N [K [RUNS [SNR_DB [ALGORITHMS [THREADS]]]]]]
 *     default:        27      1000  20    none    sparse,sfft2,fftw  2
 *
 * The signal holds K lines of magnitude 1 at random frequencies, complex double, in white noise of SNR_DB per sample. Timed is
 * all from signal to sorted lines, attempts that follow a first one included; plans, windows and buffers are made before, as
 * FFTW's plan is. Each run has a seed of its own, hence other samples; FFTW (FFTW_ESTIMATE) runs three times at most.
 *
 * Prints, for each algorithm on one thread and on THREADS, a line of names and values: wall and processor time of the best
 * and of the median run, ms; samples of a first attempt; runs that found all lines and said so, runs that did not say so (the
 * job would fall back to the dense transform), runs that said so wrongly, runs that took a second attempt; the mean of the
 * paper's L1 error, over all bins, per line; of sfft2 also the mean time of each step, ms. */
#include "../../src/memory.h"
#include "../../src/sfft2_cpu.h"
#include "../../src/sfft2_layout_cpu.h"
#include "../../src/sfft_buckets_cpu.h"
#include "../../src/sfft_number.h"

#include <complex.h>
#include <fftw3.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RUNS = 1000, FFTW_RUNS = 3 };

struct bench {
    int64_t n, k;
    int n_runs, n_threads;
    bool has_noise;
    double snr_db;
    double complex *x;
    int64_t *frequency;             /* [k] ascending, some may be alike */
};

struct figures {
    double wall[MOST_RUNS], processor[MOST_RUNS];
    double error;                   /* sum of L1 errors per line */
    int found, fell_back, wrong, retried, runs;
    int64_t samples;
    struct lw_sfft2_profile profile;
};

static void fail(const struct lw_error *err)
{
    fprintf(stderr, "bench_sfft_cpu: %s\n", err->message);
    exit(1);
}

/* ---- signal -------------------------------------------------------------------------------------------------------- */

static double uniform(uint64_t seed, uint64_t counter) { return (double)(lw_random_bits(seed, counter) >> 11) * 0x1p-53; }

static double normal(uint64_t seed, uint64_t counter)
{
    return sqrt(-2 * log(uniform(seed, 2 * counter) + 0x1p-54)) * cos(2 * M_PI * uniform(seed, 2 * counter + 1));
}

static double complex line_value(int64_t f) { return cexp(2 * M_PI * I * uniform(3, (uint64_t)f)); }

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void make_signal(struct bench *bench)
{
    struct lw_error err;
    if (!(bench->x = lw_alloc_array(bench->n, sizeof *bench->x, "the signal", &err)) ||
        !(bench->frequency = lw_alloc_array(bench->k, sizeof *bench->frequency, "the lines", &err)))
        fail(&err);
    for (int64_t i = 0; i < bench->k; i++) {
        bench->frequency[i] = lw_random_below(2, (uint64_t)i, bench->n);
        bench->x[bench->frequency[i]] = line_value(bench->frequency[i]);
    }
    qsort(bench->frequency, (size_t)bench->k, sizeof *bench->frequency, by_value);
    const fftw_plan inverse = fftw_plan_dft_1d((int)bench->n, bench->x, bench->x, FFTW_BACKWARD, FFTW_ESTIMATE);
    fftw_execute(inverse);
    fftw_destroy_plan(inverse);
    const double sigma = bench->has_noise ? sqrt((double)bench->k * pow(10, -bench->snr_db / 10) / 2) : 0;
    #pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < (sigma > 0 ? bench->n : 0); t++)
        bench->x[t] += sigma * CMPLX(normal(4, (uint64_t)t), normal(5, (uint64_t)t));
}

/* ---- figures ------------------------------------------------------------------------------------------------------- */

struct clocks {
    double wall, processor;
};

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct clocks now(void)
{
    return (struct clocks){seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
}

static void add_time(struct figures *figures, struct clocks start)
{
    const struct clocks end = now();
    figures->wall[figures->runs] += end.wall - start.wall;
    figures->processor[figures->runs] += end.processor - start.processor;
}

/* Lines are found if all are there; the error is the sum over all bins of |error|, per line. */
static void score(const struct bench *bench, const struct lw_sfft_result *result, int attempts, struct figures *figures)
{
    const double n = (double)bench->n;
    int64_t at = 0, found = 0, there_are = 0;
    double error = 0;
    for (int64_t i = 0; i < bench->k; i++) {
        const int64_t f = bench->frequency[i];
        if (i > 0 && f == bench->frequency[i - 1])
            continue;
        there_are++;
        for (; at < result->n_lines && result->lines[at].frequency < f; at++)
            error += hypot(result->lines[at].re, result->lines[at].im) / n;
        const bool is_found = at < result->n_lines && result->lines[at].frequency == f;
        const double complex value = is_found ? CMPLX(result->lines[at].re, result->lines[at].im) / n : 0;
        error += cabs(value - line_value(f));
        found += is_found;
        at += is_found;
    }
    for (; at < result->n_lines; at++)
        error += hypot(result->lines[at].re, result->lines[at].im) / n;
    figures->error += error / (double)there_are;
    figures->found += found == there_are && result->is_explained;
    figures->wrong += found != there_are && result->is_explained;
    figures->fell_back += !result->is_explained;
    figures->retried += attempts > 1;
    figures->runs++;
}

/* ---- algorithms ---------------------------------------------------------------------------------------------------- */

static struct lw_sfft_spec spec_of(const struct bench *bench, int number)
{
    return (struct lw_sfft_spec){
        .n = bench->n, .sparsity = bench->k, .precision = LW_DOUBLE, .seed = (uint64_t)number, .has_snr = bench->has_noise,
        .snr_db = bench->snr_db,
    };
}

static int run_sparse(const struct bench *bench, int number, int n_threads, struct figures *figures, struct lw_error *err)
{
    const struct lw_sfft_spec spec = spec_of(bench, number);
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    const struct lw_sfft_signal signal = {{LW_FLOAT64, true, false}, bench->x, 1};
    struct lw_sfft_layout *layout = NULL;
    struct lw_sfft *sfft = NULL;
    struct lw_sfft_cpu *cpu = NULL;
    struct lw_sfft_result result = {0};
    int attempt = 0, rc;
    if (plan.n_attempts == 0)
        return lw_fail(err, LW_ECONFIG, "more than a quarter of the samples would be taken");
    if ((rc = lw_sfft_layout_create(&plan, &layout, err)) || (rc = lw_sfft_create(layout, n_threads, &sfft, err)) ||
        (rc = lw_sfft_cpu_create(sfft, layout, n_threads, &cpu, err)))
        fail(err);
    const struct clocks start = now();
    for (; attempt < plan.n_attempts && !result.is_explained; attempt++) {
        for (int s = lw_sfft_first_stage(layout, attempt); s < lw_sfft_first_stage(layout, attempt + 1); s++)
            lw_sfft_cpu_gather(cpu, s, &signal);
        lw_sfft_recover(sfft, attempt, &result);
    }
    add_time(figures, start);
    figures->samples = plan.attempts[0].samples;
    score(bench, &result, attempt, figures);
    lw_sfft_cpu_destroy(cpu);
    lw_sfft_destroy(sfft);
    lw_sfft_layout_destroy(layout);
    return LW_OK;
}

static int run_sfft2(const struct bench *bench, int number, int n_threads, struct figures *figures, struct lw_error *err)
{
    const struct lw_sfft_spec spec = spec_of(bench, number);
    const struct lw_sfft2_choice choice = {0};
    const struct lw_sfft2_signal signal = {(const double *)bench->x, false};
    struct lw_sfft2_layout *layout = NULL;
    struct lw_sfft2_solver *solver = NULL;
    struct lw_sfft_result result = {0};
    int attempt = 0;
    for (; attempt < LW_SFFT2_ATTEMPTS && !result.is_explained; attempt++) {
        struct lw_sfft2_plan plan;
        lw_sfft2_solver_destroy(solver);
        lw_sfft2_layout_destroy(layout);
        solver = NULL;
        layout = NULL;
        const int rc = lw_sfft2_plan_make(&spec, &choice, attempt, &plan, err);
        if (rc)
            return rc;
        if (lw_sfft2_layout_create(&plan, attempt, &layout, err) || lw_sfft2_create_cpu(layout, n_threads, &solver, err))
            fail(err);
        figures->samples = attempt == 0 ? plan.samples : figures->samples;
        const struct clocks start = now();
        solver->ops->run(solver, &signal, &result, &figures->profile, err);
        add_time(figures, start);
    }
    score(bench, &result, attempt, figures);
    lw_sfft2_solver_destroy(solver);
    lw_sfft2_layout_destroy(layout);
    return LW_OK;
}

static int run_fftw(const struct bench *bench, int number, int n_threads, struct figures *figures, struct lw_error *err)
{
    (void)err;
    if (number >= FFTW_RUNS)
        return LW_OK;
    fftw_plan_with_nthreads(n_threads);
    const fftw_plan forward = fftw_plan_dft_1d((int)bench->n, bench->x, bench->x, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan_with_nthreads(1);
    const struct clocks start = now();
    fftw_execute(forward);
    add_time(figures, start);
    figures->samples = bench->n;
    figures->runs++;
    fftw_destroy_plan(forward);
    return LW_OK;
}

/* FFTW transforms the signal in place, so it comes last. */
static const struct algorithm {
    const char *name;
    int (*run)(const struct bench *bench, int number, int n_threads, struct figures *figures, struct lw_error *err);
    bool has_lines;
} algorithms[] = {{"sparse", run_sparse, true}, {"sfft2", run_sfft2, true}, {"fftw", run_fftw, false}};

/* ---- all together -------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const struct bench *bench, const struct algorithm *algorithm, int n_threads, struct figures *f)
{
    qsort(f->wall, (size_t)f->runs, sizeof *f->wall, by_size);
    qsort(f->processor, (size_t)f->runs, sizeof *f->processor, by_size);
    char snr[24] = "none";
    if (bench->has_noise)
        snprintf(snr, sizeof snr, "%g", bench->snr_db);
    printf("n %" PRId64 " k %" PRId64 " snr %s algorithm %s threads %d runs %d wall %.3f wall_median %.3f processor %.3f "
           "processor_median %.3f samples %" PRId64, bench->n, bench->k, snr, algorithm->name, n_threads, f->runs,
           1e3 * f->wall[0], 1e3 * f->wall[f->runs / 2], 1e3 * f->processor[0], 1e3 * f->processor[f->runs / 2], f->samples);
    if (algorithm->has_lines)
        printf(" found %d fell_back %d wrong %d retried %d l1 %.3g", f->found, f->fell_back, f->wrong, f->retried,
               f->error / f->runs);
    if (algorithm->run == run_sfft2) {
#define X(step) printf(" " #step " %.3f", 1e3 * f->profile.step / f->runs);
        LW_SFFT2_STEPS(X)
#undef X
    }
    printf("\n");
    fflush(stdout);
}

/* @return  best wall time, s; 0: the algorithm cannot do this */
static double measure(const struct bench *bench, const struct algorithm *algorithm, int n_threads)
{
    static struct figures figures;
    struct lw_error err;
    figures = (struct figures){0};
    for (int i = 0; i < bench->n_runs; i++) {
        if (algorithm->run(bench, i, n_threads, &figures, &err) != LW_OK) {
            printf("# n %" PRId64 " k %" PRId64 ": %s: %s\n", bench->n, bench->k, algorithm->name, err.message);
            return 0;
        }
    }
    print(bench, algorithm, n_threads, &figures);
    return figures.wall[0];
}

static void compare(const struct bench *bench, const char *names)
{
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        if (!strstr(names, algorithms[a].name))
            continue;
        const double one = measure(bench, &algorithms[a], 1);
        const double many = one > 0 && bench->n_threads > 1 ? measure(bench, &algorithms[a], bench->n_threads) : 0;
        if (many > 0)
            printf("# %s is %.2f times as fast on %d threads\n", algorithms[a].name, one / many, bench->n_threads);
    }
}

int main(int argc, char **argv)
{
    const int bits = argc > 1 ? atoi(argv[1]) : 27;
    struct bench bench = {
        .n = (int64_t)1 << bits, .k = argc > 2 ? atoll(argv[2]) : 1000, .n_runs = argc > 3 ? atoi(argv[3]) : 20,
        .has_noise = argc > 4 && strcmp(argv[4], "none") != 0, .n_threads = argc > 6 ? atoi(argv[6]) : 2,
    };
    bench.snr_db = bench.has_noise ? atof(argv[4]) : 0;
    if (bits < 4 || bits > 30 || bench.k < 1 || bench.n_runs < 1 || bench.n_runs > MOST_RUNS || bench.n_threads < 1) {
        fprintf(stderr, "bench_sfft_cpu [LOG2_N 4..30 [K [RUNS 1..%d [SNR_DB|none [ALGORITHMS [THREADS]]]]]]\n", MOST_RUNS);
        return 2;
    }
    fftw_init_threads();
    make_signal(&bench);
    compare(&bench, argc > 5 ? argv[5] : "sparse,sfft2,fftw");
    lw_free(bench.x);
    lw_free(bench.frequency);
    return 0;
}
