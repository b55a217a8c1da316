/* strips.h - how long the strips are that sums with small kernels are made in (unrolled.cu). */
#pragma once

#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>

LW_C_BEGIN

enum { LW_CONV2D_STRIP_COLUMNS = 128 };

struct lw_conv2d_strips {
    int rows;                   /* of outputs in each, but for the last of an image */
    double seconds;             /* modelled, of all of them, if memory is not what they wait for */
};

/** The strips that take the least time, for n_channels images of n_rows x n_columns outputs and a kernel of side x side: long ones
 * walk through fewer rows of pixels twice, short ones leave fewer multiprocessors without a strip.
 * @param is_product  the kernel is taken by its column and its row */
struct lw_conv2d_strips lw_conv2d_cut_strips(int64_t n_rows, int64_t n_columns, int64_t n_channels, int side, bool is_product);

LW_C_END
