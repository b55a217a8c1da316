#include "sfft2_conformance.h"

#include "../gpu/gpu.h"

/* test_sfft2_conformance_cuda [DIVISOR]. Emulated on the CPU, kernels take longer. */
#ifdef LW_EMULATED
enum { DIVISOR = 10 };
#else
enum { DIVISOR = 1 };
#endif

int main(int argc, char **argv)
{
    const int missing = gpu_missing("sfft2_conformance_cuda");
    return missing ? missing : sfft2_conformance(LW_ENGINE_CUDA, argc > 1 ? atoi(argv[1]) : DIVISOR);
}
