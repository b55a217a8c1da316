/* instances.cuh - the direct kernels that are compiled, in groups: see gpu/ols/kernels/instances.cuh. */
#include "gpu/ols/direct/instance.cuh"

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

#elif defined(LW_INSTANCES_complex)     /* complex signals, or real ones with complex taps */
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
