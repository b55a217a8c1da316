/* block.h - one block of images on the device, as all convolution kernels see it.
 *
 * The input holds the rows that the outputs need, kernel_rows - 1 + count of them per image, and all columns of the
 * image; what lies beside an image is made by the kernels. Output (i, j) needs rows i .. i + kernel_rows - 1 of the
 * input and columns first_column + j .. first_column + j + kernel_columns - 1 of the image continued beyond its
 * sides. The rows of an image may be some of those that lie in memory. */
#pragma once

#include "base/type.h"
#include "signal/convolution.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

struct lw_conv2d_block {
    const void *input;          /* [n_channels][input_pitch][columns], stored type in this machine's byte order */
    int64_t input_first, input_pitch;   /* the row of the input that is the first image's first, and rows from image to image */
    int64_t own_row;            /* row of an image that is the first of the block's own samples; those before it are its halo */
    void *output;               /* [n_channels][count][output_columns], computing precision */
    unsigned *not_finite;       /* set to 1 where a pixel that is not finite was met and counted as zero */
    enum lw_scalar scalar;      /* of the input */
    bool input_complex, output_complex;
    enum lw_boundary boundary;
    double outside;             /* boundary ZERO: the value of all pixels beyond the four sides */
    int64_t rows, columns;      /* of an image */
    int64_t first_row;          /* position in the image of row 0 of the input */
    int64_t first_column;       /* and of the first column that output column 0 needs */
    int64_t output_columns;
    int64_t kernel_rows, kernel_columns;
    int64_t count, n_channels;  /* of the block */
    int exponent;               /* the taps were divided by 2^exponent: the outputs are multiplied by it */
};
