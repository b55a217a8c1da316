/* spectrum_order.cuh - what the long path's transforms have in common: the order of their spectra. */
#pragma once

#include "gpu/device/fft_powers.cuh"

/* Bin of thread t's first spectral value, see gpu/device/fft.cuh. */
template <class F> LW_DEVICE int first_bin(int t) { return F::P * (t % F::E) + t / F::E; }

/* Bin of value i of a spectrum in the order that multiply() of gpu/ols/kernels/time_fast.cuh reads: single, two values of a thread
 * side by side. */
template <class F> LW_DEVICE int bin_of(int i)
{
    constexpr int EACH = 16 / (int)sizeof(typename F::C);
    const int m = i / (EACH * F::T) * EACH + i % EACH, t = i / EACH % F::T;
    return first_bin<F>(t) + F::T * m;
}
