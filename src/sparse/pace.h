/* pace.h - how the samples of a sparse run are read: straight from their place in the file or by the format's library, and
 * across which gaps reading goes on. Nothing here changes a result. */
#pragma once

#include "sfft/reading.h"
#include "sparse/state.h"

/** Whether the I/O threads can read the samples where they lie: sets is_raw and place, alike on all ranks. Collective. */
int lw_sparse_locate(struct lw_sparse *run, struct lw_error *err);

/** Set run->pace, of rank 0 on all ranks: by a trial where a part of many samples will be read from their place. Collective. */
int lw_sparse_find_pace(struct lw_sparse *run, struct lw_error *err);

/** Whether each channel is read by itself; else a read has samples of several, all of one piece. */
bool lw_sparse_reads_each(const struct lw_sparse *run);

/** Samples of the axis across which reading goes on rather than starting anew. */
int64_t lw_sparse_gap(const struct lw_sparse *run);

/** Bytes of the file from the first to the last of so many channels of a sample. */
int64_t lw_sparse_extent(const struct lw_sparse *run, int64_t n_channels);

/* What is read of all channels, by all ranks. */
struct lw_sparse_reads {
    int64_t samples;                /* wanted */
    int64_t reads, bytes;
};

/** What a list says, of the samples that are this rank's. Collective. */
struct lw_sparse_reads lw_sparse_count_reads(const struct lw_sparse *run, const struct lw_sfft_samples *samples);

/** Say in the log what is read and why so: one line of rank 0. */
void lw_sparse_log_reads(const struct lw_sparse *run, const struct lw_sparse_reads *reads);

/** Seconds of so many reads of all ranks. */
double lw_sparse_read_seconds(const struct lw_sparse *run, int64_t n_reads, int64_t bytes);

/** What is read in rows of the plan command, with the time it will take. */
void lw_sparse_print_reads(const struct lw_sparse *run, const struct lw_sparse_reads *reads);
