/* ols_cufftdx.h - the fused overlap-save kernels made of cuFFTDx; each unit that compiles some adds them to this list. */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>
#include <vector>

/* Kind of transform: of complex samples; of two real segments as one complex transform; of 2 N real samples, with packed
 * spectra. */
enum DxKind { DX_COMPLEX, DX_PAIRS, DX_FOLDED };

struct DxArguments {
    const float *x;                 /* [n_taps - 1 + count] */
    const float4 *bank;             /* [filter][points / 2 of a thread][thread]: two bins each */
    float *y;                       /* [filter][count] */
    int64_t count, halo;
    int n_filters, at_once;         /* filters in all, and of a block */
};

struct DxKernel {
    int kind, n, points, ffts, discard;     /* complex length, points of a thread, transforms of a block, dropped points */
    int unit;                               /* outputs of a transform */
    int shared_bytes;
    const char *text;
    void (*run)(DxArguments);
};

std::vector<DxKernel> &dx_kernels();
