/* select.cuh - the value of a rank among many, by selection; a block of 1024 threads does it.
 *
 * Numbers that are not negative are in the order of their bits, which are looked at in digits of 11 from the top. A pass counts, in
 * shared memory, how many of the values that begin like the one looked for have each digit; two bins a thread, a scan over the block
 * from the top finds the next digit. */
#ifndef LW_GPU_SFFT_PUBLISHED_SELECT_CUH
#define LW_GPU_SFFT_PUBLISHED_SELECT_CUH

#include "gpu/device/fft.cuh"

#include <cstdint>

constexpr int SELECT_THREADS = 1024, DIGIT = 11, DIGITS = 1 << DIGIT;

LW_DEVICE unsigned long long bits_of(double value) { return (unsigned long long)__double_as_longlong(value); }

/* Sum of the values of this thread and those before it. All threads of the block take part. */
LW_DEVICE int scan(int value)
{
    __shared__ int of_warp[SELECT_THREADS / 32];
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
        for (int64_t i = t; i < count; i += SELECT_THREADS) {
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

#endif
