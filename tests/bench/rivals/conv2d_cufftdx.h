/* conv2d_cufftdx.h - the kernels of 2-D convolution made of cuFFTDx; each unit that compiles some adds them to these lists. */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>
#include <vector>

/* The image's kernel is delayed, so that its centre lies in the middle of the `discard` outputs of a transform that are wrong in
 * either direction: all accesses are then aligned. */
struct DxImage {
    const float *image;             /* [rows][columns] */
    float *output;
    float2 *forward, *back;         /* passes: [rows][across][bins of a row + DX_PADDING], before and after the columns */
    const float4 *spectrum;         /* [column][points / 2 of a thread][thread]: two bins each, scaled */
    int columns, rows, across, discard;
};

enum { DX_PADDING = 8 };

struct DxTileKernel {
    int n, points, rows_at_once, discard, shared_bytes;
    const char *text;
    void (*run)(DxImage);
};

/* Rows have 2 n real points, columns n complex ones; a block has `at_once` of them. */
struct DxRowKernel {
    int n, points, at_once, forward_bytes, back_bytes;
    const char *text;
    void (*forward)(DxImage), (*back)(DxImage);
};
struct DxColumnKernel {
    int n, points, at_once, shared_bytes;
    const char *text;
    void (*run)(DxImage, int);
};

struct DxImageKernels {
    std::vector<DxTileKernel> tiles;
    std::vector<DxRowKernel> rows;
    std::vector<DxColumnKernel> columns;
};

DxImageKernels &dx_image_kernels();
