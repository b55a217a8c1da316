/* trial.h - how fast a storage is, found out by trying: the threads of a pool move bytes as a run does, for a given time.
 *
 * Rates are those of all threads together, in bytes (reads) a second. Errors: LW_EIO, the reason alone, and LW_ESYSTEM: no
 * memory. Other batches of the pool would take part of its time. */
#pragma once

#include "base/error.h"
#include "base/pool.h"
#include "io/bytes/store.h"

#include <stdint.h>

struct lw_trial {
    struct lw_pool *pool;       /* borrowed during each call */
    int n_threads;              /* at work at a time, 1 or more; beyond those of the pool they gain nothing */
    int64_t bytes;              /* to be moved at most */
    double seconds;             /* after which nothing further is begun */
};

/** Read an open file in long pieces that lie all over it, so that the page cache has the same share in the trial as in the
 * whole file. Each piece is read once at most. An empty file gives the rate 0. */
int lw_trial_read(const struct lw_trial *trial, int fd, double *bytes_per_s, struct lw_error *err);

/** Read pages of 4 KiB at random places of an open file. An empty file gives the rate 0. */
int lw_trial_read_pages(const struct lw_trial *trial, int fd, double *reads_per_s, struct lw_error *err);

/** Write the first trial->bytes of an open file, which it has. Where files are not memory, a piece counts when it has reached
 * the disk, with `is_cached` as soon as it is in the page cache. */
int lw_trial_write(const struct lw_trial *trial, int fd, enum lw_store_way way, bool is_cached, double *bytes_per_s,
                   struct lw_error *err);

/** lw_trial_write by pwrite past the page cache (O_DIRECT). Where the file system refuses that, the rate is 0. */
int lw_trial_write_direct(const struct lw_trial *trial, int fd, double *bytes_per_s, struct lw_error *err);

/** lw_trial_write of a new file in `folder`, to the disk; it is gone afterwards, whatever happens. */
int lw_trial_write_new(const struct lw_trial *trial, const char *folder, enum lw_store_way way, double *bytes_per_s,
                       struct lw_error *err);

/** Make a file without a name in `folder`, of 1 byte or more, its room on a disk reserved. To be closed. LW_EIO. */
int lw_trial_file(const char *folder, int64_t bytes, int *fd, struct lw_error *err);

/** Open an open file once more, past the page cache. To be closed. -1: the file system refuses that. */
int lw_trial_open_direct(int fd);

/** Host memory that a trial takes, mappings and all. */
int64_t lw_trial_bytes(int n_threads);
