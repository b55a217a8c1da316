/* find.h - crossings of a convolved image in device memory (signal/search.h). C. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

struct lw_conv2d_search {
    const void *image;              /* device, [n_channels][count][columns] of the computing precision */
    enum lw_precision precision;
    bool is_complex;
    int64_t n_channels, count, columns;
    int64_t first_row, channel;     /* of the whole data set: its first */
    const void *scales;             /* device, [channels of the data set], see gpu/host/noise_scales.h */
    int64_t begin, end;             /* rows of the image, 0 .. count: others give no crossings */
    enum lw_sign sign;              /* pixels of another one give none, too */

    struct lw_crossing *rows;       /* device: the table */
    int64_t most_rows;
    unsigned long long *n_rows;     /* device: goes on counting where there is no more room */
};

/** Append the pixels y with |y| scale >= 1, and perhaps some that are less by rounding errors: lw_peaks_pick tests exactly.
 * Asynchronous on the stream. */
cudaError_t lw_conv2d_find(const struct lw_conv2d_search *search, cudaStream_t stream);

LW_C_END
