/* passes.h - 2-D convolution with a kernel that is the product of a column and a row: a pass along the columns
 * and one along the rows. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"
#include "gpu/conv2d/block.h"

LW_C_BEGIN

/** Allow the kernels their shared memory on the current device. */
cudaError_t lw_conv2d_passes_prepare(enum lw_precision precision);

/** Convolve a block; column tap m meets row i + m and row tap n column j + n of the window of output (i, j).
 * @param column  [kernel_rows], device, computing precision, complex if the kernel is
 * @param row     [kernel_columns], likewise */
cudaError_t lw_conv2d_passes(const struct lw_conv2d_block *block, enum lw_precision precision, bool kernel_complex,
                             const void *column, const void *row, cudaStream_t stream);

LW_C_END
