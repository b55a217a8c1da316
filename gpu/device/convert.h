/* convert.h - element-wise conversions of device arrays, all asynchronous on `stream`. Nothing is launched for n = 0. */
#pragma once

#include "base/type.h"
#include "gpu/device/nan_report.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/** Reverse the bytes of n scalars in place. */
cudaError_t lw_cuda_swap_bytes(void *data, enum lw_scalar scalar, int64_t n, cudaStream_t stream);

/** Convert n scalars of the computing precision to `scalar`. For integers and halves, values are multiplied by `factor`, rounded to
 * nearest even and saturated; in integers, NaN becomes 0. The report counts saturated values and, for integers, NaN.
 * @param from  float or double by `precision`; must not overlap `to` */
cudaError_t lw_cuda_convert(const void *from, enum lw_precision precision, void *to, enum lw_scalar scalar, int64_t n,
                            double factor, struct lw_nan_report *report, cudaStream_t stream);

/* Choice of outputs: of each row, `kept` outputs, namely every `every`-th from output `first` on. */
struct lw_cuda_thinning {
    int64_t rows, row;              /* number of rows; outputs of a row */
    int64_t width;                  /* scalars of an output that stay together: its parts; for [axis][channel], of all channels */
    int64_t first, every, kept;
    bool squares;                   /* square each value; only from single precision to float64 */
    double factor;                  /* factor for integers and halves, as in lw_cuda_convert */
};

/** Convert the outputs that `thinning` keeps, as lw_cuda_convert does. */
cudaError_t lw_cuda_thin(const void *from, enum lw_precision precision, void *to, enum lw_scalar scalar,
                         const struct lw_cuda_thinning *thinning, struct lw_nan_report *report, cudaStream_t stream);

/* Choice of pixels: every `every`-th column from column 0 on of kept_rows rows, namely every `every`-th row from `first` on. */
struct lw_image_thinning {
    int64_t n_images, rows, columns;
    int parts;                      /* scalars of a pixel */
    int64_t first, every, kept_rows;
    double factor;                  /* factor for integers and halves, as in lw_cuda_convert */
};

/** Convert the pixels that `thinning` keeps, as lw_cuda_convert does.
 * @param from  [n_images][rows][columns][parts]
 * @param to    [n_images][kept_rows][columns / every, rounded up][parts] */
cudaError_t lw_cuda_thin_images(const void *from, enum lw_precision precision, void *to, enum lw_scalar scalar,
                                const struct lw_image_thinning *thinning, struct lw_nan_report *report, cudaStream_t stream);

/** Write the squares to[i] = from[i]^2, which float64 holds exactly. */
cudaError_t lw_cuda_square(const float *from, double *to, int64_t n, cudaStream_t stream);

LW_C_END
