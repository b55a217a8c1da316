/* pinned.c - benchmark of pinned host memory: how fast it is pinned, and how fast the device copies from and to it afterwards.
 *
 *   bench_pinned
 *
 *   alloc      cudaHostAlloc
 *   register   pages made by N threads side by side (MADV_POPULATE_WRITE), plain or huge ones, then cudaHostRegister
 *   slots      gpu/host/pinned.c: the program's own way for the memory of its slots
 *
 * The program prints medians of several repetitions: milliseconds of making pages and of registration, and GB/s of both
 * directions. The CUDA context exists before. For "slots" the first column is the time until the memory may be filled. */
#include "base/log.h"
#include "gpu/host/pinned.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { REPETITIONS = 5 };
#define HUGE_PAGE ((size_t)2 << 20)

/* Times in milliseconds, and rates in GB/s. */
struct result {
    double pages, pinned, in, out;
};

static struct {
    void *device;
    cudaStream_t stream;
    cudaEvent_t begun, done;
} gpu;

static void stop_unless(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "bench_pinned: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

static void stop_if(int rc, const struct lw_error *err)
{
    if (rc == LW_OK)
        return;
    fprintf(stderr, "bench_pinned: %s\n", err->message);
    exit(1);
}

/* ---- copies -------------------------------------------------------------------------------------------------------- */

static double copy_rate(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    float ms = 0;
    for (int i = 0; i < 2; i++) {       /* the first one warms up */
        cudaEventRecord(gpu.begun, gpu.stream);
        stop_unless(cudaMemcpyAsync(to, from, bytes, kind, gpu.stream), "a copy");
        cudaEventRecord(gpu.done, gpu.stream);
        stop_unless(cudaEventSynchronize(gpu.done), "a copy");
        cudaEventElapsedTime(&ms, gpu.begun, gpu.done);
    }
    return (double)bytes / ms / 1e6;
}

static void measure_copies(struct result *result, void *host, size_t bytes)
{
    result->in = copy_rate(gpu.device, host, bytes, cudaMemcpyHostToDevice);
    result->out = copy_rate(host, gpu.device, bytes, cudaMemcpyDeviceToHost);
}

/* ---- the ways ------------------------------------------------------------------------------------------------------ */

struct way {
    const char *name;
    int n_threads;
    bool is_huge;
    struct result (*measure)(const struct way *way, size_t bytes);
};

static struct result measure_alloc(const struct way *way, size_t bytes)
{
    struct result result = {0};
    void *memory;
    (void)way;
    const double start = lw_now();
    stop_unless(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    result.pinned = (lw_now() - start) * 1e3;
    measure_copies(&result, memory, bytes);
    stop_unless(cudaFreeHost(memory), "cudaFreeHost");
    return result;
}

struct range {
    char *memory;
    size_t bytes, piece;
};

static int populate(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct range *const range = context;
    const size_t first = (size_t)piece * range->piece, left = range->bytes - first;
    (void)thread;
    if (madvise(range->memory + first, left < range->piece ? left : range->piece, MADV_POPULATE_WRITE) != 0)
        return lw_fail(err, LW_ESYSTEM, "this kernel cannot make pages ahead");
    return LW_OK;
}

static void populate_all(struct lw_pool *pool, char *memory, size_t bytes)
{
    struct lw_error err;
    struct range range = {.memory = memory, .bytes = bytes, .piece = 4 * HUGE_PAGE};
    struct lw_batch batch = {.n_pieces = (int64_t)((bytes + range.piece - 1) / range.piece), .work = populate, .context = &range};
    lw_pool_start(pool, &batch);
    stop_if(lw_pool_wait(pool, &batch, &err), &err);
}

static struct result measure_register(const struct way *way, size_t bytes)
{
    struct result result = {0};
    struct lw_error err;
    struct lw_pool *pool;
    stop_if(lw_pool_create(way->n_threads, &pool, &err), &err);
    const double start = lw_now();
    char *const all = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *const memory = all + (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE;
    madvise(memory, bytes, way->is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    populate_all(pool, memory, bytes);
    const double made = lw_now();
    stop_unless(cudaHostRegister(memory, bytes, cudaHostRegisterDefault), "cudaHostRegister");
    result.pages = (made - start) * 1e3;
    result.pinned = (lw_now() - start) * 1e3;
    measure_copies(&result, memory, bytes);
    stop_unless(cudaHostUnregister(memory), "cudaHostUnregister");
    munmap(all, bytes + HUGE_PAGE);
    lw_pool_destroy(pool);
    return result;
}

static struct result measure_slots(const struct way *way, size_t bytes)
{
    struct result result = {0};
    struct lw_error err;
    struct lw_pool *pool;
    struct lw_pinned pinned;
    (void)way;
    stop_if(lw_pinned_threads(&pool, &err), &err);
    const double start = lw_now();
    stop_if(lw_pinned_begin(&pinned, (int64_t)bytes, 0, pool, &err), &err);
    result.pages = (lw_now() - start) * 1e3;
    stop_if(lw_pinned_wait(&pinned, pool, &err), &err);
    result.pinned = (lw_now() - start) * 1e3;
    measure_copies(&result, pinned.memory, bytes);
    lw_pinned_end(&pinned, pool);
    lw_pool_destroy(pool);
    return result;
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double values[REPETITIONS])
{
    qsort(values, REPETITIONS, sizeof *values, compare);
    return values[REPETITIONS / 2];
}

static void measure(const struct way *way, size_t bytes)
{
    double pages[REPETITIONS], pinned[REPETITIONS], in[REPETITIONS], out[REPETITIONS];
    for (int i = 0; i < REPETITIONS; i++) {
        const struct result result = way->measure(way, bytes);
        pages[i] = result.pages;
        pinned[i] = result.pinned;
        in[i] = result.in;
        out[i] = result.out;
    }
    printf("%5zu MiB  %-9s %2d threads  %-5s  pages %8.2f ms  pinned %8.2f ms  in %6.1f GB/s  out %6.1f GB/s\n", bytes >> 20,
           way->name, way->n_threads, way->is_huge ? "huge" : "plain", median(pages), median(pinned), median(in), median(out));
}

int main(void)
{
    static const struct way ways[] = {
        {"alloc", 1, false, measure_alloc}, {"register", 1, false, measure_register}, {"register", 4, false, measure_register},
        {"register", 16, false, measure_register}, {"register", 1, true, measure_register}, {"register", 2, true, measure_register},
        {"register", 4, true, measure_register}, {"register", 8, true, measure_register},
        {"register", 16, true, measure_register}, {"slots", 0, true, measure_slots},
    };
    const size_t most = (size_t)1 << 30;
    stop_unless(cudaMalloc(&gpu.device, most), "device memory");
    stop_unless(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking), "a stream");
    stop_unless(cudaEventCreate(&gpu.begun), "an event");
    stop_unless(cudaEventCreate(&gpu.done), "an event");
    for (size_t bytes = (size_t)64 << 20; bytes <= most; bytes *= 4)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            measure(&ways[w], bytes);
    return 0;
}
