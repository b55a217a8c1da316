/* scatter.h - reading little here and there in a file, or going on from one place to the next: what either costs, by two
 * numbers of the storage, which a short trial on the file itself finds.
 *
 *     wanted        x        x   x                        x
 *     reads        [x]      [x...x]                      [x]      across a gap where that takes less than another read */
#pragma once

#include "base/pool.h"

/* What the threads of a pool reach together. */
struct lw_bytes_pace {
    double bytes_per_s;             /* one after the other, in each thread's part of the file */
    double reads_per_s;             /* of few bytes each, here and there */
    bool is_ahead;                  /* reads are announced, many at a time, before they are made: lw_bytes_announce */
    bool is_measured;
};

/** What is taken for granted without a trial: a file in memory, read by one call of a library after the other. */
extern const struct lw_bytes_pace lw_bytes_assumed_pace;

/** Bytes that are read on in the time of one more read. */
int64_t lw_bytes_gap(const struct lw_bytes_pace *pace);

/** Seconds of so many reads that take so many bytes together. */
double lw_bytes_seconds(const struct lw_bytes_pace *pace, int64_t n_reads, int64_t bytes);

/* A part of a file, and how much one of the reads here and there takes of it. */
struct lw_bytes_part {
    int fd;
    int64_t offset, bytes;
    int64_t read_bytes;
};

/** Smaller parts need no trial: they are read in less time. */
#define LW_BYTES_LEAST_TRIAL ((int64_t)16 << 20)

/** Measure the pace at places that are spread over the part, the same in every trial. Takes few milliseconds; on a storage that
 * needs long for one read, the time of a few reads of each thread. LW_EIO: a read failed, with the reason alone; LW_ESYSTEM. */
int lw_bytes_try(struct lw_pool *pool, const struct lw_bytes_part *part, struct lw_bytes_pace *pace, struct lw_error *err);

/** Tell the system that these bytes will be read, without waiting for them: a storage that takes many reads at a time then
 * does them side by side, however few threads there are. */
void lw_bytes_announce(int fd, int64_t offset, int64_t bytes);
