#include "sfft_conformance.h"
#include "../gpu/gpu.h"

/* Emulated on the CPU, kernels take longer. */
#ifdef LW_EMULATED
enum { DIVISOR = 10 };
#else
enum { DIVISOR = 1 };
#endif

int main(void)
{
    const int missing = gpu_missing("sfft_conformance_cuda");
    return missing ? missing : sfft_conformance(LW_ENGINE_CUDA, DIVISOR);
}
