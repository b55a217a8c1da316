/* kernels.c - the table of functions of one precision and instruction set. Compiled per precision and instruction set. */
#include "cpu/kernels/real.h"

extern const struct lw_cpu_kernels KERNEL(lw_kernels);

const struct lw_cpu_kernels KERNEL(lw_kernels) = {
    .real_bytes = sizeof(real),
    .safe_exponent = REAL_SAFE_EXPONENT,
    .direct_step = LW_DIRECT_STEP,
    .make = KERNEL(lw_make),
#define X(name) .name = KERNEL(lw_##name),
    LW_CPU_KERNELS(X)
#undef X
};
