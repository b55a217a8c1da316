/* values.h - stored samples in memory as numbers. Any thread may call, for places that are its own. */
#pragma once

#include "sfft/reading.h"
#include "sparse/state.h"

/* What a read brought: sample i of channel c is in the bytes from memory + i x axis_bytes + c x channel_bytes on. */
struct lw_sparse_block {
    const char *memory;
    int64_t axis_bytes, channel_bytes;
    int64_t n_channels;
};

/** Put the wanted samples of a span to their places.
 * @param block   from the span's first sample on
 * @param values  [n_channels][samples->total](re, im) */
void lw_sparse_scatter(const struct lw_sparse *run, const struct lw_sfft_samples *samples, const struct lw_sfft_span *span,
                       const struct lw_sparse_block *block, double *values);

/** Put all samples of a block, [first, first + count) of its only channel, into run->whole, zero for those that are not finite.
 * @return  how many these are */
int64_t lw_sparse_convert(const struct lw_sparse *run, const struct lw_sparse_block *block, int64_t first, int64_t count);

/** Make samples zero that are not finite, of [n_samples] (re, im). @return  how many there were */
int64_t lw_sparse_remove_not_finite(double *values, int64_t n_samples);
