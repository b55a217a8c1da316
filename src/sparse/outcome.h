/* outcome.h - what became of the channels: lines and figures, from the rank that has them to all. */
#pragma once

#include "sparse/state.h"

/** Channels that a rank has at most. */
int64_t lw_sparse_most_own(const struct lw_sparse *run);

/** Room for the lines of a channel of this rank: [sparsity]. */
struct lw_sfft_line *lw_sparse_lines_of(const struct lw_sparse *run, int64_t channel);

/** Take the lines and the figures of a result as what became of a channel of this rank. */
void lw_sparse_keep(struct lw_sparse *run, int64_t channel, const struct lw_sfft_result *result,
                    struct lw_sparse_outcome outcome);

/** What became of all channels, to all ranks: from `mine` to `all`. Collective. */
void lw_sparse_share_outcomes(struct lw_sparse *run);

/** Whether so many attempts have been made at a channel, or it needs no more. */
bool lw_sparse_is_tried(const struct lw_sparse *run, int64_t channel, int n_attempts);

/** This rank's next channel from `from` on at which that is not so; -1: none. */
int64_t lw_sparse_next_untried(const struct lw_sparse *run, int64_t from, int n_attempts);

/** This rank's next channel from `from` on that is neither explained nor dense; -1: none. */
int64_t lw_sparse_next_unexplained(const struct lw_sparse *run, int64_t from);
