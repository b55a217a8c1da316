#include "sfft_bench.h"

#include "base/memory.h"
#include "sfft/number.h"

#include <fftw3.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void bench_fail(const struct lw_error *err)
{
    fprintf(stderr, "%s\n", err->message);
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

void bench_make_signal(struct bench *bench)
{
    struct lw_error err;
    if (!(bench->x = lw_alloc_array(bench->n, sizeof *bench->x, "the signal", &err)) ||
        !(bench->frequency = lw_alloc_array(bench->k, sizeof *bench->frequency, "the lines", &err)))
        bench_fail(&err);
    for (int64_t i = 0; i < bench->k; i++) {
        const int64_t f = bench->is_real + lw_random_below(2, (uint64_t)i, bench->is_real ? bench->n / 2 - 1 : bench->n);
        bench->frequency[i] = f;
        bench->x[f] = line_value(f);
        if (bench->is_real)
            bench->x[bench->n - f] = conj(line_value(f));
    }
    qsort(bench->frequency, (size_t)bench->k, sizeof *bench->frequency, by_value);
    const fftw_plan inverse = fftw_plan_dft_1d((int)bench->n, bench->x, bench->x, FFTW_BACKWARD, FFTW_ESTIMATE);
    fftw_execute(inverse);
    fftw_destroy_plan(inverse);
    double *const reals = (double *)bench->x;
    if (bench->is_real)
        for (int64_t t = 0; t < bench->n; t++)
            reals[t] = creal(bench->x[t]);
    /* The standard deviation of noise in one real number: complex lines have half of the signal's energy in each part. */
    const double of_lines = (double)bench->k * (bench->is_real ? 2 : 0.5);
    const double sigma = bench->has_noise ? sqrt(of_lines * pow(10, -bench->snr_db / 10)) : 0;
    #pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < (sigma > 0 ? bench->n : 0); t++)
        if (bench->is_real)
            reals[t] += sigma * normal(4, (uint64_t)t);
        else
            bench->x[t] += sigma * CMPLX(normal(4, (uint64_t)t), normal(5, (uint64_t)t));
}

void bench_release(struct bench *bench)
{
    lw_free(bench->x);
    lw_free(bench->frequency);
}

/* ---- figures ------------------------------------------------------------------------------------------------------- */

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Read both clocks. Reading the processor's clock may take tens of microseconds, so it is read outside the interval of the
 * other. */
struct clocks bench_now(void)
{
    const double processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    return (struct clocks){seconds(CLOCK_MONOTONIC), processor};
}

void bench_add_time(struct figures *figures, struct clocks start)
{
    const double wall = seconds(CLOCK_MONOTONIC), processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    figures->wall[figures->runs] += wall - start.wall;
    figures->processor[figures->runs] += processor - start.processor;
}

void bench_score(const struct bench *bench, const struct lw_sfft_result *result, int attempts, struct figures *figures)
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

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_times(struct figures *f)
{
    qsort(f->wall, (size_t)f->runs, sizeof *f->wall, by_size);
    qsort(f->processor, (size_t)f->runs, sizeof *f->processor, by_size);
}

int bench_cores(void)
{
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

void bench_write_names(FILE *csv)
{
    fprintf(csv, "n,k,snr,samples_are,algorithm,threads,runs,wall,wall_median,samples,found,fell_back,wrong,retried,l1");
#define X(step) fprintf(csv, "," #step);
    LW_PUBLISHED_STEPS(X)
#undef X
    fprintf(csv, ",lines\n");
}

void bench_write(FILE *csv, const struct bench *bench, const char *algorithm, int n_threads, struct figures *f)
{
    const bool is_scored = f->found + f->wrong + f->fell_back > 0;
    char snr[24] = "none";
    if (bench->has_noise && is_scored)
        snprintf(snr, sizeof snr, "%g", bench->snr_db);
    sort_times(f);
    fprintf(csv, "%" PRId64 ",%" PRId64 ",%s,%s,%s,%d,%d,%.4f,%.4f,%" PRId64, bench->n, is_scored ? bench->k : 0, snr,
            bench->is_real ? "real" : "complex", algorithm, n_threads, f->runs, 1e3 * f->wall[0], 1e3 * f->wall[f->runs / 2],
            f->samples);
    if (is_scored) {
        fprintf(csv, ",%d,%d,%d,%d,%.3g", f->found, f->fell_back, f->wrong, f->retried, f->error / f->runs);
#define X(step) fprintf(csv, ",%.4f", 1e3 * f->profile.step / f->runs);
        LW_PUBLISHED_STEPS(X)
#undef X
    } else {
        fprintf(csv, ",,,,,");
#define X(step) fprintf(csv, ",");
        LW_PUBLISHED_STEPS(X)
#undef X
    }
    fprintf(csv, ",%s\n", f->lines ? f->lines : "");
    fflush(csv);
}

void bench_print(const struct bench *bench, const char *algorithm, int n_threads, bool has_lines, bool has_steps,
                 struct figures *f)
{
    sort_times(f);
    char snr[24] = "none";
    if (bench->has_noise)
        snprintf(snr, sizeof snr, "%g", bench->snr_db);
    printf("n %" PRId64 " k %" PRId64 " snr %s algorithm %s threads %d runs %d wall %.3f wall_median %.3f processor %.3f "
           "processor_median %.3f samples %" PRId64, bench->n, bench->k, snr, algorithm, n_threads, f->runs,
           1e3 * f->wall[0], 1e3 * f->wall[f->runs / 2], 1e3 * f->processor[0], 1e3 * f->processor[f->runs / 2], f->samples);
    if (has_lines)
        printf(" found %d fell_back %d wrong %d retried %d l1 %.3g", f->found, f->fell_back, f->wrong, f->retried,
               f->error / f->runs);
    if (has_steps) {
#define X(step) printf(" " #step " %.3f", 1e3 * f->profile.step / f->runs);
        LW_PUBLISHED_STEPS(X)
#undef X
    }
    printf("\n");
    fflush(stdout);
}
