/* direct.h - 2-D convolution by sums in the space domain. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"
#include "gpu/conv2d/block.h"

LW_C_BEGIN

/* Largest side of the kernels that are taken unrolled, with their taps as kernel parameters: float, real image and
 * kernel. */
#define LW_CONV2D_MOST_SIDE 9

/* The same of separable ones, which are taken by a column and a row. */
#define LW_CONV2D_MOST_PRODUCT_SIDE 31

/** Side of the unrolled kernel that a kernel is padded to with zeros; 0: there is none. */
int lw_conv2d_unrolled_side(int64_t kernel_rows, int64_t kernel_columns);
int lw_conv2d_product_side(int64_t kernel_rows, int64_t kernel_columns);

/** Convolve a block with `side` x `side` taps: tap (m, n) meets row i + m and column j + n of the window of output (i,
 * j).
 * @param taps  [side][side], host, read before return */
cudaError_t lw_conv2d_unrolled(const struct lw_conv2d_block *block, int side, const float *taps, cudaStream_t stream);

/** Convolve a block with the taps column[m] * row[n].
 * @param column  [side], host, read before return
 * @param row     [side], likewise */
cudaError_t lw_conv2d_product(const struct lw_conv2d_block *block, int side, const float *column, const float *row,
                              cudaStream_t stream);

/** Convolve a block with any kernel.
 * @param taps  [kernel_rows][kernel_columns], device, computing precision, complex if the kernel is; order as above */
cudaError_t lw_conv2d_direct(const struct lw_conv2d_block *block, enum lw_precision precision, bool kernel_complex,
                             const void *taps, cudaStream_t stream);

LW_C_END
