/* dependent.cuh - kernels launched as programmatic dependents: their blocks may start while the kernel before them in the
 * stream ends, and wait for its end before they touch memory (wait_for_predecessor in gpu/device/ptx.cuh). */
#pragma once

#include <cuda_runtime.h>

/* Whether the current device knows them. */
static inline bool has_dependents()
{
    int device, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major >= 9;
}

/* Of a launch on a device that does. */
static inline cudaLaunchAttribute dependent_attribute()
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    return attribute;
}
