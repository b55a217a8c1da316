/* bank_gpu.c - benchmark of the filters' way to the device (gpu/ols/filler.h): whole, by stages and by the driver's copies, for
 * several sizes of a batch, and its steps alone; beside cuFFT's transforms of the same filters.
 *
 *   bench_bank_gpu CASE [CSV]   CASE: number of one of the banks below. A process measures one bank, since cuFFT starts once
 *
 * Columns: `first` is create and run in a process that has a context, but has loaded none of the kernels; `run` the median of the
 * later runs; `GB/s` stored taps by `run`. Steps alone, taps on the device: `spread`, `transform`, `order`, and `device`, all of a
 * batch one after the other. cuFFT: `plan` is the first plan of the process, with its first transform; `cuFFT` the
 * transforms of all filters in its batches. Milliseconds. */
#include "../../gpu/gpu_memory.h"
#include "base/integers.h"
#include "base/log.h"
#include "gpu/host/fft.h"
#include "gpu/host/pinned.h"
#include "gpu/ols/filler.h"
#include "gpu/ols/long/method.h"
#include "gpu/ols/spectra.h"

#include <inttypes.h>
#include <string.h>

enum { RUNS = 7 };

static const struct bank {
    const char *name;
    bool is_complex;
    int n_filters;
    int64_t n_taps, n_samples;
} banks[] = {
    {"512 x 131072 complex64", true, 512, 1 << 17, 1 << 20},
    {"20000 x 257 float32", false, 20000, 257, 1 << 16},
    {"4096 x 4097 float32", false, 4096, 4097, 1 << 20},
    {"1024 x 262144 complex64", true, 1024, 1 << 18, 1 << 21},
};

/* A bank, the memory that it is put into, and a stream. */
struct bench {
    struct lw_ols_spec ols;
    struct lw_ols_resolved path;
    struct lw_long_ols *long_ols;
    struct lw_filler_target target;
    struct lw_pool *threads;
    cudaStream_t stream;
};

static void stop(bool failed, const char *what)
{
    if (failed) {
        fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(cudaGetLastError()));
        exit(1);
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double ms[RUNS])
{
    qsort(ms, RUNS, sizeof *ms, by_size);
    return ms[RUNS / 2];
}

/* Choose the path as the engine does. */
static void choose(struct bench *b, const struct bank *bank)
{
    int shared;
    stop(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "asking the device");
    const struct lw_cuda_arch arch = {9, 0, shared};
    const struct lw_cuda_ols_spec spec = {
        .input = LW_FLOAT32, .input_complex = bank->is_complex, .taps_complex = bank->is_complex, .n_channels = 1,
        .n_outputs = bank->n_samples, .n_filters = bank->n_filters, .n_taps = bank->n_taps, .is_searched = true,
    };
    struct lw_ols_resolved *const path = &b->path;
    const bool is_kernel = !lw_cuda_ols_choose(&spec, &arch, &path->kernel, NULL) && path->kernel.path != LW_CUDA_TOO_LONG;
    path->is_long = !is_kernel ||
                    (!path->kernel.finds && lw_long_ols_is_cheaper(&path->kernel, spec.n_outputs, &path->long_plan));
    if (!is_kernel)
        stop(lw_long_ols_choose(&spec, &arch, spec.n_outputs, &path->long_plan, NULL), "choosing a segment");
}

static void make(struct bench *b, const struct bank *bank)
{
    const struct lw_type type = {.scalar = LW_FLOAT32, .is_complex = bank->is_complex};
    const int64_t n = bank->n_filters * bank->n_taps * (bank->is_complex ? 2 : 1);
    float *const taps = malloc((size_t)n * sizeof *taps);
    for (int64_t i = 0; i < n; i++)
        taps[i] = (float)((uint32_t)i * 2654435761u >> 8) / (1 << 23) - 1;
    b->ols = (struct lw_ols_spec){
        .taps = {.data = taps, .type = type}, .n_filters = bank->n_filters, .n_taps = bank->n_taps,
        .taps_complex = bank->is_complex,
    };
    choose(b, bank);
    const struct lw_ols_resolved *const path = &b->path;
    b->target.bank = on_device((size_t)(path->is_long ? lw_long_ols_bytes(&path->long_plan) : (int64_t)path->kernel.bank_bytes));
    stop(cudaStreamCreate(&b->stream), "making a stream");
    stop(path->is_long ? lw_long_ols_create(&path->long_plan, b->target.bank, b->stream, &b->long_ols, NULL)
                       : lw_cuda_ols_prepare(&path->kernel, b->target.bank, b->stream), "preparing the path");
    b->target.long_ols = b->long_ols;
    stop(lw_pinned_threads(&b->threads, NULL), "starting threads");
    stop(cudaStreamSynchronize(b->stream), "preparing the path");
}

static int64_t points_of(const struct bench *b) { return b->path.is_long ? b->path.long_plan.segment : b->path.kernel.segment; }

/* Measure create and run, then runs alone. */
static void measure_whole(struct bench *b, int batch, bool has_stages, double *first, double *run)
{
    double ms[RUNS];
    struct lw_filler *filler = NULL;
    const double begin = lw_now();
    void *const memory = on_device((size_t)lw_filler_bytes(&b->path, &b->ols, batch));
    stop(lw_filler_create(&b->path, &b->ols, batch, memory, 0, has_stages ? b->threads : NULL, &filler, NULL), "create");
    stop(lw_filler_run(filler, &b->ols.taps, b->ols.n_filters, &b->target, b->stream, NULL), "run");
    *first = 1000 * (lw_now() - begin);
    for (int i = 0; i < RUNS; i++) {
        const double start = lw_now();
        stop(lw_filler_run(filler, &b->ols.taps, b->ols.n_filters, &b->target, b->stream, NULL), "run");
        ms[i] = 1000 * (lw_now() - start);
    }
    *run = median(ms);
    lw_filler_destroy(filler);
    cudaFree(memory);
}

enum { SPREAD = 1, TRANSFORM = 2, ORDER = 4 };

/* Enqueue some steps for all filters, whose stored taps are on the device. */
static void enqueue(const struct bench *b, unsigned steps, int batch, const char *taps, void *values, void *others)
{
    const int64_t n_points = points_of(b), its = b->ols.n_taps * (int64_t)lw_type_bytes(b->ols.taps.type);
    const int delay = b->path.is_long ? 0 : b->path.kernel.delay;
    for (int64_t first = 0; first < b->ols.n_filters; first += batch) {
        const int n = (int)lw_min64(b->ols.n_filters - first, batch);
        const struct lw_cuda_taps given = {.data = taps + first * its, .type = b->ols.taps.type, .n_taps = b->ols.n_taps};
        void *bins = values;
        if (steps & SPREAD)
            stop(lw_cuda_spread(&given, n, delay, n_points, values, b->stream), "spread");
        if (steps & TRANSFORM)
            stop(lw_cuda_spectra(values, others, n_points, delay + b->ols.n_taps, n, &bins, b->stream), "transform");
        if (steps & ORDER)
            stop(b->long_ols ? lw_long_ols_put(b->long_ols, bins, first, n, b->stream, NULL)
                             : lw_cuda_ols_put(&b->path.kernel, bins, first, n, b->target.bank, b->stream), "order");
    }
}

static void measure_steps(const struct bench *b, int batch, double ms[4])
{
    static const unsigned steps[] = {SPREAD, TRANSFORM, ORDER, SPREAD | TRANSFORM | ORDER};
    const size_t bytes = (size_t)(b->ols.n_filters * b->ols.n_taps) * lw_type_bytes(b->ols.taps.type);
    const size_t values_bytes = (size_t)(batch * points_of(b)) * 16;
    void *const taps = on_device(bytes), *const values = on_device(values_bytes), *const others = on_device(values_bytes);
    cudaEvent_t begin, end;
    copy(taps, b->ols.taps.data, bytes, cudaMemcpyHostToDevice);
    stop(cudaEventCreate(&begin) || cudaEventCreate(&end), "making events");
    for (int s = 0; s < 4; s++) {
        double each[RUNS];
        for (int i = 0; i < RUNS; i++) {
            float elapsed;
            stop(cudaEventRecord(begin, b->stream), "timing");
            enqueue(b, steps[s], batch, taps, values, others);
            stop(cudaEventRecord(end, b->stream) || cudaEventSynchronize(end), "timing");
            stop(cudaEventElapsedTime(&elapsed, begin, end), "timing");
            each[i] = elapsed;
        }
        ms[s] = median(each);
    }
    cudaFree(taps);
    cudaFree(values);
    cudaFree(others);
}

/* Measure cuFFT's plan with its first transforms, and its transforms of all filters, in place. */
static void measure_cufft(const struct bench *b, int batch, double *plan, double *all)
{
    double ms[RUNS];
    void *const values = on_device((size_t)(batch * points_of(b)) * 16);
    stop(cudaMemset(values, 0, (size_t)(batch * points_of(b)) * 16) || cudaDeviceSynchronize(), "clearing");
    const double begin = lw_now();
    struct lw_cuda_fft fft = {0};
    void *const work = on_device((size_t)lw_cuda_fft_bytes(points_of(b), CUFFT_Z2Z, batch) + 1);
    stop(lw_cuda_fft_create(&fft, points_of(b), CUFFT_Z2Z, batch, work, "planning", NULL), "planning");
    stop(cufftExecZ2Z(fft.handle, values, values, CUFFT_FORWARD) || cudaDeviceSynchronize(), "cuFFT");
    *plan = 1000 * (lw_now() - begin);
    for (int i = 0; i < RUNS; i++) {
        const double start = lw_now();
        for (int64_t first = 0; first < b->ols.n_filters; first += batch)
            stop(cufftExecZ2Z(fft.handle, values, values, CUFFT_FORWARD), "cuFFT");
        stop(cudaDeviceSynchronize(), "cuFFT");
        ms[i] = 1000 * (lw_now() - start);
    }
    *all = median(ms);
    lw_cuda_fft_destroy(&fft);
    cudaFree(values);
    cudaFree(work);
}

int main(int argc, char **argv)
{
    const int number = argc > 1 ? atoi(argv[1]) : 0;
    FILE *const csv = argc > 2 ? fopen(argv[2], "a") : stdout;
    struct bench b = {.long_ols = NULL};
    stop(number < 0 || number >= (int)(sizeof banks / sizeof *banks) || !csv, "choosing a bank or a file");
    const struct bank *const bank = &banks[number];
    stop(cudaFree(NULL), "starting the device");
    make(&b, bank);
    const int64_t n_points = points_of(&b);
    const double stored = (double)(b.ols.n_filters * b.ols.n_taps) * (double)lw_type_bytes(b.ols.taps.type);
    if (argc <= 2 || ftell(csv) == 0)
        fprintf(csv, "bank,N,path,batch,copies,first,run,GB/s,spread,transform,order,device,cufft_plan,cufft\n");
    for (int i = 0; i < 6; i++) {
        /* The engine's own way first. */
        static const int log2_points[] = {20, 18, 19, 20, 21, 22};
        const int batch = (int)lw_max64(lw_min64(((int64_t)1 << log2_points[i]) / n_points, b.ols.n_filters), 1);
        const bool has_stages = i != 3;
        double first, run, steps[4], plan, cufft;
        measure_whole(&b, batch, has_stages, &first, &run);
        measure_steps(&b, batch, steps);
        measure_cufft(&b, batch, &plan, &cufft);
        fprintf(csv, "%s,%" PRId64 ",%s,%d,%s,%.2f,%.2f,%.1f,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f\n", bank->name, n_points,
                b.path.is_long ? b.path.long_plan.method->name : "kernel", batch, has_stages ? "stages" : "driver", first, run,
                stored / run / 1e6, steps[0], steps[1], steps[2], steps[3], plan, cufft);
        fflush(csv);
    }
    lw_long_ols_destroy(b.long_ols);
    lw_pool_destroy(b.threads);
    return 0;
}
