/* compiled.h - the compiled kernel of a plan, and how its bank lies. Pure. */
#pragma once

#include "gpu/ols/kernels/launch.h"

/* How values lie in the bank of an overlap-save kernel, in values of the computing precision (complex); see
 * gpu/ols/kernels/kernels.cu. */
struct OlsBankLayout {
    int back_powers;                /* first value of the twiddle powers of a way back that has its own, after the others */
    int spectra;                    /* first value of the spectra, after those of the twiddle powers */
    size_t roots_bytes;             /* where the roots of unity begin, bytes */
    size_t bytes;
};

/** The kernel of a plan whose path is LW_CUDA_SEGMENTS. */
const OlsKernel *lw_ols_kernel_of(const struct lw_cuda_ols_plan *plan);

OlsBankLayout lw_ols_bank_layout(const OlsKernel *kernel, int n_filters);
