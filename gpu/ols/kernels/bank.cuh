/* bank.cuh - the filter bank: twiddle powers and the filters' spectra, in the threads' order. Made once, in double. */
#pragma once

#include "gpu/device/fft_powers.cuh"

#include <cstdint>

/* roots[k] = exp(-2 pi i k / n); one thread each */
__global__ void ols_roots(double2 *roots, int n)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n)
        roots[k] = exact_root<double2>(k, n);
}

/* spectra[f][..] = (1 / N) sum_j taps[f][j] exp(-2 pi i j k / N) by the definition, one thread per bin; thread t's m-th bin is
 * k = P (t mod E) + t / E + T m, delayed by `delay` samples. Single: bins m and m + 1 of a thread lie side by side (one
 * 16-byte load). */
template <class C> __global__ void ols_spectra(C *spectra, const double2 *roots, const double *taps, bool taps_complex,
                                               int n_filters, int64_t n_taps, int delay, int radix, int outer_radix)
{
    const int threads = radix * outer_radix, n = radix * threads;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t f = blockIdx.y + (int64_t)gridDim.y * blockIdx.z;
    if (i >= n || f >= n_filters)
        return;
    const int per_load = 16 / (int)sizeof(C);
    const int m = i / (threads * per_load) * per_load + i % per_load, t = i / per_load % threads;
    const int k = outer_radix * (t % radix) + t / radix + threads * m;
    double2 sum = {0, 0};
    for (int64_t j = 0, at_root = delay * k; j < n_taps; ++j, at_root = at_root + k < n ? at_root + k : at_root + k - n) {
        const double2 w = roots[at_root];
        const int64_t at = f * n_taps + j;
        const double2 h = taps_complex ? ((const double2 *)taps)[at] : double2{taps[at], 0};
        sum.x += h.x * w.x - h.y * w.y;
        sum.y += h.x * w.y + h.y * w.x;
    }
    using Real = decltype(C::x);
    spectra[f * n + i] = {(Real)(sum.x / n), (Real)(sum.y / n)};
}
