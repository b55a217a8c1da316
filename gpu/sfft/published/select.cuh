/* select.cuh - the value of a rank among many, by selection; a block of 1024 threads does it.
 *
 * Numbers that are not negative are in the order of their bits, which are looked at in digits of 11 from below the sign: the first is
 * the exponent. A pass counts, in shared memory, how many of the values that begin like the one looked for have each digit; two bins a
 * thread, a scan over the block from the top finds the next digit. It ends as soon as what is looked for stands alone, mostly with the
 * third digit. The block's time is that of loads from the L2: each thread has several under way. */
#ifndef LW_GPU_SFFT_PUBLISHED_SELECT_CUH
#define LW_GPU_SFFT_PUBLISHED_SELECT_CUH

#include "gpu/device/fft.cuh"

#include <cstdint>

constexpr int SELECT_THREADS = 1024, SELECT_LOADS = 8, DIGIT = 11, DIGITS = 1 << DIGIT;

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

/* Call take(bits, whether there is one) for the values first + thread, + step, ... below `end`: all threads equally often. */
template <class Take> LW_DEVICE void for_bits(const double *values, int64_t first, int64_t end, int thread, int step, Take take)
{
    for (int64_t base = first; base < end; base += SELECT_LOADS * step) {
        unsigned long long bits[SELECT_LOADS];
#pragma unroll
        for (int j = 0; j < SELECT_LOADS; ++j) {
            const int64_t i = base + j * step + thread;
            bits[j] = i < end ? bits_of(values[i]) : 0;
        }
#pragma unroll
        for (int j = 0; j < SELECT_LOADS; ++j)
            take(bits[j], base + j * step + thread < end);
    }
}

/* What the largest values begin with: those whose bits under the mask are more than `known` are among them, and `rest` of the `level`
 * ones that have these very bits, the first. */
struct Cut {
    unsigned long long known, mask;
    int rest, level;
};

/* Of the `most` largest. @param is_value  go on until the least of these stands alone, or all its bits are known */
LW_DEVICE Cut find_cut(const double *values, int64_t count, int most, bool is_value)
{
    __shared__ int seen[DIGITS];
    __shared__ int found_digit, found_rest, found_level;
    const int t = (int)threadIdx.x, upper = DIGITS - 1 - 2 * t;     /* bins upper and upper - 1 */
    Cut cut = {0, 1ull << 63, most, 0};
    int shift = 63 - DIGIT;
    do {
        seen[upper] = seen[upper - 1] = 0;
        __syncthreads();
        for_bits(values, 0, count, t, SELECT_THREADS, [&](unsigned long long bits, bool is_there) {
            if (is_there && (bits & cut.mask) == cut.known)
                atomicAdd(&seen[bits >> shift & (DIGITS - 1)], 1);
        });
        __syncthreads();
        const int sum = seen[upper] + seen[upper - 1], before = scan(sum) - sum;
        if (before < cut.rest && before + sum >= cut.rest) {
            const bool is_upper = before + seen[upper] >= cut.rest;
            found_digit = is_upper ? upper : upper - 1;
            found_rest = cut.rest - before - (is_upper ? 0 : seen[upper]);
            found_level = seen[found_digit];
        }
        __syncthreads();
        cut = {cut.known | (unsigned long long)found_digit << shift, cut.mask | (unsigned long long)(DIGITS - 1) << shift,
               found_rest, found_level};
        shift = shift > DIGIT ? shift - DIGIT : 0;
        __syncthreads();
    } while (cut.mask != ~0ull && cut.level > (is_value ? 1 : cut.rest));
    return cut;
}

/* *value = that of the rank, of which there are `rank` larger ones; one thread writes it. */
LW_DEVICE void find_ranked(const double *values, int64_t count, int rank, double *value)
{
    const Cut cut = find_cut(values, count, rank + 1, true);
    if (cut.mask == ~0ull && threadIdx.x == 0)
        *value = __longlong_as_double((long long)cut.known);
    for_bits(values, 0, cut.mask == ~0ull ? 0 : count, (int)threadIdx.x, SELECT_THREADS, [&](unsigned long long bits, bool is_there) {
        if (is_there && (bits & cut.mask) == cut.known)
            *value = __longlong_as_double((long long)bits);
    });
}

#endif
