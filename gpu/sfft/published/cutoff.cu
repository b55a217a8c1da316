/* cutoff.cu - energies of buckets, and the largest of them.
 *
 * By selection, a block a loop: select.cuh finds where to cut. Then each warp has a run of values of its own: it counts those above the
 * cut and those at it, a scan over the warps tells how many are before its run, and it goes through the run again, 32 at a time, to
 * write their places and their bits; of those at the cut the first.
 *
 * By sorting, a bitonic network over all values of a loop, padded to a power of two; a launch a step, two values a thread. */
#include "gpu/sfft/published/device.h"
#include "gpu/sfft/published/place.cuh"
#include "gpu/sfft/published/select.cuh"

namespace {

constexpr int THREADS = SELECT_THREADS, LINEAR_THREADS = 256;

/* Of values: how many are above a cut, and how many at it. */
struct Tally {
    int above, level;
};

LW_DEVICE Tally tally_of(const Cut &cut, unsigned long long bits, bool is_there)
{
    const unsigned long long begin = bits & cut.mask;
    return {is_there && begin > cut.known ? 1 : 0, is_there && begin == cut.known ? 1 : 0};
}

/* Over the lanes of all warps before this one. */
LW_DEVICE Tally tally_before_warp(Tally mine)
{
    __shared__ int above[THREADS / 32], level[THREADS / 32];
    const int warp = (int)threadIdx.x / 32;
#pragma unroll
    for (int other = 16; other > 0; other /= 2) {
        mine.above += __shfl_xor_sync(0xffffffffu, mine.above, other);
        mine.level += __shfl_xor_sync(0xffffffffu, mine.level, other);
    }
    if (threadIdx.x % 32 == 0) {
        above[warp] = mine.above;
        level[warp] = mine.level;
    }
    __syncthreads();
    Tally before = {0, 0};
    for (int w = 0; w < warp; ++w) {
        before.above += above[w];
        before.level += level[w];
    }
    return before;
}

/* The places of the `most` largest, ascending, and their bits. @param chosen  NULL: no bits are wanted */
LW_DEVICE void list_largest(const double *values, int64_t count, int most, int *places, unsigned *chosen)
{
    const Cut cut = find_cut(values, count, most, false);
    const int lane = (int)threadIdx.x % 32;
    const int64_t run = (count + THREADS - 1) / THREADS * 32, first = (int64_t)threadIdx.x / 32 * run;
    const int64_t end = first + run < count ? first + run : count;
    Tally before = {0, 0};
    for_bits(values, first, end, lane, 32, [&](unsigned long long bits, bool is_there) {
        const Tally one = tally_of(cut, bits, is_there);
        before = {before.above + one.above, before.level + one.level};
    });
    before = tally_before_warp(before);
    int64_t base = first;
    for_bits(values, first, end, lane, 32, [&](unsigned long long bits, bool is_there) {
        const Tally one = tally_of(cut, bits, is_there);
        const unsigned above = __ballot_sync(0xffffffffu, one.above), level = __ballot_sync(0xffffffffu, one.level);
        const unsigned below = (1u << lane) - 1;
        const int level_before = before.level + __popc(level & below);
        const bool is_taken = one.above != 0 || (one.level != 0 && level_before < cut.rest);
        if (is_taken)
            places[before.above + __popc(above & below) + min(level_before, cut.rest)] = (int)(base + lane);
        const unsigned taken = __ballot_sync(0xffffffffu, is_taken);
        if (chosen && lane == 0 && base < end)
            chosen[base / 32] = taken;
        before = {before.above + __popc(above), before.level + __popc(level)};
        base += 32;
    });
}

LW_DEVICE void take_median(const lw_published_device &device)
{
    find_ranked(device.energies, device.n_buckets, (int)(device.n_buckets / 2), &device.control->median);
}

/* A block a loop, and the last one for the median. */
__global__ void __launch_bounds__(THREADS) select_buckets(lw_published_device device)
{
    const int64_t loop = blockIdx.x;
    if (loop == device.location_loops)
        take_median(device);
    else
        list_largest(device.energies + loop * device.n_buckets, device.n_buckets, (int)device.n_selected,
                     device.places + loop * device.n_selected, device.chosen + loop * device.n_words);
}

__global__ void __launch_bounds__(THREADS) find_median(lw_published_device device) { take_median(device); }

__global__ void __launch_bounds__(THREADS) select_teeth(lw_published_device device)
{
    list_largest(device.tooth_energies, device.comb, (int)device.n_residues, device.tooth_places, nullptr);
}

__global__ void __launch_bounds__(LINEAR_THREADS) measure(const double2 *values, double *energies, int64_t count)
{
    const int64_t i = blockIdx.x * (int64_t)LINEAR_THREADS + threadIdx.x;
    if (i < count)
        energies[i] = energy_of(values[i]);
}

/* ---- sort ---------------------------------------------------------------------------------------------------------- */

/* Larger values first, equal ones in the order of their places, fillers last. */
LW_DEVICE bool comes_before(const lw_published_device_ranked &a, const lw_published_device_ranked &b)
{
    return a.value != b.value ? a.value > b.value : a.place < b.place;
}

__global__ void __launch_bounds__(LINEAR_THREADS) begin_sort(lw_published_device device)
{
    const int64_t i = blockIdx.x * (int64_t)LINEAR_THREADS + threadIdx.x, loop = blockIdx.y;
    if (i < device.sorted_size)
        device.ranked[loop * device.sorted_size + i] =
            i < device.n_buckets ? lw_published_device_ranked{device.energies[loop * device.n_buckets + i], (int)i}
                                 : lw_published_device_ranked{-1, -1};
}

/* Compare elements `stride` apart within runs of `length`, which alternate in direction. */
__global__ void __launch_bounds__(LINEAR_THREADS) sort_step(lw_published_device device, int64_t length, int64_t stride)
{
    const int64_t pair = blockIdx.x * (int64_t)LINEAR_THREADS + threadIdx.x;
    if (pair >= device.sorted_size / 2)
        return;
    const int64_t low = pair / stride * 2 * stride + pair % stride;
    lw_published_device_ranked *const ranked = device.ranked + blockIdx.y * device.sorted_size;
    const lw_published_device_ranked a = ranked[low], b = ranked[low + stride];
    const bool is_ascending = (low & length) == 0;
    if (is_ascending ? comes_before(b, a) : comes_before(a, b)) {
        ranked[low] = b;
        ranked[low + stride] = a;
    }
}

__global__ void __launch_bounds__(LINEAR_THREADS) end_sort(lw_published_device device)
{
    const int64_t i = blockIdx.x * (int64_t)LINEAR_THREADS + threadIdx.x, loop = blockIdx.y;
    if (i < device.n_selected) {
        const int place = device.ranked[loop * device.sorted_size + i].place;
        device.places[loop * device.n_selected + i] = place;
        atomicOr(&device.chosen[loop * device.n_words + place / 32], 1u << place % 32);
    }
}

dim3 grid_of(int64_t count, int rows)
{
    return dim3((unsigned)((count + LINEAR_THREADS - 1) / LINEAR_THREADS), (unsigned)rows);
}

/* ---- comb ---------------------------------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(LINEAR_THREADS) fetch_teeth(lw_published_device device, int64_t first)
{
    const int64_t i = blockIdx.x * (int64_t)LINEAR_THREADS + threadIdx.x;
    if (i >= device.comb)
        return;
    int64_t at = first + i * (device.n / device.comb);
    at -= at >= device.n ? device.n : 0;
    const double *const samples = *device.samples;
    device.teeth[i] = device.is_real ? double2{samples[at], 0} : ((const double2 *)samples)[at];
}

__global__ void __launch_bounds__(LINEAR_THREADS) mark(lw_published_device device)
{
    const int64_t i = blockIdx.x * (int64_t)LINEAR_THREADS + threadIdx.x;
    if (i < device.n_residues)
        device.approved[device.tooth_places[i]] = 1;
}

}  // namespace

cudaError_t lw_published_measure(const lw_published_device *device, cudaStream_t stream)
{
    const int64_t count = device->location_loops * device->n_buckets;
    measure<<<grid_of(count, 1), LINEAR_THREADS, 0, stream>>>(device->planes, device->energies, count);
    return cudaGetLastError();
}

cudaError_t lw_published_select(const lw_published_device *device, cudaStream_t stream)
{
    select_buckets<<<(unsigned)device->location_loops + 1, THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}

cudaError_t lw_published_sort(const lw_published_device *device, cudaStream_t stream)
{
    find_median<<<1, THREADS, 0, stream>>>(*device);
    begin_sort<<<grid_of(device->sorted_size, device->location_loops), LINEAR_THREADS, 0, stream>>>(*device);
    const dim3 grid = grid_of(device->sorted_size / 2, device->location_loops);
    for (int64_t length = 2; length <= device->sorted_size; length *= 2)
        for (int64_t stride = length / 2; stride > 0; stride /= 2)
            sort_step<<<grid, LINEAR_THREADS, 0, stream>>>(*device, length, stride);
    end_sort<<<grid_of(device->n_selected, device->location_loops), LINEAR_THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}

cudaError_t lw_published_comb(const lw_published_device *device, int64_t first, cudaStream_t stream)
{
    if (device->comb == 0)
        return cudaSuccess;
    fetch_teeth<<<grid_of(device->comb, 1), LINEAR_THREADS, 0, stream>>>(*device, first);
    return cudaGetLastError();
}

cudaError_t lw_published_approve(const lw_published_device *device, cudaStream_t stream)
{
    if (device->comb == 0)
        return cudaSuccess;
    measure<<<grid_of(device->comb, 1), LINEAR_THREADS, 0, stream>>>(device->teeth, device->tooth_energies, device->comb);
    select_teeth<<<1, THREADS, 0, stream>>>(*device);
    mark<<<grid_of(device->n_residues, 1), LINEAR_THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}
