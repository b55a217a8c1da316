/* convert.h - element-wise conversions on the device, all asynchronous on the stream. Nothing is launched for n = 0. */
#pragma once

#include "base/linkage.h"
#include "base/type.h"
#include "gpu/device/nan_report.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

LW_C_BEGIN

/** Reverse the bytes of n scalars in place. */
cudaError_t lw_cuda_swap_bytes(void *data, enum lw_scalar scalar, int64_t n, cudaStream_t stream);

/** Convert n scalars of the computing precision. Integers and halves: multiplied with `factor`, rounded to nearest even,
 * saturated; NaN becomes 0 in integers. How many of them is added to the report.
 * @param from  float or double by precision; must not overlap `to` */
cudaError_t lw_cuda_convert(const void *from, enum lw_precision precision, void *to, enum lw_scalar scalar, int64_t n,
                            double factor, struct lw_nan_report *report, cudaStream_t stream);

/* Rows of `row` outputs, of which every so many are kept, from output `first` on: `kept` of each row. */
struct lw_cuda_thinning {
    int64_t rows, row;
    int64_t width;                  /* scalars of an output that stay together: its parts, the channels */
    int64_t first, every, kept;
    bool squares;                   /* float64 of single precision: each is squared */
    double factor;                  /* of integers and halves, as for lw_cuda_convert */
};

/** Convert some of the outputs, as lw_cuda_convert does it. */
cudaError_t lw_cuda_thin(const void *from, enum lw_precision precision, void *to, enum lw_scalar scalar,
                         const struct lw_cuda_thinning *thinning, struct lw_nan_report *report, cudaStream_t stream);

/* Images of which rows and columns are kept: every so many columns from the first on, rows from row `first` on. */
struct lw_image_thinning {
    int64_t n_images, rows, columns;
    int parts;                      /* scalars of a pixel */
    int64_t first, every, kept_rows;
    double factor;                  /* of integers and halves, as for lw_cuda_convert */
};

/** Convert what is kept of the images, as lw_cuda_convert does it.
 * @param from  [n_images][rows][columns][parts]
 * @param to    [n_images][kept_rows][columns / every, rounded up][parts] */
cudaError_t lw_cuda_thin_images(const void *from, enum lw_precision precision, void *to, enum lw_scalar scalar,
                                const struct lw_image_thinning *thinning, struct lw_nan_report *report, cudaStream_t stream);

/** to[i] = from[i]^2, which float64 holds exactly. */
cudaError_t lw_cuda_square(const float *from, double *to, int64_t n, cudaStream_t stream);

LW_C_END
