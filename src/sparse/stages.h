/* stages.h - the lines of channels from the stages of sfft/sfft.h: each rank reads the wanted samples of its part of the axis,
 * they are summed on the channel's rank (each sample has one owner, so the sum is exact), which recovers the lines; channels
 * that these do not explain get all attempts. The method lw_sparse_stages of state.h. */
#ifndef LW_SPARSE_STAGES_H
#define LW_SPARSE_STAGES_H

#include "sparse/state.h"

/** Samples of a channel that the first so many attempts take. */
int64_t lw_sparse_attempt_samples(const struct lw_sfft_plan *plan, int n_attempts);

/** Make samples zero that are not finite, of [n_samples] (re, im). @return  how many there were */
int64_t lw_sparse_remove_not_finite(double *values, int64_t n_samples);

#endif
