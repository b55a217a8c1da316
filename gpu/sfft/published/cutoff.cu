/* cutoff.cu - energies of buckets, and the largest of them.
 *
 * By selection, a block a loop: select.cuh finds the least of them. Then the block goes through the values once more, 1024 at a time,
 * and a scan gives every value above the least its place in the list; of equal ones the first.
 *
 * By sorting, a bitonic network over all values of a loop, padded to a power of two; a launch a step, two values a thread. */
#include "gpu/sfft/published/device.h"
#include "gpu/sfft/published/place.cuh"
#include "gpu/sfft/published/select.cuh"

namespace {

constexpr int THREADS = SELECT_THREADS, LINEAR_THREADS = 256;

LW_DEVICE void set_bit(unsigned *words, int64_t i) { atomicOr(&words[i / 32], 1u << i % 32); }

/* The places of the `most` largest, ascending, and their bits. @param chosen  NULL: no bits are wanted */
LW_DEVICE void list_largest(const double *values, int64_t count, int most, int *places, unsigned *chosen)
{
    int equal;
    const unsigned long long least = find_least(values, count, most, &equal);
    int above = 0, level = 0;           /* so far */
    __shared__ int last;
    for (int64_t base = 0; base < count; base += THREADS) {
        const int64_t i = base + threadIdx.x;
        const unsigned long long bits = i < count ? bits_of(values[i]) : 0;
        const bool is_above = i < count && bits > least, is_level = i < count && bits == least;
        const int own = (is_above ? 1 : 0) | (is_level ? 1 << 16 : 0), all = scan(own), before = all - own;
        const int above_before = above + (before & 0xffff), level_before = level + (before >> 16);
        if (is_above || (is_level && level_before < equal)) {
            places[above_before + (level_before < equal ? level_before : equal)] = (int)i;
            if (chosen)
                set_bit(chosen, i);
        }
        if (threadIdx.x == THREADS - 1)
            last = all;
        __syncthreads();
        above += last & 0xffff;
        level += last >> 16;
        __syncthreads();
    }
}

/* Row blockIdx.x of values, places and words. */
__global__ void __launch_bounds__(THREADS) select_places(const double *values, int64_t count, int most, int *places,
                                                         unsigned *chosen, int64_t n_words)
{
    list_largest(values + blockIdx.x * count, count, most, places + (int64_t)blockIdx.x * most,
                 chosen ? chosen + blockIdx.x * n_words : nullptr);
}

__global__ void __launch_bounds__(THREADS) find_median(lw_published_device device)
{
    int equal;
    const unsigned long long bits = find_least(device.energies, device.n_buckets, (int)(device.n_buckets / 2) + 1, &equal);
    if (threadIdx.x == 0)
        device.control->median = __longlong_as_double((long long)bits);
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
        set_bit(device.chosen + loop * device.n_words, place);
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
    device.teeth[i] = device.is_real ? double2{device.samples[at], 0} : ((const double2 *)device.samples)[at];
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
    find_median<<<1, THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}

cudaError_t lw_published_select(const lw_published_device *device, cudaStream_t stream)
{
    select_places<<<(unsigned)device->location_loops, THREADS, 0, stream>>>(device->energies, device->n_buckets,
                                                                            (int)device->n_selected, device->places,
                                                                            device->chosen, device->n_words);
    return cudaGetLastError();
}

cudaError_t lw_published_sort(const lw_published_device *device, cudaStream_t stream)
{
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
    select_places<<<1, THREADS, 0, stream>>>(device->tooth_energies, device->comb, (int)device->n_residues,
                                             device->tooth_places, nullptr, 0);
    mark<<<grid_of(device->n_residues, 1), LINEAR_THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}
