/* instance.cuh - table entries for compiled direct kernels. */
#pragma once

#include "gpu/ols/direct/compiled.h"
#include "gpu/ols/direct/sum.cuh"

template <class Sample, class Tap, int PAD> DirectKernel direct_kernel()
{
    constexpr int RUN = sizeof(typename RealOf<Sample>::type) == 8 ? 2 : sizeof(Sample) == 4 ? 2 : 3;
    DirectKernel k;
    k.precision = sizeof(typename RealOf<Sample>::type) == 4 ? LW_SINGLE : LW_DOUBLE;
    k.complex_signal = sizeof(Sample) > sizeof(typename RealOf<Sample>::type);
    k.complex_taps = sizeof(Tap) > sizeof(typename RealOf<Sample>::type);
    k.pad = PAD;
    k.tile = DIRECT_THREADS * (16 / (int)sizeof(Sample)) * RUN;
    k.fast = direct_fast<Sample, Tap, PAD, RUN>;
    k.slow = direct_slow<Sample, Tap, PAD>;
    return k;
}
