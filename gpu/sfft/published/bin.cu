/* bin.cu - permute, filter and fold: from a signal on the device to the B sums of each loop.
 *
 * Directly, a thread makes one sum: bucket b of one loop, whose samples lie anywhere in the signal; the index of the first is
 * a product modulo n, the others are B sigma further on. Grid: (buckets / THREADS, loops).
 *
 * By rows, a thread first fetches one sample, by an index of its own, into the order of the window: neighbouring threads write
 * neighbouring places, and the loads of a whole row are under way at once. Then a thread makes one sum of a row, coalesced. On
 * two streams, the fetching of one loop overlaps the folding of the one before. */
#include "gpu/sfft/number.cuh"
#include "gpu/sfft/published/device.h"

namespace {

constexpr int THREADS = 128;

__global__ void __launch_bounds__(THREADS) begin(lw_published_device device)
{
    const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (i < device.n_cleared)
        device.cleared[i] = {0, 0};
    if (i == 0)
        *device.samples = *device.asked;
}

template <bool IS_REAL> LW_DEVICE double2 sample_at(const double *samples, int64_t i)
{
    if constexpr (IS_REAL)
        return {__ldg(samples + i), 0};
    else
        return __ldg((const double2 *)samples + i);
}

/* The sample of tap i, -half <= i <= half < n. */
LW_DEVICE int64_t index_of(const lw_published_device &device, const lw_published_device_loop &loop, int64_t i)
{
    const int64_t at = mod_multiply(loop.sigma, mod_wrap(i, device.n), device.n, 1.0 / (double)device.n);
    return mod_add(at, loop.tau, device.n);
}

LW_DEVICE void accumulate(double2 &sum, double tap, double2 x)
{
    sum.x = fma(tap, x.x, sum.x);
    sum.y = fma(tap, x.y, sum.y);
}

/* The first tap of bucket b: the least i >= -half that is b modulo B. */
LW_DEVICE int64_t first_tap(const lw_published_device &device, int64_t b)
{
    return b - (device.half + b) / device.n_buckets * device.n_buckets;
}

template <bool IS_REAL> __global__ void __launch_bounds__(THREADS) bin(lw_published_device device)
{
    const int64_t b = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (b >= device.n_buckets)
        return;
    const lw_published_device_loop loop = device.loops[blockIdx.y];
    const int64_t first = first_tap(device, b);
    const int64_t step = mod_multiply(loop.sigma, device.n_buckets, device.n, 1.0 / (double)device.n);
    int64_t at = index_of(device, loop, first);
    const double *const samples = *device.samples;
    double2 sum = {0, 0};
#pragma unroll 4
    for (int64_t i = first; i <= device.half; i += device.n_buckets) {
        accumulate(sum, __ldg(device.taps + device.half + i), sample_at<IS_REAL>(samples, at));
        at = mod_add(at, step, device.n);
    }
    device.planes[blockIdx.y * device.n_buckets + b] = sum;
}

template <bool IS_REAL> __global__ void __launch_bounds__(THREADS) gather(lw_published_device device, int loop, int buffer)
{
    const int64_t place = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (place <= 2 * device.half)
        device.rows[buffer][place] = sample_at<IS_REAL>(*device.samples, index_of(device, device.loops[loop], place - device.half));
}

__global__ void __launch_bounds__(THREADS) fold_row(lw_published_device device, int loop, int buffer)
{
    const int64_t b = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (b >= device.n_buckets)
        return;
    double2 sum = {0, 0};
#pragma unroll 4
    for (int64_t i = first_tap(device, b); i <= device.half; i += device.n_buckets)
        accumulate(sum, __ldg(device.taps + device.half + i), device.rows[buffer][device.half + i]);
    device.planes[loop * device.n_buckets + b] = sum;
}

unsigned blocks_for(int64_t count) { return (unsigned)((count + THREADS - 1) / THREADS); }

}  // namespace

cudaError_t lw_published_begin(const lw_published_device *device, cudaStream_t stream)
{
    begin<<<blocks_for(device->n_cleared), THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}

cudaError_t lw_published_bin_direct(const lw_published_device *device, cudaStream_t stream)
{
    const dim3 grid(blocks_for(device->n_buckets), (unsigned)device->n_loops);
    if (device->is_real)
        bin<true><<<grid, THREADS, 0, stream>>>(*device);
    else
        bin<false><<<grid, THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}

cudaError_t lw_published_gather(const lw_published_device *device, int loop, int buffer, cudaStream_t stream)
{
    const unsigned blocks = blocks_for(2 * device->half + 1);
    if (device->is_real)
        gather<true><<<blocks, THREADS, 0, stream>>>(*device, loop, buffer);
    else
        gather<false><<<blocks, THREADS, 0, stream>>>(*device, loop, buffer);
    return cudaGetLastError();
}

cudaError_t lw_published_fold_row(const lw_published_device *device, int loop, int buffer, cudaStream_t stream)
{
    fold_row<<<blocks_for(device->n_buckets), THREADS, 0, stream>>>(*device, loop, buffer);
    return cudaGetLastError();
}
