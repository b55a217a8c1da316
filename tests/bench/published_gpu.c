/* published_gpu.c - benchmark of the published sparse transform of a signal on the device, in all ways, beside cuFFT's transform,
 * FFTW's on all cores, and the CPU engine on all cores: the comparison of cusFFT's figures 2 and 5.
 *
 *   bench_published_gpu CSV RUNS [only=NAME,NAME ...] LOG2_N[r]:K[:SNR_DB] ...
 *
 * CSV: - is the standard output. only: these algorithms, for the shapes after it. r: the samples are real; transforms of all
 * samples are left out for these.
 *
 * The signal holds K lines of magnitude 1 at random frequencies, complex double, in white noise of SNR_DB per sample if there is
 * any. A row of the CSV is one algorithm for one shape: the ways of published_ways.h as BINS:CUTOFF, engine for the solver as it
 * is, engine:comb for it with a comb (sFFT 2.0), cpu for the CPU engine, and once for each length cufft and fftw, which have no k.
 * partition:sort is cusFFT's baseline; chunks and threshold are its optimisations.
 *
 * Each of SEEDS seeds makes RUNS runs. Times are of the host's clock, from the signal on the device (for cpu and fftw, in memory)
 * to checked lines on the host, or to the whole spectrum where it is; plans, windows and buffers are made before. Caches are as
 * the run before left them. Times of steps are measured on the device, in as many other runs. FFTW plans out of place by
 * FFTW_MEASURE, for FFTW_SECONDS at most, and in place by FFTW_ESTIMATE; the faster one counts.
 *
 * l1 is the paper's error: the sum over all bins of |error|, per line. `lines` tells whether the lines of the first seed are the
 * `same` bits as those of the first way, or `other`; it is empty with a comb, and on the CPU. Other lines make the exit code 1,
 * with an exception: in noise, a threshold selects other buckets. `found` and `retried` tell what that costs. */
#include "published_ways.h"
#include "sfft_bench.h"

#include "cpu/sfft/published/solver.h"
#include "gpu/host/fft.h"
#include "gpu/sfft/published/solver.h"

#include <cuda_runtime_api.h>
#include <fftw3.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 3, FFT_RUNS = 9, CPU_RUNS = 2 };
static const double FFTW_SECONDS = 10;

static const struct way {
    const char *name;
    cudaError_t (*bin)(void *ways, const struct lw_published_device *device, cudaStream_t stream);
    cudaError_t (*cutoff)(void *ways, const struct lw_published_device *device, cudaStream_t stream);
    bool has_comb;
    bool is_inexact;                /* other buckets may be selected in noise */
    bool is_of_columns;             /* possible for at most LW_PUBLISHED_MOST_ROWS rows n / B that are a power of two */
} all_ways[] = {
    {.name = "partition:sort", .bin = bench_ways_partition, .cutoff = bench_ways_sort},
    {.name = "chunks:sort", .bin = bench_ways_chunks, .cutoff = bench_ways_sort},
    {.name = "partition:threshold", .bin = bench_ways_partition, .cutoff = bench_ways_threshold, .is_inexact = true},
    {.name = "chunks:threshold", .bin = bench_ways_chunks, .cutoff = bench_ways_threshold, .is_inexact = true},
    {.name = "rows:threshold", .bin = bench_ways_rows, .cutoff = bench_ways_threshold, .is_inexact = true},
    {.name = "partition:select", .bin = bench_ways_partition},
    {.name = "columns:select", .bin = bench_ways_columns, .is_of_columns = true},
    {.name = "engine"},
    {.name = "engine:comb", .has_comb = true},
};

/* A shape that is measured: what all ways share. */
struct shape {
    struct bench bench;             /* shape of the runs, and the signal on the host */
    double *samples;                /* the signal on the device */
    struct lw_published_layout *layouts[2][SEEDS][LW_PUBLISHED_ATTEMPTS];       /* [has_comb]; made when they are needed */
    struct lw_sfft_line *lines;     /* lines of the first way with the first seed */
    int64_t n_lines;
    bool are_same;                  /* all ways so far have given the lines that they must */
    const char *only;               /* names of the algorithms to measure, separated by commas; NULL: all */
    FILE *csv;
};

static void require(int rc, const struct lw_error *err)
{
    if (rc != LW_OK)
        bench_fail(err);
}

static void require_cuda(cudaError_t status)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "bench_published_gpu: %s\n", cudaGetErrorString(status));
    exit(1);
}

/* @return  NULL: a further attempt is not possible */
static const struct lw_published_layout *layout_of(struct shape *shape, bool has_comb, int seed, int attempt)
{
    struct lw_published_layout **const layout = &shape->layouts[has_comb][seed][attempt];
    const struct bench *const bench = &shape->bench;
    const struct lw_sfft_spec spec = {
        .n = bench->n, .sparsity = bench->k, .precision = LW_DOUBLE, .seed = (uint64_t)seed, .has_snr = bench->has_noise,
        .snr_db = bench->snr_db, .is_real = bench->is_real,
    };
    const struct lw_published_choice choice = {.comb = has_comb ? 65536 : 0};
    struct lw_published_plan plan;
    struct lw_error err;
    if (*layout)
        return *layout;
    const int rc = lw_published_plan_make(&spec, &choice, attempt, &plan, &err);
    if (rc != LW_OK && attempt > 0)
        return NULL;
    require(rc, &err);
    require(lw_published_layout_create(&plan, attempt, layout, &err), &err);
    return *layout;
}

/* ---- ways on the device -------------------------------------------------------------------------------------------------- */

/* Return whether the lines are those of the first way, bit by bit. */
static bool has_same_lines(struct shape *shape, const struct lw_sfft_result *result)
{
    const size_t bytes = (size_t)result->n_lines * sizeof *result->lines;
    if (!shape->lines) {
        shape->lines = malloc(bytes + 1);
        shape->n_lines = result->n_lines;
        memcpy(shape->lines, result->lines, bytes);
    }
    return result->n_lines == shape->n_lines && memcmp(result->lines, shape->lines, bytes) == 0;
}

static void compare(struct shape *shape, const struct way *way, const struct lw_sfft_result *result, struct figures *figures)
{
    const bool is_same = has_same_lines(shape, result);
    figures->lines = is_same ? "same" : "other";
    if (is_same || (way->is_inexact && shape->bench.has_noise))
        return;
    fprintf(stderr, "n %" PRId64 " k %" PRId64 ": the lines of %s are not those of the first way\n", shape->bench.n,
            shape->bench.k, way->name);
    shape->are_same = false;
}

/* Make all runs of an attempt. @return  whether the attempt explains the signal; the result is valid until the solver's end */
static bool run_attempt(struct shape *shape, const struct way *way, int seed, int attempt, int n_runs, bool is_timed,
                        struct figures *figures)
{
    const struct lw_published_layout *const layout = layout_of(shape, way->has_comb, seed, attempt);
    const struct lw_published_plan *const plan = &layout->plan;
    struct lw_cuda_published_ways ways = {.bin = way->bin, .cutoff = way->cutoff};
    struct bench_ways *const memory = way->bin ? bench_ways_create(2 * lw_published_window_half(plan) + 1, plan->choice.n_buckets,
                                                                   layout->n_loops + 1, plan->choice.location_loops) : NULL;
    struct lw_published_solver *solver = NULL;
    struct lw_sfft_result result = {0};
    struct lw_error err;
    ways.context = memory;
    if (way->bin && !memory)
        require_cuda(cudaErrorMemoryAllocation);
    require(lw_cuda_published_create(layout, is_timed, &ways, &solver, &err), &err);
    for (int i = 0; i < n_runs; i++) {
        const struct clocks start = bench_now();
        require(lw_cuda_published_run_on(solver, shape->samples, &result, &figures->profile, &err), &err);
        if (is_timed)
            continue;
        bench_add_time(figures, start);
        bench_score(&shape->bench, &result, attempt + 1, figures);
    }
    if (seed == 0 && !is_timed && !way->has_comb && result.is_explained)
        compare(shape, way, &result, figures);
    figures->samples = plan->samples;
    lw_published_solver_destroy(solver);
    bench_ways_destroy(memory);
    return result.is_explained;
}

/* Each attempt is followed by the next one, as in a run of the program, until one explains the signal. Only the last attempt's
 * times count; `retried` counts the runs with earlier ones. */
static void measure_way(struct shape *shape, const struct way *way)
{
    static struct figures figures;
    const int n_runs = shape->bench.n_runs;
    figures = (struct figures){0};
    for (int seed = 0; seed < SEEDS; seed++) {
        const struct figures before = figures;
        for (int attempt = 0; attempt < LW_PUBLISHED_ATTEMPTS && layout_of(shape, way->has_comb, seed, attempt); attempt++) {
            figures = before;
            const bool is_done = run_attempt(shape, way, seed, attempt, n_runs, false, &figures);
            run_attempt(shape, way, seed, attempt, n_runs, true, &figures);
            if (is_done)
                break;
        }
    }
    bench_write(shape->csv, &shape->bench, way->name, 1, &figures);
}

/* Return whether the way can make this shape's bins. */
static bool is_possible(struct shape *shape, const struct way *way)
{
    if (!way->is_of_columns)
        return true;
    const int64_t n_buckets = layout_of(shape, false, 0, 0)->plan.choice.n_buckets;
    return shape->bench.n / n_buckets <= LW_PUBLISHED_MOST_ROWS && (n_buckets & (n_buckets - 1)) == 0;
}

static bool is_wanted(const struct shape *shape, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = shape->only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return !shape->only;
}

/* ---- all cores ----------------------------------------------------------------------------------------------------------- */

/* Make all runs of an attempt. @return  whether it explains the signal */
static bool run_cpu_attempt(struct shape *shape, int seed, int attempt, struct figures *figures)
{
    const struct bench *const bench = &shape->bench;
    const struct lw_published_signal signal = {(const double *)bench->x, bench->is_real};
    const struct lw_published_layout *const layout = layout_of(shape, false, seed, attempt);
    struct lw_engine engine = {.n_workers = bench->n_threads};
    struct lw_published_solver *solver = NULL;
    struct lw_sfft_result result = {0};
    struct lw_error err;
    require(lw_cpu_published_ops.create(&engine, layout, &solver, &err), &err);
    for (int i = 0; i < CPU_RUNS; i++) {
        const struct clocks start = bench_now();
        require(solver->ops->run(solver, &signal, &result, &figures->profile, &err), &err);
        bench_add_time(figures, start);
        bench_score(bench, &result, attempt + 1, figures);
    }
    figures->samples = layout->plan.samples;
    const bool is_explained = result.is_explained;
    lw_published_solver_destroy(solver);
    return is_explained;
}

static void measure_cpu(struct shape *shape)
{
    static struct figures figures;
    figures = (struct figures){0};
    for (int seed = 0; seed < SEEDS; seed++) {
        const struct figures before = figures;
        bool is_done = false;
        for (int attempt = 0; !is_done && attempt < LW_PUBLISHED_ATTEMPTS && layout_of(shape, false, seed, attempt); attempt++) {
            figures = before;
            is_done = run_cpu_attempt(shape, seed, attempt, &figures);
        }
    }
    bench_write(shape->csv, &shape->bench, "cpu", shape->bench.n_threads, &figures);
}

/* ---- transforms of all samples ------------------------------------------------------------------------------------------- */

static void measure_cufft(struct shape *shape)
{
    static struct figures figures;
    const struct bench *const bench = &shape->bench;
    const int64_t work_bytes = lw_cuda_fft_bytes(bench->n, CUFFT_Z2Z, 1), bytes = bench->n * (int64_t)sizeof *bench->x;
    struct lw_cuda_fft fft = {0};
    struct lw_error err;
    cufftDoubleComplex *values = NULL;
    cudaStream_t stream = NULL;
    void *work = NULL;
    figures = (struct figures){.samples = bench->n};
    require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    require_cuda(cudaMalloc((void **)&values, (size_t)bytes));
    require_cuda(cudaMalloc(&work, (size_t)work_bytes + 1));
    require(lw_cuda_fft_create(&fft, bench->n, CUFFT_Z2Z, 1, work, "planning cuFFT", &err), &err);
    cufftSetStream(fft.handle, stream);
    for (int i = -1; i < FFT_RUNS; i++) {               /* the first run loads kernels */
        require_cuda(cudaMemcpyAsync(values, shape->samples, (size_t)bytes, cudaMemcpyDeviceToDevice, stream));
        require_cuda(cudaStreamSynchronize(stream));
        const struct clocks start = bench_now();
        if (cufftExecZ2Z(fft.handle, values, values, CUFFT_FORWARD) != CUFFT_SUCCESS)
            require_cuda(cudaErrorUnknown);
        require_cuda(cudaStreamSynchronize(stream));
        if (i < 0)
            continue;
        bench_add_time(&figures, start);
        figures.runs++;
    }
    lw_cuda_fft_destroy(&fft);
    cudaFree(work);
    cudaFree(values);
    cudaStreamDestroy(stream);
    bench_write(shape->csv, bench, "cufft", 1, &figures);
}

static void run_fftw(const struct bench *bench, fftw_plan plan, double complex *values, struct figures *figures)
{
    *figures = (struct figures){.samples = bench->n};
    for (int i = 0; i < FFT_RUNS / 2; i++) {
        memcpy(values, bench->x, (size_t)bench->n * sizeof *values);
        const struct clocks start = bench_now();
        fftw_execute(plan);
        bench_add_time(figures, start);
        figures->runs++;
    }
    fftw_destroy_plan(plan);
}

static double least_wall(const struct figures *figures)
{
    double least = figures->wall[0];
    for (int i = 1; i < figures->runs; i++)
        least = figures->wall[i] < least ? figures->wall[i] : least;
    return least;
}

static void measure_fftw(struct shape *shape)
{
    static struct figures measured, estimated;
    const struct bench *const bench = &shape->bench;
    double complex *const in = fftw_malloc((size_t)bench->n * sizeof *in), *const out = fftw_malloc((size_t)bench->n * sizeof *out);
    if (!in || !out)
        require_cuda(cudaErrorMemoryAllocation);
    fftw_plan_with_nthreads(bench->n_threads);
    fftw_set_timelimit(FFTW_SECONDS);
    run_fftw(bench, fftw_plan_dft_1d((int)bench->n, in, out, FFTW_FORWARD, FFTW_MEASURE | FFTW_DESTROY_INPUT), in, &measured);
    run_fftw(bench, fftw_plan_dft_1d((int)bench->n, in, in, FFTW_FORWARD, FFTW_ESTIMATE), in, &estimated);
    fftw_plan_with_nthreads(1);
    fftw_set_timelimit(FFTW_NO_TIMELIMIT);
    fftw_free(in);
    fftw_free(out);
    struct figures *const faster = least_wall(&measured) < least_wall(&estimated) ? &measured : &estimated;
    bench_write(shape->csv, bench, "fftw", bench->n_threads, faster);
}

/* ---- shapes -------------------------------------------------------------------------------------------------------------- */

/* Make the signal, by a transform on all threads, and copy it to the device. */
static void open_shape(struct shape *shape)
{
    struct bench *const bench = &shape->bench;
    const size_t bytes = (size_t)bench->n * (bench->is_real ? sizeof(double) : sizeof *bench->x);
    fftw_plan_with_nthreads(bench->n_threads);
    bench_make_signal(bench);
    fftw_plan_with_nthreads(1);
    shape->are_same = true;
    require_cuda(cudaMalloc((void **)&shape->samples, bytes));
    require_cuda(cudaMemcpyAsync(shape->samples, bench->x, bytes, cudaMemcpyHostToDevice, NULL));
    require_cuda(cudaStreamSynchronize(NULL));
}

static void close_shape(struct shape *shape)
{
    for (int has_comb = 0; has_comb < 2; has_comb++)
        for (int seed = 0; seed < SEEDS; seed++)
            for (int attempt = 0; attempt < LW_PUBLISHED_ATTEMPTS; attempt++)
                lw_published_layout_destroy(shape->layouts[has_comb][seed][attempt]);
    cudaFree(shape->samples);
    free(shape->lines);
    bench_release(&shape->bench);
}

static bool measure_shape(FILE *csv, int n_runs, const char *only, const char *text, int64_t *last_n)
{
    int bits = 0, used = 0;
    struct shape shape = {.csv = csv, .only = only, .bench = {.n_runs = n_runs, .n_threads = bench_cores()}};
    struct bench *const bench = &shape.bench;
    sscanf(text, "%d%n", &bits, &used);
    bench->is_real = text[used] == 'r';
    const int n_read = sscanf(text + used + bench->is_real, ":%" SCNd64 ":%lf", &bench->k, &bench->snr_db);
    if (n_read < 1 || bits < 18 || bits > 30 || bench->k < 1) {
        fprintf(stderr, "bench_published_gpu: '%s' is not LOG2_N[r]:K[:SNR_DB] with 18 <= LOG2_N <= 30\n", text);
        exit(2);
    }
    bench->n = (int64_t)1 << bits;
    bench->has_noise = n_read == 2;
    const bool has_transforms = !bench->is_real && bench->n != *last_n;
    open_shape(&shape);
    for (size_t w = 0; w < sizeof all_ways / sizeof *all_ways; w++)
        if (is_wanted(&shape, all_ways[w].name) && is_possible(&shape, &all_ways[w]))
            measure_way(&shape, &all_ways[w]);
    if (is_wanted(&shape, "cpu"))
        measure_cpu(&shape);
    if (has_transforms && is_wanted(&shape, "cufft"))
        measure_cufft(&shape);
    if (has_transforms && is_wanted(&shape, "fftw"))
        measure_fftw(&shape);
    *last_n = bench->is_real ? *last_n : bench->n;
    close_shape(&shape);
    return shape.are_same;
}

int main(int argc, char **argv)
{
    const int n_runs = argc > 2 ? atoi(argv[2]) : 0;
    if (argc < 4 || n_runs < 1 || n_runs * SEEDS > MOST_RUNS) {
        fprintf(stderr, "bench_published_gpu CSV|- RUNS(1..%d) [only=NAME,...] LOG2_N[r]:K[:SNR_DB] ...\n", MOST_RUNS / SEEDS);
        return 2;
    }
    FILE *const csv = strcmp(argv[1], "-") == 0 ? stdout : fopen(argv[1], "w");
    if (!csv) {
        perror(argv[1]);
        return 1;
    }
    fftw_init_threads();
    bench_write_names(csv);
    bool are_same = true;
    int64_t last_n = 0;
    const char *only = NULL;
    for (int i = 3; i < argc; i++)
        if (strncmp(argv[i], "only=", 5) == 0)
            only = argv[i] + 5;
        else
            are_same = measure_shape(csv, n_runs, only, argv[i], &last_n) && are_same;
    fclose(csv);
    return are_same ? 0 : 1;
}
