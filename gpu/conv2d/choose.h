/* choose.h - which kernels and tile a convolution of images gets on the CUDA engine. */
#pragma once

#include "base/linkage.h"
#include "gpu/conv2d/tiles.h"
#include "gpu/host/device.h"

LW_C_BEGIN

enum lw_conv2d_method {
    LW_CONV2D_UNROLLED,         /* direct sums with small kernels */
    LW_CONV2D_DIRECT,           /* with any */
    LW_CONV2D_PRODUCT,          /* sums with small separable kernels */
    LW_CONV2D_PASSES,           /* with any of them: along the columns, then along the rows */
    LW_CONV2D_TILES,            /* in shared memory */
    LW_CONV2D_BANDS,            /* three passes */
};

struct lw_conv2d_plan {
    enum lw_conv2d_method method;
    int side;                   /* UNROLLED, PRODUCT: of the kernel, padded */
    struct lw_conv2d_grid grid; /* TILES, BANDS */
    int64_t batch;              /* BANDS: transforms in the work area */
    double seconds;             /* modelled, per output pixel */
};

/** Choose by spec and architecture alone. LW_ECONFIG if the algorithm asked for does not fit the kernel. */
int lw_conv2d_choose(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                     struct lw_error *err);

/** Whether it is by tiles that have a multiprocessor for themselves. */
bool lw_conv2d_is_large(const struct lw_conv2d_plan *plan);

/** Move the grid of such tiles: where an image's rows begin at multiples of 16 bytes, so do the rows of their windows; where rows
 * of outputs begin at multiples of 32 bytes, so do the rows of their outputs. The kernel gets `delay_columns` of zeros before its
 * first column, by which outputs come later in the tile, and a window begins `spare_columns` before what its first output needs. */
void lw_conv2d_align(const struct lw_conv2d_spec *spec, struct lw_conv2d_grid *grid);

/** In words, for plan and log. */
void lw_conv2d_describe(const struct lw_conv2d_plan *plan, const struct lw_op_spec *spec, char *text, size_t size);

LW_C_END
