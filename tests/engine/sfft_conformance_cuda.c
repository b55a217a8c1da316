#include "sfft_conformance.h"

/* Emulated on the CPU, kernels take longer. */
#ifdef LW_EMULATED
enum { DIVISOR = 10 };
#else
enum { DIVISOR = 1 };
#endif

int main(void) { return sfft_conformance(LW_ENGINE_CUDA, DIVISOR); }
