#include "conformance.h"

#include "../gpu/gpu.h"

int main(void)
{
    const int missing = gpu_missing("conformance_cuda");
    return missing ? missing : conformance(LW_ENGINE_CUDA);
}
