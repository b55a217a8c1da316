/* storage_rates.h - what a folder's storage allows: single measurements, and the best of reading and of writing.
 *
 *     open -> measure, best ... -> close
 *
 * Two files without a name stand in the folder meanwhile: a short one that is in the page cache, and a long one, of which
 * those measurements that mean the disk drop what is in the cache first. Memory (tmpfs) has the one, and no disk. */
#pragma once

#include "base/error.h"
#include "base/pool.h"
#include "io/bytes/store.h"

#include <stdbool.h>
#include <stdint.h>

enum storage_row {
    STORAGE_READ,               /* from the page cache or memory */
    STORAGE_WRITE_NEW,          /* pwrite to a new file, into the cache or memory */
    STORAGE_WRITE_OLD,          /* pwrite over blocks that are there, into the cache or memory */
    STORAGE_MAP_NEW,            /* a new file through a shared mapping, into the cache or memory */
    STORAGE_DISK_READ,
    STORAGE_DISK_READ_DIRECT,
    STORAGE_DISK_WRITE_NEW,     /* until it is on the disk, as all that follow */
    STORAGE_DISK_MAP_NEW,
    STORAGE_DISK_DIRECT_NEW,
    STORAGE_DISK_DIRECT_OLD,
    STORAGE_PAGES,              /* reads of 4 KiB at random places, from the disk; of memory, from memory */
    STORAGE_ROWS
};

struct storage_bench {
    const char *folder;
    struct lw_pool *pool;
    struct lw_storage storage;
    int64_t bytes;              /* of the long file, and of new ones */
    double seconds;             /* of a measurement at most */
    int short_fd, long_fd;      /* one and the same where files are memory */
};

struct storage_best {
    enum storage_row row;
    int n_threads;
    double bytes_per_s;
};

/** Make the files. @param bytes  made shorter where the folder has not three times as much to spare
 * @param n_threads  at most, of any measurement */
int storage_bench_open(const char *folder, int64_t bytes, double seconds, int n_threads, struct storage_bench *bench,
                       struct lw_error *err);
void storage_bench_close(struct storage_bench *bench);

/** "pwrite, new file", and whether the folder has such a thing. */
const char *storage_row_text(enum storage_row row);
bool storage_row_is_there(const struct storage_bench *bench, enum storage_row row);
bool storage_row_is_cached(const struct storage_bench *bench, enum storage_row row);   /* the page cache, not the storage */

/** Bytes, or reads, a second of one measurement. */
int storage_measure(const struct storage_bench *bench, enum storage_row row, int n_threads, double *rate,
                    struct lw_error *err);

double storage_median(double *values, int n);   /* sorts them */

/** The fastest of the ways to read, or to write, with 1, 2, 4 ... most_threads threads, medians of three.
 * @param is_disk  from and to the disk; of memory, from and to memory */
int storage_best_read(const struct storage_bench *bench, bool is_disk, int most_threads, struct storage_best *best,
                      struct lw_error *err);
int storage_best_write(const struct storage_bench *bench, bool is_disk, int most_threads, struct storage_best *best,
                       struct lw_error *err);
