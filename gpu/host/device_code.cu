#include "gpu/host/device_code.h"

static const int architectures[] = {__CUDA_ARCH_LIST__};        /* ascending, 800 for 8.0 */

__global__ void any_kernel() {}

int lw_device_code_oldest(void)
{
    return architectures[0] / 10;
}

int lw_device_code_for(int device)
{
    int found = lw_device_code_oldest();
    for (const int architecture : architectures)
        found = architecture / 10 <= device ? architecture / 10 : found;
    return found;
}

cudaError_t lw_device_code_check(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, any_kernel);
}
