/* direct_complex.cu - the direct kernels for complex signals, or real ones with complex taps. */
#include "direct_instance.cuh"

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
