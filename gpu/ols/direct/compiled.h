/* compiled.h - the compiled direct kernels. */
#pragma once

#include "gpu/ols/kernels/kernels.h"

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
