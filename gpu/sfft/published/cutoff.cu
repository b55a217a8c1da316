/* cutoff.cu - energies of buckets, and the largest of them.
 *
 * By selection, a block a loop: numbers that are not negative are in the order of their bits, which are looked at in digits of
 * 11 from the top. A pass counts, in shared memory, how many of the values that begin like the one looked for have each digit;
 * two bins a thread, a scan over the block from the top finds the next digit. Then the block goes through the values once
 * more, 1024 at a time, and a scan gives every value above the least its place in the list; of equal ones the first.
 *
 * By sorting, a bitonic network over all values of a loop, padded to a power of two; a launch a step, two values a thread. */
#include "gpu/device/fft.cuh"
#include "gpu/sfft/published/device.h"

#include <cstdint>

namespace {

constexpr int THREADS = 1024, DIGIT = 11, DIGITS = 1 << DIGIT, LINEAR_THREADS = 256;

LW_DEVICE unsigned long long bits_of(double value) { return (unsigned long long)__double_as_longlong(value); }

LW_DEVICE double energy_of(double2 z) { return z.x * z.x + z.y * z.y; }

/* Sum of the values of this thread and those before it. All threads of the block take part. */
LW_DEVICE int scan(int value)
{
    __shared__ int of_warp[THREADS / 32];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
        const int below = __shfl_sync(0xffffffffu, value, lane >= offset ? lane - offset : lane);
        value += lane >= offset ? below : 0;
    }
    __syncthreads();            /* what was there last has been read */
    if (lane == 31)
        of_warp[warp] = value;
    __syncthreads();
    for (int w = 0; w < warp; ++w)
        value += of_warp[w];
    return value;
}

/* The value that `most` are as large as, as bits; *equal: how many of that very value are among them. */
LW_DEVICE unsigned long long find_least(const double *values, int64_t count, int most, int *equal)
{
    __shared__ int seen[DIGITS];
    __shared__ int found_digit, found_rest;
    const int t = (int)threadIdx.x, upper = DIGITS - 1 - 2 * t;     /* bins upper and upper - 1 */
    unsigned long long known = 0, mask = 0;
    for (int shift = 64 - DIGIT; mask != ~0ull; shift = shift > DIGIT ? shift - DIGIT : 0) {
        seen[upper] = seen[upper - 1] = 0;
        __syncthreads();
        for (int64_t i = t; i < count; i += THREADS) {
            const unsigned long long bits = bits_of(values[i]);
            if ((bits & mask) == known)
                atomicAdd(&seen[bits >> shift & (DIGITS - 1)], 1);
        }
        __syncthreads();
        const int sum = seen[upper] + seen[upper - 1], before = scan(sum) - sum;
        if (before < most && before + sum >= most) {
            const bool is_upper = before + seen[upper] >= most;
            found_digit = is_upper ? upper : upper - 1;
            found_rest = most - before - (is_upper ? 0 : seen[upper]);
        }
        __syncthreads();
        known |= (unsigned long long)found_digit << shift;
        mask |= (unsigned long long)(DIGITS - 1) << shift;
        most = found_rest;
        __syncthreads();
    }
    *equal = most;
    return known;
}

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
