/* scatter.h - choose between reading few bytes at many places of a file and reading on from one place to the next. Two rates of
 * the storage give the time of each way; a short trial on the file itself measures both rates.
 *
 *     wanted        x        x   x                        x
 *     reads        [x]      [x...x]                      [x]      read across a gap where that costs less than another read */
#pragma once

#include "base/pool.h"

/* Rates that all threads of a pool reach together. */
struct lw_bytes_pace {
    double bytes_per_s;             /* sequential reading, each thread in its own part of the file */
    double reads_per_s;             /* reads of few bytes each, at scattered places */
    bool is_ahead;                  /* reads_per_s holds for reads announced beforehand (lw_bytes_announce) */
    bool is_measured;
};

/** Pace assumed without a trial: a file in memory, read by one library call after another. */
extern const struct lw_bytes_pace lw_bytes_assumed_pace;

/** Return the bytes of the longest gap worth reading: they take as long as one more read. */
int64_t lw_bytes_gap(const struct lw_bytes_pace *pace);

/** Return the seconds that n_reads reads of `bytes` bytes in total take. */
double lw_bytes_seconds(const struct lw_bytes_pace *pace, int64_t n_reads, int64_t bytes);

/* Part of a file, and the bytes of one scattered read in it. */
struct lw_bytes_part {
    int fd;
    int64_t offset, bytes;
    int64_t read_bytes;
};

/** Least bytes of a part that is worth a trial. Reading a smaller part whole takes less time than the trial. */
#define LW_BYTES_LEAST_TRIAL ((int64_t)16 << 20)

/** Measure the pace at places spread over the part, the same places in every trial. A trial takes a few milliseconds, or a few
 * slow reads of each thread. LW_EIO: a read failed; the message is only the reason. LW_ESYSTEM: no memory. */
int lw_bytes_try(struct lw_pool *pool, const struct lw_bytes_part *part, struct lw_bytes_pace *pace, struct lw_error *err);

/** Announce to the system that these bytes will be read, and return at once. Storage that serves many reads at a time then serves
 * them side by side, however few threads there are. */
void lw_bytes_announce(int fd, int64_t offset, int64_t bytes);
