/* passes.h - 2-D convolution with a kernel that is the product of a column and a row: a pass along the columns
 * and one along the rows. */
#ifndef LW_GPU_CONV2D_PASSES_H
#define LW_GPU_CONV2D_PASSES_H

#include "engine/engine.h"
#include "gpu/conv2d/block.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Allow the kernels their shared memory on the current device. */
cudaError_t lw_conv2d_passes_prepare(enum lw_precision precision);

/** Convolve a block; column tap m meets row i + m and row tap n column j + n of the window of output (i, j).
 * @param column  [kernel_rows], device, computing precision, complex if the kernel is
 * @param row     [kernel_columns], likewise */
cudaError_t lw_conv2d_passes(const struct lw_conv2d_block *block, enum lw_precision precision, bool kernel_complex,
                             const void *column, const void *row, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
