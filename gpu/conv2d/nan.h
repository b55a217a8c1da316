/* nan.h - what becomes of pixels that are not finite. The kernels count them as zero and raise the flag; only
 * then do these look for them, and treat the outputs that they touch. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"
#include "gpu/conv2d/block.h"
#include "gpu/host/nan_report.h"

LW_C_BEGIN

/* Where the pixels that are not finite are noted, a bit each; device memory of lw_conv2d_flaws_bytes. */
struct lw_conv2d_flaws {
    struct lw_nan_report *report;
    enum lw_precision precision;
    enum lw_nan nan;
    uint32_t *bad;              /* [channel][row of the input][words]: columns of the window of output column 0, 1 .. */
    uint32_t *touched;          /* [channel][row of the input][words]: output columns with a bad pixel among their
                                   kernel_columns */
    const double *sums;         /* to interpolate: [kernel_rows][kernel_columns + 1], sums along the rows of the turned
                                   kernel */
    double sum;                 /* of the kernel */
};

/** Bytes that `bad` and `touched` take together; 0 for integers, which need none. */
int64_t lw_conv2d_flaws_bytes(const struct lw_conv2d_block *block);

/** Set `bad` and `touched` to parts of that memory. */
void lw_conv2d_flaws_place(const struct lw_conv2d_block *block, void *memory, struct lw_conv2d_flaws *flaws);

/** Enqueue the search, the report of the block's own pixels, and the treatment of the outputs, which are still in the
 * computing precision: NaN in every part, or divided by the part of the kernel that meets finite pixels (NaN where that
 * is below 1e-6 of its sum). The kernels read the flag on the device and end at once where it is zero. Launches nothing
 * for integer input. */
cudaError_t lw_conv2d_treat_flaws(const struct lw_conv2d_block *block, const struct lw_conv2d_flaws *flaws,
                                  cudaStream_t stream);

LW_C_END
