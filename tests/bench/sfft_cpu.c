/* sfft_cpu.c - benchmark of sparse transforms of a signal in memory on the CPU, beside FFTW's transform of all samples.
 *
 *   bench_sfft_cpu [LOG2_N [K [RUNS [SNR_DB [ALGORITHMS [THREADS]]]]]]
 *                  default: 27 1000 20 none sparse,sfft2,comb,fftw 2
 *
 * sparse is the default algorithm of `lapwing sfft`, sfft2 the published one, comb the same with a comb (sFFT 2.0).
 *
 * The signal holds K lines of magnitude 1 at random frequencies, complex double, in white noise of SNR_DB per sample. The time is
 * from the signal to sorted lines, further attempts included. Plans, windows and buffers are made before, like FFTW's plan. Each
 * run has a seed of its own, hence other samples; FFTW (FFTW_ESTIMATE) runs three times at most.
 *
 * The program prints, for each algorithm on one thread and on THREADS, a line of names and values: wall and processor time of the
 * best and of the median run, ms; samples of a first attempt; runs that found all lines and reported so; runs that reported a
 * failure (the job would fall back to the dense transform); runs that wrongly reported all lines; runs that took a second
 * attempt; the mean of the paper's L1 error, over all bins, per line; and for sfft2 and comb the mean time of each step, ms. */
#include "sfft_bench.h"

#include "base/memory.h"
#include "cpu/sfft/published/solver.h"
#include "cpu/sfft/solver.h"
#include "sfft/number.h"

#include <fftw3.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FFTW_RUNS = 3 };

/* ---- algorithms ---------------------------------------------------------------------------------------------------- */

static struct lw_sfft_spec spec_of(const struct bench *bench, int number)
{
    return (struct lw_sfft_spec){
        .n = bench->n, .sparsity = bench->k, .precision = LW_DOUBLE, .seed = (uint64_t)number, .has_snr = bench->has_noise,
        .snr_db = bench->snr_db,
    };
}

/* All threads fetch the samples of a stage. The samples of a row lie far apart in memory, so each is prefetched some time before
 * it is used. */
static void gather(const struct bench *bench, const struct lw_sfft_stage *stage, int n_threads, double complex *rows)
{
    enum { AHEAD = 24 };
    const int64_t n = stage->spec.n, length = 2 * stage->window->half + 1;
    #pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int d = 0; d < stage->spec.n_shifts; d++) {
        int64_t at = lw_sfft_stage_sample(stage, d, 0), ahead = lw_sfft_stage_sample(stage, d, AHEAD);
        for (int64_t i = 0; i < length; i++) {
            __builtin_prefetch(bench->x + ahead);
            rows[d * length + i] = bench->x[at];
            at = lw_mod_add(at, stage->sigma, n);
            ahead = lw_mod_add(ahead, stage->sigma, n);
        }
    }
}

static int64_t most_samples(const struct lw_sfft_layout *layout)
{
    int64_t most = 0;
    for (int s = 0; s < layout->n_stages; s++)
        if (lw_sfft_stage_samples(&layout->stages[s]) > most)
            most = lw_sfft_stage_samples(&layout->stages[s]);
    return most;
}

static int run_sparse(const struct bench *bench, int number, int n_threads, struct figures *figures, struct lw_error *err)
{
    const struct lw_sfft_spec spec = spec_of(bench, number);
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&spec);
    struct lw_engine engine = {.n_workers = n_threads};
    struct lw_sfft_layout *layout = NULL;
    struct lw_sfft_solver *solver = NULL;
    double complex *rows = NULL;
    struct lw_sfft_result result = {0};
    int attempt = 0;
    if (plan.n_attempts == 0)
        return lw_fail(err, LW_ECONFIG, "more than a quarter of the samples would be taken");
    if (lw_sfft_layout_create(&plan, &layout, err) || lw_cpu_sparse_ops.create(&engine, layout, &solver, err) ||
        !(rows = lw_alloc_array(most_samples(layout), sizeof *rows, "samples", err)))
        bench_fail(err);
    const struct clocks start = bench_now();
    for (; attempt < plan.n_attempts && !result.is_explained; attempt++) {
        for (int s = lw_sfft_first_stage(layout, attempt); s < lw_sfft_first_stage(layout, attempt + 1); s++) {
            gather(bench, &layout->stages[s], n_threads, rows);
            solver->ops->load(solver, s, (const double *)rows, err);
        }
        solver->ops->recover(solver, attempt, &result, err);
    }
    bench_add_time(figures, start);
    figures->samples = plan.attempts[0].samples;
    bench_score(bench, &result, attempt, figures);
    lw_free(rows);
    lw_sfft_solver_destroy(solver);
    lw_sfft_layout_destroy(layout);
    return LW_OK;
}

static int run_published(const struct bench *bench, const struct lw_published_choice *choice, int number, int n_threads,
                      struct figures *figures, struct lw_error *err)
{
    const struct lw_sfft_spec spec = spec_of(bench, number);
    const struct lw_published_signal signal = {(const double *)bench->x, false};
    struct lw_engine engine = {.n_workers = n_threads};
    struct lw_published_layout *layout = NULL;
    struct lw_published_solver *solver = NULL;
    struct lw_sfft_result result = {0};
    int attempt = 0;
    for (; attempt < LW_PUBLISHED_ATTEMPTS && !result.is_explained; attempt++) {
        struct lw_published_plan plan;
        lw_published_solver_destroy(solver);
        lw_published_layout_destroy(layout);
        solver = NULL;
        layout = NULL;
        const int rc = lw_published_plan_make(&spec, choice, attempt, &plan, err);
        if (rc)
            return rc;
        if (lw_published_layout_create(&plan, attempt, &layout, err) ||
            lw_cpu_published_ops.create(&engine, layout, &solver, err))
            bench_fail(err);
        figures->samples = attempt == 0 ? plan.samples : figures->samples;
        const struct clocks start = bench_now();
        solver->ops->run(solver, &signal, &result, &figures->profile, err);
        bench_add_time(figures, start);
    }
    bench_score(bench, &result, attempt, figures);
    lw_published_solver_destroy(solver);
    lw_published_layout_destroy(layout);
    return LW_OK;
}

static int run_plain(const struct bench *bench, int number, int n_threads, struct figures *figures, struct lw_error *err)
{
    const struct lw_published_choice choice = {0};
    return run_published(bench, &choice, number, n_threads, figures, err);
}

/* sFFT 2.0 with a comb: of 64 residues for each line, only the strongest get votes. */
static int run_comb(const struct bench *bench, int number, int n_threads, struct figures *figures, struct lw_error *err)
{
    struct lw_published_choice choice = {.comb = 64};
    while (choice.comb < 64 * bench->k && choice.comb < bench->n / 16)
        choice.comb *= 2;
    return run_published(bench, &choice, number, n_threads, figures, err);
}

static int run_fftw(const struct bench *bench, int number, int n_threads, struct figures *figures, struct lw_error *err)
{
    (void)err;
    if (number >= FFTW_RUNS)
        return LW_OK;
    fftw_plan_with_nthreads(n_threads);
    const fftw_plan forward = fftw_plan_dft_1d((int)bench->n, bench->x, bench->x, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan_with_nthreads(1);
    const struct clocks start = bench_now();
    fftw_execute(forward);
    bench_add_time(figures, start);
    figures->samples = bench->n;
    figures->runs++;
    fftw_destroy_plan(forward);
    return LW_OK;
}

/* FFTW transforms the signal in place, so it comes last. */
static const struct algorithm {
    const char *name;
    int (*run)(const struct bench *bench, int number, int n_threads, struct figures *figures, struct lw_error *err);
    bool has_lines, has_steps;
} algorithms[] = {
    {"sparse", run_sparse, true, false}, {"sfft2", run_plain, true, true}, {"comb", run_comb, true, true},
    {"fftw", run_fftw, false, false},
};

/* ---- all together -------------------------------------------------------------------------------------------------- */

/* @return best wall time, s; 0: the algorithm cannot do this */
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
    bench_print(bench, algorithm->name, n_threads, algorithm->has_lines, algorithm->has_steps, &figures);
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
    bench_make_signal(&bench);
    compare(&bench, argc > 5 ? argv[5] : "sparse,sfft2,comb,fftw");
    bench_release(&bench);
    return 0;
}
