/* direct.h - kernels that convolve with short filters by direct sums (sum.cuh): their choice, their bank of taps, their launch. */
#pragma once

#include "gpu/ols/kernels/kernels.h"

/** Return whether a direct kernel exists for the spec. */
bool lw_direct_suits(const struct lw_cuda_ols_spec *spec);

double lw_direct_seconds_per_output(const struct lw_cuda_ols_spec *spec);       /* seconds by the model, one output of one filter */
size_t lw_direct_bank_bytes(const struct lw_cuda_ols_spec *spec);

/** Do the work of lw_cuda_ols_put and lw_cuda_ols_launch (gpu/ols/kernels/kernels.h) for plans with path LW_CUDA_DIRECT. */
int lw_direct_put(const struct lw_cuda_ols_plan *plan, const double *taps, int64_t first, int n, void *bank,
                  struct CUstream_st *stream);
int lw_direct_launch(const struct lw_cuda_ols_plan *plan, const struct lw_cuda_ols_block *block, struct CUstream_st *stream);

/* ---- the compiled kernels ---- */

struct DirectArgs;

struct DirectKernel {
    enum lw_precision precision;
    bool complex_signal, complex_taps;      /* a real signal for complex taps is read as complex: both fields are then set */
    int pad;                                /* most taps of a filter */
    int tile;                               /* outputs that a thread block of `fast` computes */
    void (*fast)(const DirectArgs), (*slow)(const DirectArgs);      /* kernels for LW_TIME_FAST and LW_TIME_SLOW */
    void (*narrow_fast)(const DirectArgs), (*narrow_slow)(const DirectArgs);    /* the same for outputs of a narrow type */
};

struct DirectKernels {
    const DirectKernel *list;
    int n;
};

extern const DirectKernels lw_direct_real, lw_direct_complex;
