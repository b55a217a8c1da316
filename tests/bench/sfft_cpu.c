/* sfft_cpu.c - the sparse transform of a signal in memory on the CPU, beside FFTW's of all samples.
 *
 *     bench_sfft_cpu [LOG2_N [K [RUNS [SNR_DB]]]]      default: 27 1000 20, no noise
 *
 * The signal holds K lines of magnitude 1 at random frequencies, complex double. Timed is all from signal to sorted lines;
 * plans, windows and buffers are made before, as FFTW's plan is. Each run has a seed of its own, hence other samples. Prints
 * wall time (best and median) for one and two threads, the processor time of one thread, how many runs found all lines, the
 * paper's L1 error, and the wall time of one transform by FFTW (one thread, FFTW_ESTIMATE). */
#include "../../src/sfft_buckets_cpu.h"
#include "../../src/sfft_number.h"
#include "../../src/memory.h"

#include <complex.h>
#include <fftw3.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_RUNS = 1000 };

struct bench {
    int64_t n, k;
    int n_runs;
    double snr_db;                  /* 0: no noise */
    double complex *x;
    int64_t *frequency;             /* [k], some may be alike */
};

struct figures {
    double wall[MOST_RUNS], processor[MOST_RUNS];
    double error;                   /* mean L1 error per line */
    int found, retried;
    int64_t samples;                /* of one run without retry */
};

static void fail(const struct lw_error *err)
{
    fprintf(stderr, "bench_sfft_cpu: %s\n", err->message);
    exit(1);
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double uniform(uint64_t seed, uint64_t counter) { return (double)(lw_random_bits(seed, counter) >> 11) * 0x1p-53; }

static double normal(uint64_t seed, uint64_t counter)
{
    return sqrt(-2 * log(uniform(seed, 2 * counter) + 0x1p-54)) * cos(2 * M_PI * uniform(seed, 2 * counter + 1));
}

static double complex line_value(int64_t f) { return cexp(2 * M_PI * I * uniform(3, (uint64_t)f)); }

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
    const fftw_plan inverse = fftw_plan_dft_1d((int)bench->n, bench->x, bench->x, FFTW_BACKWARD, FFTW_ESTIMATE);
    fftw_execute(inverse);
    fftw_destroy_plan(inverse);
    const double sigma = bench->snr_db != 0 ? sqrt((double)bench->k * pow(10, -bench->snr_db / 10) / 2) : 0;
    for (int64_t t = 0; sigma > 0 && t < bench->n; t++)
        bench->x[t] += sigma * CMPLX(normal(4, (uint64_t)t), normal(5, (uint64_t)t));
}

static double time_fftw(const struct bench *bench)
{
    const fftw_plan forward = fftw_plan_dft_1d((int)bench->n, bench->x, bench->x, FFTW_FORWARD, FFTW_ESTIMATE);
    const double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    fftw_execute(forward);
    const double elapsed = seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    fftw_destroy_plan(forward);
    return elapsed;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The sum over all bins of |error|, per line. */
static void score(const struct bench *bench, const struct lw_sfft_result *result, struct figures *figures)
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
    figures->error += error / (double)there_are / bench->n_runs;
    figures->found += found == there_are;
}

static void run(const struct bench *bench, int number, int n_threads, struct figures *figures)
{
    struct lw_error err;
    const struct lw_sfft_spec spec = {
        .n = bench->n, .sparsity = bench->k, .precision = LW_DOUBLE, .seed = (uint64_t)number,
        .has_snr = bench->snr_db != 0, .snr_db = bench->snr_db,
    };
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    const struct lw_sfft_signal signal = {{LW_FLOAT64, true, false}, bench->x, 1};
    struct lw_sfft_layout *layout = NULL;
    struct lw_sfft *sfft = NULL;
    struct lw_sfft_cpu *cpu = NULL;
    if (plan.n_attempts == 0)
        lw_fail(&err, LW_ECONFIG, "%" PRId64 " lines of %" PRId64 " samples: the dense transform is better", spec.sparsity, spec.n);
    if (plan.n_attempts == 0 || lw_sfft_layout_create(&plan, &layout, &err) || lw_sfft_create(layout, n_threads, &sfft, &err) ||
        lw_sfft_cpu_create(sfft, layout, n_threads, &cpu, &err))
        fail(&err);

    const double wall = seconds(CLOCK_MONOTONIC), processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    struct lw_sfft_result result = {0};
    for (int a = 0; a < plan.n_attempts && !result.is_explained; a++) {
        for (int s = lw_sfft_first_stage(layout, a); s < lw_sfft_first_stage(layout, a + 1); s++)
            lw_sfft_cpu_gather(cpu, s, &signal);
        lw_sfft_recover(sfft, a, &result);
        figures->retried += a > 0;
    }
    figures->wall[number] = seconds(CLOCK_MONOTONIC) - wall;
    figures->processor[number] = seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
    figures->samples = plan.attempts[0].samples;
    score(bench, &result, figures);
    lw_sfft_cpu_destroy(cpu);
    lw_sfft_destroy(sfft);
    lw_sfft_layout_destroy(layout);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const struct bench *bench, int n_threads)
{
    static struct figures figures;
    figures = (struct figures){0};
    for (int i = 0; i < bench->n_runs; i++)
        run(bench, i, n_threads, &figures);
    qsort(figures.wall, (size_t)bench->n_runs, sizeof *figures.wall, by_size);
    qsort(figures.processor, (size_t)bench->n_runs, sizeof *figures.processor, by_size);
    printf("n %" PRId64 " k %" PRId64 " snr %g, %d thread%s: wall %.2f ms best, %.2f median; processor %.2f best, %.2f median; "
           "%" PRId64 " samples; %d of %d found all, %d retries, L1 error %.2g\n", bench->n, bench->k, bench->snr_db, n_threads,
           n_threads == 1 ? "" : "s", 1e3 * figures.wall[0], 1e3 * figures.wall[bench->n_runs / 2],
           1e3 * figures.processor[0], 1e3 * figures.processor[bench->n_runs / 2], figures.samples, figures.found,
           bench->n_runs, figures.retried, figures.error);
}

int main(int argc, char **argv)
{
    const int bits = argc > 1 ? atoi(argv[1]) : 27;
    struct bench bench = {
        .n = (int64_t)1 << bits, .k = argc > 2 ? atoll(argv[2]) : 1000, .n_runs = argc > 3 ? atoi(argv[3]) : 20,
        .snr_db = argc > 4 ? atof(argv[4]) : 0,
    };
    if (bits < 4 || bits > 30 || bench.k < 1 || bench.n_runs < 1 || bench.n_runs > MOST_RUNS) {
        fprintf(stderr, "bench_sfft_cpu [LOG2_N 4..30 [K [RUNS 1..%d [SNR_DB]]]]\n", MOST_RUNS);
        return 2;
    }
    make_signal(&bench);
    qsort(bench.frequency, (size_t)bench.k, sizeof *bench.frequency, by_value);
    measure(&bench, 1);
    measure(&bench, 2);
    printf("FFTW, all samples, one thread: processor %.1f ms\n", 1e3 * time_fftw(&bench));
    lw_free(bench.x);
    lw_free(bench.frequency);
    return 0;
}
