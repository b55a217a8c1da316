#include "gpu/host/probe.h"

static const int architectures[] = {__CUDA_ARCH_LIST__};        /* ascending, 800 for 8.0 */

__global__ void probe() {}

int lw_probe_oldest_architecture(void)
{
    return architectures[0] / 10;
}

cudaError_t lw_probe_kernel(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, probe);
}
