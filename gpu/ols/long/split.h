/* split.h - long segments by kernels of our own: a transform of N = rows x columns points in two
 * steps, the second of which multiplies by the filters and starts the way back, so that data moves three times instead of six.
 *
 *     n = columns n1 + n2, k = k1 + rows k2
 *     gather   samples -> transforms of the columns (over n1) -> twiddles -> spectra[k1][n2]
 *     filter   transforms of the rows (over n2) -> times H[f] -> rows back -> twiddles -> products[f][k1][n2]
 *     scatter  columns back (over k1) -> valid outputs
 *
 * Buffers hold items (see gpu/ols/long/steps.h) one after the other: [item][rows][columns] complex, products [f][item]... All calls
 * are asynchronous on the stream; lw_split_prepare comes first and may be called again. */
#pragma once

#include "base/linkage.h"
#include "gpu/ols/long/steps.h"

LW_C_BEGIN

/** The split of a segment length; false: there is none. */
bool lw_split_exists(enum lw_precision precision, int64_t segment);

/** Bytes of the twiddle tables that lw_split_prepare fills. */
int64_t lw_split_table_bytes(enum lw_precision precision, int64_t segment);

/** Fill the tables and allow the kernels their shared memory, on the current device. */
cudaError_t lw_split_prepare(enum lw_precision precision, int64_t segment, void *table, cudaStream_t stream);

/** One filter's spectrum from natural order in double, padded[i], to the order that `filter` reads, divided by N. */
cudaError_t lw_split_order(enum lw_precision precision, int64_t segment, const void *padded, void *spectrum,
                           cudaStream_t stream);

/** Samples of items first .. first + n - 1 to `spectra`. Time-slow blocks of several channels are cut by lw_long_load into
 * `spectra` first, and transformed in place with input = NULL. */
cudaError_t lw_split_gather(const struct lw_long_geometry *geometry, const void *table, const void *input,
                            int64_t first, int n, void *spectra, unsigned *not_finite, cudaStream_t stream);

/** @param bank  spectra of the filters, [n_filters][N]
 *  @param products  [n_filters][n][N] */
cudaError_t lw_split_filter(enum lw_precision precision, int64_t segment, const void *table, const void *bank,
                            const void *spectra, int n, int n_filters, void *products, cudaStream_t stream);

/** Products of one filter to one plane. With plane = NULL they are transformed in place, for lw_long_store. */
cudaError_t lw_split_scatter(const struct lw_long_geometry *geometry, const void *table, int64_t first, int n,
                             void *products, void *plane, cudaStream_t stream);

LW_C_END
