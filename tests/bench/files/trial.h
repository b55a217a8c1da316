/* trial.h - measures how fast a storage is by a trial: the threads of a pool move bytes as a run does, for a given time.
 *
 * Rates are those of all threads together, in bytes (reads) per second. Errors: LW_EIO, whose text is the reason alone;
 * LW_ESYSTEM: no memory. The pool must have no other batches, which would take part of its time. */
#pragma once

#include "base/error.h"
#include "base/pool.h"
#include "io/bytes/store.h"

#include <stdint.h>

struct lw_trial {
    struct lw_pool *pool;       /* borrowed during each call */
    int n_threads;              /* threads at work, 1 or more; more than the pool has gain nothing */
    int64_t bytes;              /* most bytes to move */
    double seconds;             /* time after which no further move is begun */
};

/** Read an open file in long pieces all over it, so that the page cache has the same share in the trial as in the whole file.
 * Each piece is read once at most. An empty file gives the rate 0. */
int lw_trial_read(const struct lw_trial *trial, int fd, double *bytes_per_s, struct lw_error *err);

/** Read pages of 4 KiB at random places of an open file. An empty file gives the rate 0. */
int lw_trial_read_pages(const struct lw_trial *trial, int fd, double *reads_per_s, struct lw_error *err);

/** Write the first trial->bytes bytes of an open file, which has that length. A piece counts when it is on the disk; with
 * `is_cached`, or if files are in memory, as soon as it is written there. */
int lw_trial_write(const struct lw_trial *trial, int fd, enum lw_store_way way, bool is_cached, double *bytes_per_s,
                   struct lw_error *err);

/** Write like lw_trial_write by pwrite past the page cache (O_DIRECT). If the file system refuses that, the rate is 0. */
int lw_trial_write_direct(const struct lw_trial *trial, int fd, double *bytes_per_s, struct lw_error *err);

/** Write like lw_trial_write to a new file in `folder`, to the disk. The file is removed afterwards, whatever happens. */
int lw_trial_write_new(const struct lw_trial *trial, const char *folder, enum lw_store_way way, double *bytes_per_s,
                       struct lw_error *err);

/** Make a file without a name in `folder`, of 1 byte or more, with its blocks on a disk reserved. The caller closes it. LW_EIO. */
int lw_trial_file(const char *folder, int64_t bytes, int *fd, struct lw_error *err);

/** Open an open file once more, past the page cache. The caller closes it. Return -1 if the file system refuses that. */
int lw_trial_open_direct(int fd);

/** Return the host memory of a trial, mappings included. */
int64_t lw_trial_bytes(int n_threads);
