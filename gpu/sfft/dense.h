/* dense.h - the dense transform on the GPU: all samples are transformed, and the largest coefficients are selected. */
#pragma once

#include "engine/sparse.h"
#include "gpu/host/device.h"
#include "gpu/sfft/launch.h"

/** The CUDA engine's dense transform. A call allocates and frees device memory; without wants_spectrum it only reads `samples`. */
extern const struct lw_dense_ops lw_cuda_dense_ops;

/* ---- kernels ---- */

/* Coefficients are ordered by a key of LW_SFFT_DENSE_DIGITS digits of 16 bits, top digit first: the bits of |X|^2, then those of
 * the complemented frequency, so that the lower of equals wins. */
enum { LW_SFFT_DENSE_DIGITS = 7, LW_SFFT_DENSE_VALUES = 65536, LW_SFFT_DENSE_PARTS = 1024 };

struct lw_sfft_dense_digits {
    unsigned short digit[LW_SFFT_DENSE_DIGITS];
};

struct lw_sfft_dense_spectrum {
    const double2 *values;      /* [n_bins], on the device */
    int64_t n_bins;
    double least;               /* least |X|^2 of a coefficient to be selected; coefficients of 0 never are */
    int64_t n_single;           /* 0: each bin occurs once in the whole spectrum; else twice, except bins 0 and n_single - 1 */
};

LW_C_BEGIN

/** Count coefficients that have the first n_digits digits given: counts[value] += those whose next digit is `value`. */
cudaError_t lw_sfft_dense_count(const struct lw_sfft_dense_spectrum *spectrum, const struct lw_sfft_dense_digits *digits,
                                int n_digits, unsigned long long *counts, cudaStream_t stream);

/** List the coefficients whose key is at least `digits` (the whole key), in any order; *count, 0 before, becomes their number. */
cudaError_t lw_sfft_dense_collect(const struct lw_sfft_dense_spectrum *spectrum, const struct lw_sfft_dense_digits *digits,
                                  struct lw_sfft_line *lines, unsigned long long *count, cudaStream_t stream);

/** Write LW_SFFT_DENSE_PARTS partial sums of the whole spectrum's energy. */
cudaError_t lw_sfft_dense_energy(const struct lw_sfft_dense_spectrum *spectrum, double *sums, cudaStream_t stream);

LW_C_END
