/* collect.h - samples of a sparse run, from the file to the rank that needs them. Those that are not finite are counted, and
 * are zero. */
#ifndef LW_RUN_SPARSE_COLLECT_H
#define LW_RUN_SPARSE_COLLECT_H

#include "run/sparse/state.h"
#include "sfft/samples.h"

/** Samples of the axis across which reading goes on rather than starting anew. */
int64_t lw_sparse_gap(const struct lw_sparse *run);

/** The samples that this rank reads for the first so many attempts of a layout. */
struct lw_sfft_samples_spec lw_sparse_wanted(const struct lw_sparse *run, const struct lw_sfft_layout *layout, int n_attempts);

/** Bring the samples of the stages of the first n_attempts attempts of channels [channel, channel + n_channels) to the
 * ranks that own these. LW_EDATA: some are not finite, and --nan does not allow it. Collective.
 * @param values  [n_channels][samples of the attempts](re, im); that of channel c is complete on the owner of c */
int lw_sparse_collect(struct lw_sparse *run, const struct lw_sfft_layout *layout, int n_attempts, int64_t channel,
                      int64_t n_channels, double *values, struct lw_error *err);

/** Read all samples of a channel into run->whole; every rank another channel, or none (-1). Collective. */
int lw_sparse_collect_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err);

#endif
