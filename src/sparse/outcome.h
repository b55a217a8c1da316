/* outcome.h - what became of the channels: lines and figures, from the rank that has them to all, and to the result: a table of
 * lines, and one of channels (job/line_rows.h has their rows). */
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

/* What became of all channels together, by run->all. */
struct lw_sparse_totals {
    double lines;
    double residual, detection_limit, samples, attempts;            /* the most of any channel */
    double unexplained_residual;    /* the most of any that is not explained */
    int64_t unexplained, dense, off_grid, refined, dense_refined;   /* channels */
};
struct lw_sparse_totals lw_sparse_add_up(const struct lw_sparse *run);

/** Whether so many attempts have been made at a channel, or it needs no more. */
bool lw_sparse_is_tried(const struct lw_sparse *run, int64_t channel, int n_attempts);

/** This rank's next channel from `from` on at which that is not so; -1: none. */
int64_t lw_sparse_next_untried(const struct lw_sparse *run, int64_t from, int n_attempts);

/** This rank's next channel from `from` on that is neither explained nor dense; -1: none. */
int64_t lw_sparse_next_unexplained(const struct lw_sparse *run, int64_t from);

/** Bytes of rows on their way to the table. */
int64_t lw_sparse_table_bytes(const struct lw_sparse *run);

/** Bytes of both tables, if each channel has as many lines as are asked for. */
int64_t lw_sparse_most_written(const struct lw_sparse *run);

/** Create the file and write both tables. Collective. */
int lw_sparse_write(struct lw_sparse *run, struct lw_error *err);
