/* published_gpu.c - the published sparse transform of a signal on the device, in all ways, as bench_sfft_cpu prints it;
 * bench_sfft_gpu has the default algorithm and cuFFT.
 *
 *     bench_published_gpu [LOG2_N [K [RUNS [SNR_DB|none]]]]           default: 27 1000 20 none
 *
 * Wall time is from the signal on the device to checked lines on the host, of the first attempt and those that had to follow;
 * steps are timed on the device, in a run of their own. The algorithm of a row is sfft2:FETCH:CUTOFF[:comb]. */
#include "sfft_bench.h"

#include "gpu/sfft/published/solver.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct way {
    const char *name;
    struct lw_published_choice choice;
} ways[] = {
    {"sfft2:gather:select", {.ways = {.fetch = LW_PUBLISHED_GATHER, .cutoff = LW_PUBLISHED_SELECT}}},
    {"sfft2:direct:select", {.ways = {.fetch = LW_PUBLISHED_DIRECT, .cutoff = LW_PUBLISHED_SELECT}}},
    {"sfft2:direct:sort", {.ways = {.fetch = LW_PUBLISHED_DIRECT, .cutoff = LW_PUBLISHED_SORT}}},
    {"sfft2:direct:select:comb", {.comb = 65536, .ways = {.fetch = LW_PUBLISHED_DIRECT, .cutoff = LW_PUBLISHED_SELECT}}},
};

static void run(const struct lw_published_layout *layout, const double *samples, bool is_timed, struct lw_sfft_result *result,
                struct figures *figures, struct lw_published_solver **solver)
{
    struct lw_error err;
    if (lw_cuda_published_create(layout, is_timed, solver, &err))
        bench_fail(&err);
    const struct clocks start = bench_now();
    if (lw_cuda_published_run_on(*solver, samples, result, &figures->profile, &err))
        bench_fail(&err);
    if (!is_timed)
        bench_add_time(figures, start);
}

/* @return  whether it is explained */
static bool attempt(const struct bench *bench, const double *samples, const struct way *way, int number, int seed,
                    struct figures *figures, struct lw_error *err)
{
    const struct lw_sfft_spec spec = {
        .n = bench->n, .sparsity = bench->k, .precision = LW_DOUBLE, .seed = (uint64_t)seed, .has_snr = bench->has_noise,
        .snr_db = bench->snr_db,
    };
    struct lw_published_plan plan;
    struct lw_published_layout *layout = NULL;
    struct lw_published_solver *solver = NULL;
    struct lw_sfft_result result;
    if (lw_published_plan_make(&spec, &way->choice, number, &plan, err) ||
        lw_published_layout_create(&plan, number, &layout, err))
        bench_fail(err);
    figures->samples = number == 0 ? plan.samples : figures->samples;
    run(layout, samples, false, &result, figures, &solver);
    const bool is_done = result.is_explained || number + 1 == LW_PUBLISHED_ATTEMPTS;
    if (is_done)
        bench_score(bench, &result, number + 1, figures);
    lw_published_solver_destroy(solver);
    run(layout, samples, true, &result, figures, &solver);
    lw_published_solver_destroy(solver);
    lw_published_layout_destroy(layout);
    return is_done;
}

static void measure(const struct bench *bench, const double *samples, const struct way *way)
{
    static struct figures figures;
    struct lw_error err;
    figures = (struct figures){0};
    for (int i = 0; i < bench->n_runs; i++)
        for (int number = 0; !attempt(bench, samples, way, number, i, &figures, &err); number++)
            ;
    bench_print(bench, way->name, 1, true, true, &figures);
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
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        measure(&bench, samples, &ways[w]);
    cudaFree(samples);
    bench_release(&bench);
    return 0;
}
