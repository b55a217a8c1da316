/* launch.cuh - sizes of grids, and kernel launches with attributes beyond the grid: clusters, programmatic dependents, cooperative
 * launches.
 *
 * A programmatic dependent is a kernel whose blocks may start while earlier kernels of its stream still run. They wait for these
 * in wait_for_predecessor (gpu/device/ptx.cuh), which tells what may be done before, and the one kernel (sfft's) that does more. */
#pragma once

#include "base/integers.h"

#include <cuda_runtime.h>

#include <cstdint>

/* Return the blocks for n items, `each` per block: at most `most`, whose grid-stride loops cover the rest. */
static inline unsigned blocks_for(int64_t n, int64_t each, int64_t most = 1 << 20)
{
    return (unsigned)lw_min64(lw_divide_up(n, each), most);
}

/* Return whether the current device supports programmatic dependents; if so, it supports clusters, too. */
static inline bool has_dependents()
{
    int device, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major >= 9;
}

struct Launch {
    dim3 grid;
    int threads;
    int64_t shared_bytes;
    cudaStream_t stream;
    int cluster_blocks = 1;
    bool is_dependent = false;          /* programmatic dependent; needs a device with has_dependents() */
    bool is_cooperative = false;        /* all blocks are resident at the same time, or the launch fails */
};

/* Return the launch configuration for the CUDA runtime. It points to `attributes`, which must live until the launch. */
static inline cudaLaunchConfig_t config_of(const Launch &launch, cudaLaunchAttribute (&attributes)[3])
{
    cudaLaunchConfig_t where = {};
    where.gridDim = launch.grid;
    where.blockDim = dim3((unsigned)launch.threads);
    where.dynamicSmemBytes = (size_t)launch.shared_bytes;
    where.stream = launch.stream;
    where.attrs = attributes;
    const auto next = [&](cudaLaunchAttributeID id) -> cudaLaunchAttributeValue & {
        cudaLaunchAttribute &attribute = attributes[where.numAttrs++];
        attribute = {};
        attribute.id = id;
        return attribute.val;
    };
    if (launch.is_dependent)
        next(cudaLaunchAttributeProgrammaticStreamSerialization).programmaticStreamSerializationAllowed = 1;
    if (launch.is_cooperative)
        next(cudaLaunchAttributeCooperative).cooperative = 1;
    if (launch.cluster_blocks > 1)
        next(cudaLaunchAttributeClusterDimension).clusterDim = {(unsigned)launch.cluster_blocks, 1, 1};
    return where;
}

template <class Kernel, class... Arguments>
cudaError_t launch_kernel(const Launch &launch, Kernel *kernel, const Arguments &...arguments)
{
    cudaLaunchAttribute attributes[3];
    const cudaLaunchConfig_t where = config_of(launch, attributes);
    return cudaLaunchKernelEx(&where, kernel, arguments...);
}

/* Allow the kernel launch.shared_bytes of dynamic shared memory, then launch_kernel. */
template <class Kernel, class... Arguments>
cudaError_t allow_and_launch(const Launch &launch, Kernel *kernel, const Arguments &...arguments)
{
    cudaError_t status = cudaSuccess;
    if (launch.shared_bytes > 0)
        status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.shared_bytes);
    return status != cudaSuccess ? status : launch_kernel(launch, kernel, arguments...);
}
