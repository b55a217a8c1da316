/* spectra.h - kernels that take filters from stored taps to spectra, in double precision; filler.h makes batches. C header.
 *
 *     stored taps --spread--> values, complex double --transform--> bins 0 .. N - 1, in natural order
 *
 * All pointers are device memory, and all calls are asynchronous on `stream`. A filter's bits depend on its taps and N alone. */
#pragma once

#include "base/type.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* The stored taps of some filters. */
struct lw_cuda_taps {
    const void *data;               /* [n][n_taps] of `type` */
    struct lw_type type;
    bool is_reversed;               /* the filters are the stored taps conjugated and reversed */
    int64_t n_taps;
    int64_t every;                  /* D, if a derivative is folded into the filters (lw_post_fold); 0: none */
};

/** Write values[f][delay + m], row complex doubles from filter to filter, for the taps m of n filters with the folded derivative.
 * Other values stay as they are, except that the first `delay` of each row become 0.
 * @param delay  0 or 1 */
cudaError_t lw_cuda_spread(const struct lw_cuda_taps *taps, int n, int delay, int64_t row, void *values, cudaStream_t stream);

/** Write the filters for the two ends of the axis (lw_post_fold_end), [n][n_taps + every (x 2 if complex)] doubles. */
cudaError_t lw_cuda_spread_ends(const struct lw_cuda_taps *taps, int n, double *ends, cudaStream_t stream);

/** Return whether lw_cuda_spectra makes transforms of N points: products of 2 and 3. cuFFT makes the others. Pure. */
bool lw_cuda_has_spectra(int64_t n_points);

/** Transform n rows of N points, of which the first n_values are given and the others count as 0.
 * @param values, other  [n][N] complex doubles each; both are overwritten
 * @param spectra        set to `values` or `other`, where the transforms are */
cudaError_t lw_cuda_spectra(void *values, void *other, int64_t n_points, int64_t n_values, int n, void **spectra,
                            cudaStream_t stream);

LW_C_END
