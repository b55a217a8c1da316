/* direct.h - the direct kernels for short filters: when they suit, their bank (the taps), their launch. */
#pragma once

#include "gpu/ols/kernels/kernels.h"

/** Whether a direct kernel exists for the spec. */
bool lw_direct_suits(const struct lw_cuda_ols_spec *spec);

double lw_direct_seconds_per_output(const struct lw_cuda_ols_spec *spec);
size_t lw_direct_bank_bytes(const struct lw_cuda_ols_spec *spec);

/* as the functions of gpu/ols/kernels/kernels.h */
int lw_direct_prepare(const struct lw_cuda_ols_plan *plan, const double *taps, void *bank, struct CUstream_st *stream);
int lw_direct_launch(const struct lw_cuda_ols_plan *plan, const struct lw_cuda_ols_block *block, struct CUstream_st *stream);

/* ---- the compiled kernels ---- */

struct DirectArgs;

struct DirectKernel {
    enum lw_precision precision;
    bool complex_signal, complex_taps;      /* complex taps go with a complex signal, made so if it is real */
    int pad;                                /* most taps */
    int tile;                               /* outputs of a block, time fast */
    void (*fast)(const DirectArgs), (*slow)(const DirectArgs);
};

struct DirectKernels {
    const DirectKernel *list;
    int n;
};

extern const DirectKernels lw_direct_real, lw_direct_complex;
