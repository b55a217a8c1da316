/* published_ways.cu - see published_ways.h.
 *
 * Rows: first each thread fetches one sample, by an index of its own, into the order of the window. Neighbouring threads write
 * neighbouring places, and the loads of a whole row are in flight at once. Then each thread makes one sum of a row, with
 * coalesced reads. Two streams overlap the fetching of one loop with the folding of the loop before.
 *
 * Sorting: a bitonic network over all values of a loop, padded to a power of two; one launch a step, two values a thread. */
#include "published_ways.h"

#include "gpu/sfft/published/window.cuh"

namespace {

constexpr int THREADS = 128, SORT_THREADS = 256;

/* Energy and place of a bucket, to be sorted. */
struct Ranked {
    double value;
    int place;                  /* -1: padding up to a power of two */
};

/* ---- rows ------------------------------------------------------------------------------------------------------------- */

template <bool IS_REAL> __global__ void __launch_bounds__(THREADS) gather(lw_published_device device, int loop, double2 *row)
{
    const int64_t place = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (place <= 2 * device.half)
        row[place] = sample_at<IS_REAL>(*device.samples, index_of(device, device.loops[loop], place - device.half));
}

__global__ void __launch_bounds__(THREADS) fold_row(lw_published_device device, int loop, const double2 *row)
{
    const int64_t b = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (b >= device.n_buckets)
        return;
    double2 sum = {0, 0};
#pragma unroll 4
    for (int64_t i = first_tap(device, b); i <= device.half; i += device.n_buckets)
        accumulate(sum, __ldg(device.taps + device.half + i), row[device.half + i]);
    device.planes[loop * device.n_buckets + b] = sum;
}

unsigned blocks_for(int64_t count) { return (unsigned)((count + THREADS - 1) / THREADS); }

cudaError_t gather_row(const lw_published_device *device, int loop, double2 *row, cudaStream_t stream)
{
    const unsigned blocks = blocks_for(2 * device->half + 1);
    if (device->is_real)
        gather<true><<<blocks, THREADS, 0, stream>>>(*device, loop, row);
    else
        gather<false><<<blocks, THREADS, 0, stream>>>(*device, loop, row);
    return cudaGetLastError();
}

/* ---- sort ------------------------------------------------------------------------------------------------------------- */

/* Sorting order: larger values first, equal ones by their places, padding last. */
LW_DEVICE bool comes_before(const Ranked &a, const Ranked &b)
{
    return a.value != b.value ? a.value > b.value : a.place < b.place;
}

__global__ void __launch_bounds__(SORT_THREADS) begin_sort(lw_published_device device, Ranked *all, int64_t size)
{
    const int64_t i = blockIdx.x * (int64_t)SORT_THREADS + threadIdx.x, loop = blockIdx.y;
    if (i < size)
        all[loop * size + i] =
            i < device.n_buckets ? Ranked{device.energies[loop * device.n_buckets + i], (int)i} : Ranked{-1, -1};
}

/* Compare elements `stride` apart within runs of `length`, which alternate in direction. */
__global__ void __launch_bounds__(SORT_THREADS) sort_step(Ranked *all, int64_t size, int64_t length, int64_t stride)
{
    const int64_t pair = blockIdx.x * (int64_t)SORT_THREADS + threadIdx.x;
    if (pair >= size / 2)
        return;
    const int64_t low = pair / stride * 2 * stride + pair % stride;
    Ranked *const ranked = all + blockIdx.y * size;
    const Ranked a = ranked[low], b = ranked[low + stride];
    const bool is_ascending = (low & length) == 0;
    if (is_ascending ? comes_before(b, a) : comes_before(a, b)) {
        ranked[low] = b;
        ranked[low + stride] = a;
    }
}

__global__ void __launch_bounds__(SORT_THREADS) end_sort(lw_published_device device, const Ranked *all, int64_t size)
{
    const int64_t i = blockIdx.x * (int64_t)SORT_THREADS + threadIdx.x, loop = blockIdx.y;
    if (i < device.n_selected) {
        const int place = all[loop * size + i].place;
        device.places[loop * device.n_selected + i] = place;
        atomicOr(&device.chosen[loop * device.n_words + place / 32], 1u << place % 32);
    }
}

dim3 grid_of(int64_t count, int rows) { return dim3((unsigned)((count + SORT_THREADS - 1) / SORT_THREADS), (unsigned)rows); }

}  // namespace

struct bench_ways {
    double2 *rows[2];           /* [taps] each; two loops in turn */
    cudaStream_t fetching;
    cudaEvent_t forked, fetched[2], folded[2];
    Ranked *ranked;             /* [location_loops][sorted_size] */
    int64_t sorted_size;        /* n_buckets rounded up to a power of two */
};

bench_ways *bench_ways_create(int64_t taps, int64_t n_buckets, int location_loops)
{
    bench_ways *const ways = new bench_ways{};
    for (ways->sorted_size = 1; ways->sorted_size < n_buckets; ways->sorted_size *= 2)
        ;
    cudaError_t status = cudaStreamCreateWithFlags(&ways->fetching, cudaStreamNonBlocking);
    if (status == cudaSuccess)
        status = cudaEventCreateWithFlags(&ways->forked, cudaEventDisableTiming);
    for (int i = 0; status == cudaSuccess && i < 2; i++)
        if ((status = cudaEventCreateWithFlags(&ways->fetched[i], cudaEventDisableTiming)) == cudaSuccess &&
            (status = cudaEventCreateWithFlags(&ways->folded[i], cudaEventDisableTiming)) == cudaSuccess)
            status = cudaMalloc((void **)&ways->rows[i], (size_t)taps * sizeof *ways->rows[i]);
    if (status == cudaSuccess)
        status = cudaMalloc((void **)&ways->ranked, (size_t)(location_loops * ways->sorted_size) * sizeof *ways->ranked);
    if (status == cudaSuccess)
        return ways;
    bench_ways_destroy(ways);
    return nullptr;
}

void bench_ways_destroy(bench_ways *ways)
{
    if (!ways)
        return;
    for (int i = 0; i < 2; i++) {
        cudaFree(ways->rows[i]);
        if (ways->fetched[i])
            cudaEventDestroy(ways->fetched[i]);
        if (ways->folded[i])
            cudaEventDestroy(ways->folded[i]);
    }
    cudaFree(ways->ranked);
    if (ways->forked)
        cudaEventDestroy(ways->forked);
    if (ways->fetching)
        cudaStreamDestroy(ways->fetching);
    delete ways;
}

/* Fetch loop l while the loop before it is folded. A row is used again once it has been folded. */
cudaError_t bench_ways_gather(void *context, const lw_published_device *device, cudaStream_t stream)
{
    const bench_ways *const ways = (const bench_ways *)context;
    cudaError_t status = cudaEventRecord(ways->forked, stream);
    if (status == cudaSuccess)
        status = cudaStreamWaitEvent(ways->fetching, ways->forked, 0);
    for (int l = 0; status == cudaSuccess && l < device->n_loops; l++) {
        const int buffer = l % 2;
        if (l >= 2)
            status = cudaStreamWaitEvent(ways->fetching, ways->folded[buffer], 0);
        if (status == cudaSuccess)
            status = gather_row(device, l, ways->rows[buffer], ways->fetching);
        if (status == cudaSuccess)
            status = cudaEventRecord(ways->fetched[buffer], ways->fetching);
        if (status == cudaSuccess)
            status = cudaStreamWaitEvent(stream, ways->fetched[buffer], 0);
        if (status != cudaSuccess)
            break;
        fold_row<<<blocks_for(device->n_buckets), THREADS, 0, stream>>>(*device, l, ways->rows[buffer]);
        if ((status = cudaGetLastError()) == cudaSuccess)
            status = cudaEventRecord(ways->folded[buffer], stream);
    }
    return status;
}

/* Sort the energies; then selection only has to find the median. */
cudaError_t bench_ways_sort(void *context, const lw_published_device *device, cudaStream_t stream)
{
    const bench_ways *const ways = (const bench_ways *)context;
    const int64_t size = ways->sorted_size;
    const int loops = device->location_loops;
    const cudaError_t status = lw_published_select(device, loops, stream);
    if (status != cudaSuccess)
        return status;
    begin_sort<<<grid_of(size, loops), SORT_THREADS, 0, stream>>>(*device, ways->ranked, size);
    for (int64_t length = 2; length <= size; length *= 2)
        for (int64_t stride = length / 2; stride > 0; stride /= 2)
            sort_step<<<grid_of(size / 2, loops), SORT_THREADS, 0, stream>>>(ways->ranked, size, length, stride);
    end_sort<<<grid_of(device->n_selected, loops), SORT_THREADS, 0, stream>>>(*device, ways->ranked, size);
    return cudaGetLastError();
}
