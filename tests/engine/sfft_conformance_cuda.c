#include "sfft_conformance.h"

/* Emulated on the CPU, kernels take a thousand times longer. */
#ifdef LW_EMULATED
enum { DIVISOR = 25 };
#else
enum { DIVISOR = 1 };
#endif

int main(void) { return sfft_conformance(LW_ENGINE_CUDA, DIVISOR); }
