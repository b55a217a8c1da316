/* direct.h - kernels that convolve with short filters by direct sums (sum.cuh): choice, bank of the taps, launch. */
#pragma once

#include "gpu/ols/kernels/kernels.h"

/** Return whether a direct kernel exists for the spec. */
bool lw_direct_suits(const struct lw_cuda_ols_spec *spec);

double lw_direct_seconds_per_output(const struct lw_cuda_ols_spec *spec);       /* modelled, for one output of one filter */
size_t lw_direct_bank_bytes(const struct lw_cuda_ols_spec *spec);

/* The parameters are documented at lw_cuda_ols_prepare and lw_cuda_ols_launch (gpu/ols/kernels/kernels.h). */
int lw_direct_prepare(const struct lw_cuda_ols_plan *plan, const double *taps, void *bank, struct CUstream_st *stream);
int lw_direct_launch(const struct lw_cuda_ols_plan *plan, const struct lw_cuda_ols_block *block, struct CUstream_st *stream);

/* ---- the compiled kernels ---- */

struct DirectArgs;

struct DirectKernel {
    enum lw_precision precision;
    bool complex_signal, complex_taps;      /* complex taps need a complex signal: a real one is read as complex */
    int pad;                                /* most taps that the kernel holds */
    int tile;                               /* outputs of a thread block of direct_fast */
    void (*fast)(const DirectArgs), (*slow)(const DirectArgs);      /* LW_TIME_FAST, LW_TIME_SLOW */
};

struct DirectKernels {
    const DirectKernel *list;
    int n;
};

extern const DirectKernels lw_direct_real, lw_direct_complex;
