/* published_gpu.c - benchmark of the published sparse transform of a signal on the device, in all ways; the output is like that
 * of bench_sfft_cpu. bench_sfft_gpu measures the default algorithm and cuFFT.
 *
 *   bench_published_gpu [LOG2_N [K [RUNS [SNR_DB|none]]]]    default: 27 1000 20 none
 *
 * Wall time is from the signal on the device to checked lines on the host, with further attempts where the first failed. Steps
 * are timed on the device, in a run of their own. The algorithm of a row is sfft2:FETCH:CUTOFF[:comb]: direct and select are the
 * engine's own ways, gather and sort those of published_ways.h. Ways without a comb must give the same bits; if they do not, the
 * exit code is 1. */
#include "published_ways.h"
#include "sfft_bench.h"

#include "gpu/sfft/published/solver.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct way {
    const char *name;
    bool gathers, sorts;
    int64_t comb;
} all_ways[] = {
    {.name = "sfft2:gather:select", .gathers = true},
    {.name = "sfft2:direct:select"},
    {.name = "sfft2:direct:sort", .sorts = true},
    {.name = "sfft2:direct:select:comb", .comb = 65536},
};

/* Lines that the first way without a comb found in its first run. */
static struct lw_sfft_line *first_lines;
static int64_t n_first_lines;

static bool has_same_bits(const struct way *way, const struct lw_sfft_result *result)
{
    const size_t bytes = (size_t)result->n_lines * sizeof *result->lines;
    if (!first_lines) {
        first_lines = malloc(bytes + 1);
        n_first_lines = result->n_lines;
        memcpy(first_lines, result->lines, bytes);
    }
    const bool is_same = result->n_lines == n_first_lines && memcmp(result->lines, first_lines, bytes) == 0;
    if (!is_same)
        fprintf(stderr, "%s: not the lines of %s\n", way->name, all_ways[0].name);
    return is_same;
}

static void run(const struct lw_published_layout *layout, const double *samples, bool is_timed,
                const struct lw_cuda_published_ways *ways, struct lw_sfft_result *result, struct figures *figures,
                struct lw_published_solver **solver)
{
    struct lw_error err;
    if (lw_cuda_published_create(layout, is_timed, ways, solver, &err))
        bench_fail(&err);
    const struct clocks start = bench_now();
    if (lw_cuda_published_run_on(*solver, samples, result, &figures->profile, &err))
        bench_fail(&err);
    if (!is_timed)
        bench_add_time(figures, start);
}

/* Make attempt `number` of a run. For seed 0, *is_same becomes whether the lines have the same bits as the first way's.
 * @return whether the run is over: the attempt explains the signal, or it is the last one */
static bool attempt(const struct bench *bench, const double *samples, const struct way *way, int number, int seed,
                    struct figures *figures, bool *is_same, struct lw_error *err)
{
    const struct lw_sfft_spec spec = {
        .n = bench->n, .sparsity = bench->k, .precision = LW_DOUBLE, .seed = (uint64_t)seed, .has_snr = bench->has_noise,
        .snr_db = bench->snr_db,
    };
    const struct lw_published_choice choice = {.comb = way->comb};
    struct lw_published_plan plan;
    struct lw_published_layout *layout = NULL;
    struct lw_published_solver *solver = NULL;
    struct lw_sfft_result result;
    if (lw_published_plan_make(&spec, &choice, number, &plan, err) ||
        lw_published_layout_create(&plan, number, &layout, err))
        bench_fail(err);
    figures->samples = number == 0 ? plan.samples : figures->samples;
    struct bench_ways *const memory =
        bench_ways_create(2 * lw_published_window_half(&plan) + 1, plan.choice.n_buckets, plan.choice.location_loops);
    if (!memory) {
        lw_fail(err, LW_ESYSTEM, "no memory on the device for the other ways");
        bench_fail(err);
    }
    const struct lw_cuda_published_ways ways = {
        .bin = way->gathers ? bench_ways_gather : NULL, .cutoff = way->sorts ? bench_ways_sort : NULL, .context = memory,
    };
    run(layout, samples, false, &ways, &result, figures, &solver);
    const bool is_done = result.is_explained || number + 1 == LW_PUBLISHED_ATTEMPTS;
    if (is_done)
        bench_score(bench, &result, number + 1, figures);
    if (is_done && seed == 0 && way->comb == 0)
        *is_same = has_same_bits(way, &result);
    lw_published_solver_destroy(solver);
    run(layout, samples, true, &ways, &result, figures, &solver);
    lw_published_solver_destroy(solver);
    bench_ways_destroy(memory);
    lw_published_layout_destroy(layout);
    return is_done;
}

/* @return whether the way gives the same bits as the others */
static bool measure(const struct bench *bench, const double *samples, const struct way *way)
{
    static struct figures figures;
    struct lw_error err;
    bool is_same = true;
    figures = (struct figures){0};
    for (int i = 0; i < bench->n_runs; i++)
        for (int number = 0; !attempt(bench, samples, way, number, i, &figures, &is_same, &err); number++)
            ;
    bench_print(bench, way->name, 1, true, true, &figures);
    return is_same;
}

int main(int argc, char **argv)
{
    const int bits = argc > 1 ? atoi(argv[1]) : 27;
    struct bench bench = {
        .n = (int64_t)1 << bits, .k = argc > 2 ? atoll(argv[2]) : 1000, .n_runs = argc > 3 ? atoi(argv[3]) : 20,
        .n_threads = 1, .has_noise = argc > 4 && strcmp(argv[4], "none") != 0,
    };
    bench.snr_db = bench.has_noise ? atof(argv[4]) : 0;
    if (bits < 18 || bits > 30 || bench.k < 1 || bench.n_runs < 1 || bench.n_runs > MOST_RUNS) {
        fprintf(stderr, "bench_published_gpu [LOG2_N 18..30 [K [RUNS 1..%d [SNR_DB|none]]]]\n", MOST_RUNS);
        return 2;
    }
    bench_make_signal(&bench);
    void *samples = NULL;
    const size_t bytes = (size_t)bench.n * sizeof *bench.x;
    cudaError_t status = cudaMalloc(&samples, bytes);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(samples, bench.x, bytes, cudaMemcpyHostToDevice, NULL);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(NULL);
    if (status != cudaSuccess) {
        fprintf(stderr, "bench_published_gpu: %s\n", cudaGetErrorString(status));
        return 1;
    }
    bool are_same = true;
    for (size_t w = 0; w < sizeof all_ways / sizeof *all_ways; w++)
        are_same = measure(&bench, samples, &all_ways[w]) && are_same;
    cudaFree(samples);
    free(first_lines);
    bench_release(&bench);
    return are_same ? 0 : 1;
}
