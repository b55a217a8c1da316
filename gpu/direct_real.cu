/* direct_real.cu - the direct kernels for real signals and taps. */
#include "direct_instance.cuh"

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
