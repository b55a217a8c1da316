/* launch.cuh - launches of a run's kernels. */
#pragma once

#include "gpu/device/fft.cuh"
#include "gpu/sfft/published/launch.h"

struct Launch {
    dim3 grid;
    int threads;
    int64_t shared_bytes;
    cudaStream_t stream;
    int cluster_blocks = 1;
};

template <class... Parameters>
cudaError_t launch_kernel(const lw_published_device &device, const Launch &launch,
                          void (*kernel)(lw_published_device, Parameters...), Parameters... arguments)
{
    const int bytes = (int)launch.shared_bytes;
    if (bytes > 0) {
        const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (status != cudaSuccess)
            return status;
    }
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {(unsigned)launch.cluster_blocks, 1, 1};
    cudaLaunchConfig_t where = {};
    where.gridDim = launch.grid;
    where.blockDim = dim3((unsigned)launch.threads);
    where.dynamicSmemBytes = (size_t)bytes;
    where.stream = launch.stream;
    where.attrs = &attribute;
    where.numAttrs = launch.cluster_blocks > 1 ? 1 : 0;
    return cudaLaunchKernelEx(&where, kernel, device, arguments...);
}
