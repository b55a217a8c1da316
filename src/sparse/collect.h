/* collect.h - samples of a sparse run, from the file to the rank that needs them. */
#pragma once

#include "sfft/reading.h"
#include "sparse/state.h"

/** List the samples that this rank reads for the first n_attempts attempts of a layout, and what is read for them at one go.
 * `samples` may be released whatever the outcome. Not collective. */
int lw_sparse_list(struct lw_sparse *run, const struct lw_sfft_layout *layout, int n_attempts, struct lw_sfft_samples *samples,
                   struct lw_error *err);

/** Bring the listed samples of channels [channel, channel + n_channels) to the ranks that own these. Collective.
 * @param samples  this rank's list
 * @param values   [n_channels][samples->total](re, im) as stored; that of channel c is complete on the owner of c */
int lw_sparse_collect(struct lw_sparse *run, const struct lw_sfft_samples *samples, int64_t channel, int64_t n_channels,
                      double *values, struct lw_error *err);

/** Read all samples of a channel into run->whole; every rank another channel, or none (-1). Samples that are not finite are zero;
 * LW_EDATA where --nan does not allow it. Collective. */
int lw_sparse_collect_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err);

/** LW_EDATA if some of the samples taken so far, run->flaws, are not finite, and --nan does not allow it. Collective. */
int lw_sparse_check_finite(struct lw_sparse *run, struct lw_error *err);

/** Make samples zero that are not finite, of [n_samples] (re, im). @return  how many there were */
int64_t lw_sparse_remove_not_finite(double *values, int64_t n_samples);
