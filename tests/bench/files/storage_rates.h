/* storage_rates.h - measures a folder's storage: single measurements, and the best rate of reading and of writing.
 *
 *     open -> measure, best ... -> close
 *
 * The folder meanwhile holds two files without a name: a short one, which is in the page cache, and a long one. Measurements of
 * the disk first drop the long file from the page cache. If files are in memory (tmpfs), both are one file, and there is no
 * disk. */
#pragma once

#include "base/error.h"
#include "base/pool.h"
#include "io/bytes/store.h"

#include <stdbool.h>
#include <stdint.h>

enum storage_row {
    STORAGE_READ,               /* reads from the page cache or memory */
    STORAGE_WRITE_NEW,          /* pwrite to a new file, into the cache or memory */
    STORAGE_WRITE_OLD,          /* pwrite over blocks that are there, into the cache or memory */
    STORAGE_MAP_NEW,            /* a shared mapping of a new file, in the cache or memory */
    STORAGE_DISK_READ,
    STORAGE_DISK_READ_DIRECT,
    STORAGE_DISK_WRITE_NEW,     /* waits until the bytes are on the disk, like all that follow */
    STORAGE_DISK_MAP_NEW,
    STORAGE_DISK_DIRECT_NEW,
    STORAGE_DISK_DIRECT_OLD,
    STORAGE_PAGES,              /* 4 KiB at random places of the disk, or of memory if files are there */
    STORAGE_ROWS
};

struct storage_bench {
    const char *folder;
    struct lw_pool *pool;
    struct lw_storage storage;
    int64_t bytes;              /* length of the long file and of new files */
    double seconds;             /* longest time of a measurement */
    int short_fd, long_fd;      /* the same file if files are in memory */
};

struct storage_best {
    enum storage_row row;
    int n_threads;
    double bytes_per_s;
};

/** Make the files. @param bytes reduced if the folder has less than three times as much space
 * @param n_threads most threads of any measurement */
int storage_bench_open(const char *folder, int64_t bytes, double seconds, int n_threads, struct storage_bench *bench,
                       struct lw_error *err);
void storage_bench_close(struct storage_bench *bench);

/** Return the name of a measurement, such as "pwrite, new file"; the next function, whether the folder has it. */
const char *storage_row_text(enum storage_row row);
bool storage_row_is_there(const struct storage_bench *bench, enum storage_row row);
bool storage_row_is_cached(const struct storage_bench *bench, enum storage_row row);   /* measures the page cache, not the
                                                                                        * storage */

/** Make one measurement, in bytes or reads per second. */
int storage_measure(const struct storage_bench *bench, enum storage_row row, int n_threads, double *rate,
                    struct lw_error *err);

double storage_median(double *values, int n);   /* sorts the values */

/** Return the fastest of the ways to read, or to write, with 1, 2, 4 ... most_threads threads, by medians of three.
 * @param is_disk from or to the disk; if files are in memory, from or to memory */
int storage_best_read(const struct storage_bench *bench, bool is_disk, int most_threads, struct storage_best *best,
                      struct lw_error *err);
int storage_best_write(const struct storage_bench *bench, bool is_disk, int most_threads, struct storage_best *best,
                       struct lw_error *err);
