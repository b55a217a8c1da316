/* fft_powers.cuh - the table of twiddle powers that Transform loads (fft.cuh). */
#pragma once

#include "gpu/device/fft.cuh"

#include <cstdint>

/* exp(-2 pi i k / n); rounded once */
template <class C> LW_DEVICE C exact_root(int64_t k, int64_t n)
{
    double s, c;
    sincospi(-2.0 * (double)(k % n) / (double)n, &s, &c);
    using Real = decltype(C::x);
    return {(Real)c, (Real)s};
}

/* An outer radix of 12 or 24 has w and w^2 of each of its radix x radix butterflies. */
__host__ __device__ constexpr bool has_butterflies(int outer_radix) { return outer_radix % 12 == 0; }

/* Values of the table of transforms of radix x radix x outer_radix points. */
__host__ __device__ constexpr int powers_of(int radix, int outer_radix)
{
    const int outer = has_butterflies(outer_radix) ? 2 * radix : log2_of(outer_radix) * outer_radix;
    return (log2_of(radix) * outer_radix + outer) * radix;
}

/* Rows w^(2^l) for the E x E transform (l < log2 E), then for the radix-P stage; one thread each. */
template <class C> static __global__ void transform_powers(C *table, int radix, int outer_radix)
{
    const int threads = radix * outer_radix, inner = log2_of(radix) * threads;
    const int i = blockIdx.x * blockDim.x + threadIdx.x,
              length = i >= inner && has_butterflies(outer_radix) ? radix * radix : threads;
    if (i >= powers_of(radix, outer_radix))
        return;
    const int row = (i < inner ? i : i - inner) / length, t = (i < inner ? i : i - inner) % length;
    const int64_t k = i < inner ? (int64_t)(t % radix) * outer_radix << row : (int64_t)t << row;
    table[i] = exact_root<C>(k, radix * threads);
}

template <class C> static void fill_powers(C *table, int radix, int outer_radix, cudaStream_t stream)
{
    const int threads = 128, n = powers_of(radix, outer_radix);
    transform_powers<<<(n + threads - 1) / threads, threads, 0, stream>>>(table, radix, outer_radix);
}
