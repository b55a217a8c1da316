/* prepared.h - a kernel on the device as the method of a plan wants it, and the convolution with it. */
#pragma once

#include "base/linkage.h"
#include "gpu/conv2d/block.h"
#include "gpu/conv2d/choose.h"
#include "gpu/conv2d/direct.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

struct lw_conv2d_prepared {
    struct lw_op_spec spec;         /* its kernel is gone */
    struct lw_conv2d_plan plan;
    int exponent;                   /* taps on the device, and spectra, were divided by 2^exponent */
    float unrolled[LW_CONV2D_MOST_SIDE * LW_CONV2D_MOST_SIDE];  /* UNROLLED: [side][side]; PRODUCT: the column, then the row */

    /* device, borrowed */
    void *bank;                     /* taps, a column, or spectrum and tables, as the method wants them */
    void *row;                      /* PASSES: the row's taps */
    void *work;                     /* BANDS: one area for all blocks */
    double *sums, sum;              /* to interpolate, see struct lw_conv2d_flaws */
};

/** Device bytes of what is kept, and of what only lw_conv2d_prepare needs. */
int64_t lw_conv2d_prepared_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan);
int64_t lw_conv2d_setup_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan);

/** @param memory  device, borrowed for the life of `out`
 * @param setup   device, in use until `stream` has come by */
int lw_conv2d_prepare(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, void *memory, void *setup,
                      cudaStream_t stream, struct lw_conv2d_prepared *out, struct lw_error *err);

/** What the kernels are told about a block, without its buffers.
 * @param first  output row of the image */
struct lw_conv2d_block lw_conv2d_block_of(const struct lw_op_spec *spec, int64_t first, int64_t count,
                                          int64_t n_channels);

/** Enqueue the convolution of a block whose buffers are set: pixels that are not finite count as zero. Blocks on
 * different streams share the work area: one waits for the other. */
int lw_conv2d_run(const struct lw_conv2d_prepared *prepared, const struct lw_conv2d_block *block, cudaStream_t stream,
                  struct lw_error *err);

LW_C_END
