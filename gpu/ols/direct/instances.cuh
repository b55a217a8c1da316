/* instances.cuh - tables of the direct kernels that are compiled, in groups: see gpu/ols/kernels/instances.cuh. */
#include "gpu/ols/direct/direct.h"
#include "gpu/ols/direct/sum.cuh"

template <class Sample, class Tap, int PAD> DirectKernel direct_kernel()
{
    constexpr int RUN = sizeof(RealPart<Sample>) == 8 ? 2 : sizeof(Sample) == 4 ? 2 : 3;
    DirectKernel k = {};
    k.precision = sizeof(RealPart<Sample>) == 4 ? LW_SINGLE : LW_DOUBLE;
    k.complex_signal = sizeof(Sample) > sizeof(RealPart<Sample>);
    k.complex_taps = sizeof(Tap) > sizeof(RealPart<Sample>);
    k.pad = PAD;
    k.tile = DIRECT_THREADS * (16 / (int)sizeof(Sample)) * RUN;
    k.fast = direct_fast<Sample, Tap, PAD, RUN, false>;
    k.slow = direct_slow<Sample, Tap, PAD, false>;
    if constexpr (sizeof(RealPart<Sample>) == 4) {
        k.narrow_fast = direct_fast<Sample, Tap, PAD, RUN, true>;
        k.narrow_slow = direct_slow<Sample, Tap, PAD, true>;
    }
    return k;
}

#if defined(LW_INSTANCES_real)          /* real signals and taps */
static const DirectKernel list[] = {
    direct_kernel<float, float, 4>(),
    direct_kernel<float, float, 8>(),
    direct_kernel<float, float, 16>(),
    direct_kernel<float, float, 32>(),
    direct_kernel<double, double, 4>(),
    direct_kernel<double, double, 8>(),
    direct_kernel<double, double, 16>(),
    direct_kernel<double, double, 32>(),
};
const DirectKernels lw_direct_real = {list, (int)(sizeof(list) / sizeof(list[0]))};

#elif defined(LW_INSTANCES_complex)     /* complex signals, or real signals with complex taps */
static const DirectKernel list[] = {
    direct_kernel<float2, float, 4>(),
    direct_kernel<float2, float, 8>(),
    direct_kernel<float2, float, 16>(),
    direct_kernel<float2, float2, 4>(),
    direct_kernel<float2, float2, 8>(),
    direct_kernel<double2, double, 4>(),
    direct_kernel<double2, double, 8>(),
    direct_kernel<double2, double, 16>(),
    direct_kernel<double2, double2, 4>(),
    direct_kernel<double2, double2, 8>(),
};
const DirectKernels lw_direct_complex = {list, (int)(sizeof(list) / sizeof(list[0]))};

#else
#error "no group of kernels is chosen: define LW_INSTANCES_<group>"
#endif
