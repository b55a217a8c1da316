/* direct.h - kernels for short filters, which sum the products of taps and samples directly: choice, bank (the taps), launch. */
#pragma once

#include "gpu/ols/kernels/kernels.h"

/** Return whether a direct kernel exists for the spec. */
bool lw_direct_suits(const struct lw_cuda_ols_spec *spec);

double lw_direct_seconds_per_output(const struct lw_cuda_ols_spec *spec);
size_t lw_direct_bank_bytes(const struct lw_cuda_ols_spec *spec);

/* These take the parameters of lw_cuda_ols_prepare and lw_cuda_ols_launch (gpu/ols/kernels/kernels.h). */
int lw_direct_prepare(const struct lw_cuda_ols_plan *plan, const double *taps, void *bank, struct CUstream_st *stream);
int lw_direct_launch(const struct lw_cuda_ols_plan *plan, const struct lw_cuda_ols_block *block, struct CUstream_st *stream);

/* ---- the compiled kernels ---- */

struct DirectArgs;

struct DirectKernel {
    enum lw_precision precision;
    bool complex_signal, complex_taps;      /* complex taps need a complex signal: a real one is read as complex */
    int pad;                                /* most taps that the kernel holds */
    int tile;                               /* direct_fast: outputs of a block */
    void (*fast)(const DirectArgs), (*slow)(const DirectArgs);
};

struct DirectKernels {
    const DirectKernel *list;
    int n;
};

extern const DirectKernels lw_direct_real, lw_direct_complex;
