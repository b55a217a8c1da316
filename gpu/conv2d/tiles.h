/* tiles.h - 2-D convolution by overlap-save on tiles that one block transforms in shared memory. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"
#include "gpu/conv2d/block.h"

LW_C_BEGIN

/* How a block's outputs are cut: pieces of hop_rows x hop_columns, on a grid that begins at its first output. Two real
 * ones, one above or beside the other, share a transform of the three passes. */
struct lw_conv2d_grid {
    int64_t rows, columns;              /* of a transform */
    int64_t hop_rows, hop_columns;
    int64_t n_across;                   /* pieces side by side */
    int pair_rows, pair_columns;        /* pieces of a transform: 1 x 1, 1 x 2 or 2 x 1 */
    int delay_columns, spare_columns;   /* of a large tile, see lw_conv2d_align */
    int transforms_across, transforms_down;     /* of an image; down: of the block at hand, see lw_conv2d_cut */
};

/** Transforms of the block, after setting how many there are down an image of it. */
int64_t lw_conv2d_cut(const struct lw_conv2d_block *block, struct lw_conv2d_grid *grid);

struct lw_conv2d_tile {
    int rows, columns;                  /* pixels */
};

/** The tiles of the precision, for real or complex pixels; the last one is 0 x 0. */
const struct lw_conv2d_tile *lw_conv2d_tile_shapes(enum lw_precision precision, bool is_complex);

/** Shared memory of a block that works on such a tile. */
int lw_conv2d_tile_shared_bytes(enum lw_precision precision, int rows, int columns);

/** Bytes of the kernel's spectrum and of tables, and of what only lw_conv2d_tile_prepare needs. */
int64_t lw_conv2d_tile_bytes(enum lw_precision precision, int rows, int columns);
int64_t lw_conv2d_tile_setup_bytes(int rows, int columns, int64_t kernel_rows);

/** Fill `bank` with the spectrum of the kernel after the grid's delay_columns of zeros, and allow the kernels their shared memory
 * on the current device.
 * @param taps  [kernel_rows][kernel_columns] (x 2 if complex), float64, device; divided by 2^exponent of the blocks
 * @param setup  lw_conv2d_tile_setup_bytes, device, until the work queued on `stream` has finished */
cudaError_t lw_conv2d_tile_prepare(enum lw_precision precision, const struct lw_conv2d_grid *grid, const double *taps,
                                   bool is_complex, int64_t kernel_rows, int64_t kernel_columns, void *setup, void *bank,
                                   cudaStream_t stream);

cudaError_t lw_conv2d_tiles(const struct lw_conv2d_block *block, const struct lw_conv2d_grid *grid,
                            enum lw_precision precision,
                            const void *bank, cudaStream_t stream);

LW_C_END
