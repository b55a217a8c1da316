#include "conv2d_conformance.h"

#include "../gpu/gpu.h"

int main(void)
{
    const int missing = gpu_missing("conv2d_conformance_cuda");
    return missing ? missing : conv2d_conformance(LW_ENGINE_CUDA);
}
