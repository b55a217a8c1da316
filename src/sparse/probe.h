/* probe.h - the noise of the channels before their lines are searched for (sfft/probe.h), from a few samples of some of them. */
#pragma once

#include "sparse/state.h"

/** Signal to noise of the channel in the middle of those that are tried, dB; the same on all ranks. The reads are as the plan so
 * far has them, in buffers that live no longer than the call. Collective.
 * @return  LW_EIO, LW_EDATA, LW_ESYSTEM */
int lw_sparse_probe(struct lw_sparse *run, double *snr_db, struct lw_error *err);

/** Samples of a channel that this takes: 0 where it is not tried. */
int64_t lw_sparse_probe_samples(const struct lw_sparse *run, int64_t channel);
