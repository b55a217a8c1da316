#include "conformance.h"

#include "../gpu/gpu.h"

int main(void)
{
    const int missing = gpu_missing("accuracy_cuda");
    return missing ? missing : accuracy(LW_ENGINE_CUDA);
}
