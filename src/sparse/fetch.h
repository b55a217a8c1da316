/* fetch.h - samples of a sparse run straight from their place in the file, by the I/O threads side by side: run->is_raw. */
#pragma once

#include "sfft/reading.h"
#include "sparse/state.h"

/** Read the listed samples of channels [channel, channel + n_channels). Shows the progress. LW_EIO; not collective.
 * @param values  [n_channels][samples->total](re, im): each sample goes to its place, other places stay as they are */
int lw_sparse_fetch(struct lw_sparse *run, const struct lw_sfft_samples *samples, int64_t channel, int64_t n_channels,
                    double *values, struct lw_error *err);

/** Read all samples of a channel into run->whole. Those that are not finite are counted in run->flaws, and zero. LW_EIO; not
 * collective. */
int lw_sparse_fetch_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err);
