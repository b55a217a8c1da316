/* bands.h - 2-D convolution by overlap-save on large tiles, in three passes over a work area:
 *
 *     rows       pixels -> transforms of the rows -> work
 *     columns    work -> transforms of the columns -> times the kernel's spectrum -> columns back -> work
 *     back       work -> rows back -> outputs
 *
 * Padding, boundary and cropping are part of the first and the last pass; rows that no output needs are not touched, and rows
 * that tiles one above the other share are transformed once. */
#pragma once

#include "base/linkage.h"
#include "gpu/conv2d/tiles.h"

LW_C_BEGIN

/** Lengths of transforms, 0-ended: of rows (points side by side) and of columns. */
const int *lw_conv2d_row_lengths(enum lw_precision precision);
const int *lw_conv2d_column_lengths(enum lw_precision precision);

/** Shared memory of the block that needs most. */
int lw_conv2d_bands_shared_bytes(enum lw_precision precision, int rows, int columns);

/** Bytes of the kernel's spectrum and of tables, of what only prepare needs, and of the work area for `batch`
 * transforms. */
int64_t lw_conv2d_bands_bytes(enum lw_precision precision, int rows, int columns);
int64_t lw_conv2d_bands_setup_bytes(int rows, int columns, int64_t kernel_rows);
int64_t lw_conv2d_bands_work_bytes(enum lw_precision precision, const struct lw_conv2d_grid *grid, int64_t batch);

/** As lw_conv2d_tile_prepare. */
cudaError_t lw_conv2d_bands_prepare(enum lw_precision precision, int rows, int columns, const double *taps,
                                    bool is_complex, int64_t kernel_rows, int64_t kernel_columns, void *setup,
                                    void *bank, cudaStream_t stream);

/** Transforms first .. first + n - 1 of a block, which are numbered from top to bottom, then across, then from image to image. */
cudaError_t lw_conv2d_bands(const struct lw_conv2d_block *block, const struct lw_conv2d_grid *grid,
                            enum lw_precision precision,
                            const void *bank, int64_t first, int n, void *work, cudaStream_t stream);

LW_C_END
