/* dense.h - the largest coefficients by the transform of all samples, on the GPU. */
#pragma once

#include "base/linkage.h"
#include "engine/sparse.h"
#include "gpu/host/device.h"
#include "gpu/sfft/launch.h"

/** Device memory is taken and given back by each transform. Without wants_spectrum `samples` is left as it is. */
extern const struct lw_dense_ops lw_cuda_dense_ops;

/* ---- kernels ---- */

/* Coefficients are ordered by the bits of |X|^2, equal ones by frequency downwards: by digits of 16 bits,
 * LW_SFFT_DENSE_DIGITS of them, from the top. */
enum { LW_SFFT_DENSE_DIGITS = 7, LW_SFFT_DENSE_VALUES = 65536, LW_SFFT_DENSE_PARTS = 1024 };

struct lw_sfft_dense_spectrum {
    const double2 *values;      /* [n_bins], on the device */
    int64_t n_bins;
    double least;               /* |X|^2 below which, and 0, a coefficient does not count */
    int64_t n_single;           /* 0: each bin stands once in the whole spectrum; else each twice but bins 0 and n_single - 1 */
};

LW_C_BEGIN

/** counts[value] += coefficients whose first digits are those given and whose next one is `value`. */
cudaError_t lw_sfft_dense_count(const struct lw_sfft_dense_spectrum *spectrum, const unsigned short *digits, int n_digits,
                                unsigned long long *counts, cudaStream_t stream);

/** The coefficients from a value on, all digits given, in any order; `count` of them, zero before. */
cudaError_t lw_sfft_dense_collect(const struct lw_sfft_dense_spectrum *spectrum, const unsigned short *digits,
                                  struct lw_sfft_line *lines, unsigned long long *count, cudaStream_t stream);

/** sums[LW_SFFT_DENSE_PARTS] of the energy of the whole spectrum. */
cudaError_t lw_sfft_dense_energy(const struct lw_sfft_dense_spectrum *spectrum, double *sums, cudaStream_t stream);

LW_C_END
