/* long_fft.cuh - what the long path's transforms have in common: the order of their spectra, and tables. */
#ifndef LW_LONG_FFT_CUH
#define LW_LONG_FFT_CUH

#include "fft.cuh"

/* Bin of thread t's first spectral value, see fft.cuh. */
template <class F> LW_DEVICE int first_bin(int t) { return F::P * (t % F::E) + t / F::E; }

/* Bin of value i of a spectrum in the order that multiply() of ols_segments.cuh reads: single, two values of a thread
 * side by side. */
template <class F> LW_DEVICE int bin_of(int i)
{
    constexpr int EACH = 16 / (int)sizeof(typename F::C);
    const int m = i / (EACH * F::T) * EACH + i % EACH, t = i / EACH % F::T;
    return first_bin<F>(t) + F::T * m;
}

/* exp(-2 pi i k / n), rounded once */
template <class C> LW_DEVICE C exact_root(int64_t k, int64_t n)
{
    double s, c;
    sincospi(-2.0 * (double)(k & (n - 1)) / (double)n, &s, &c);
    using Real = decltype(C::x);
    return {(Real)c, (Real)s};
}

/* Rows of Transform's table for one transform length; one thread each. */
template <class C> static __global__ void long_powers(C *table, int side, int groups)
{
    const int threads = side * groups, inner_rows = log2_of(side);
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / threads, t = i % threads;
    if (row >= inner_rows + log2_of(groups))
        return;
    const int64_t k = row < inner_rows ? (int64_t)(t % side) * groups << row : (int64_t)t << (row - inner_rows);
    table[i] = exact_root<C>(k, side * threads);
}

template <class F> static constexpr int powers_of() { return log2_of(F::N) * F::T; }

template <class F> static void fill_powers(typename F::C *table, cudaStream_t stream)
{
    const int threads = 128;
    long_powers<<<(powers_of<F>() + threads - 1) / threads, threads, 0, stream>>>(table, F::E, F::P);
}

#endif
