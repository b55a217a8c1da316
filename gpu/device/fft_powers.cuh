/* fft_powers.cuh - the table of twiddle powers that Transform loads (fft.cuh). */
#ifndef LW_GPU_DEVICE_FFT_POWERS_CUH
#define LW_GPU_DEVICE_FFT_POWERS_CUH

#include "gpu/device/fft.cuh"

#include <cstdint>

/* exp(-2 pi i k / n), n a power of two; rounded once */
template <class C> LW_DEVICE C exact_root(int64_t k, int64_t n)
{
    double s, c;
    sincospi(-2.0 * (double)(k & (n - 1)) / (double)n, &s, &c);
    using Real = decltype(C::x);
    return {(Real)c, (Real)s};
}

/* Values of the table of transforms of side x side x groups points. */
__host__ __device__ constexpr int powers_of(int side, int groups) { return (log2_of(side) + log2_of(groups)) * side * groups; }

/* Rows w^(2^l) for the E x E transform (l < log2 E), then for the radix-P stage; one thread each. */
template <class C> static __global__ void transform_powers(C *table, int side, int groups)
{
    const int threads = side * groups, inner_rows = log2_of(side);
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / threads, t = i % threads;
    if (i >= powers_of(side, groups))
        return;
    const int64_t k = row < inner_rows ? (int64_t)(t % side) * groups << row : (int64_t)t << (row - inner_rows);
    table[i] = exact_root<C>(k, side * threads);
}

template <class C> static void fill_powers(C *table, int side, int groups, cudaStream_t stream)
{
    const int threads = 128, n = powers_of(side, groups);
    transform_powers<<<(n + threads - 1) / threads, threads, 0, stream>>>(table, side, groups);
}

#endif
