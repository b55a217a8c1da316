#include "storage_rates.h"

#include "base/integers.h"
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SHORT_BYTES ((int64_t)1 << 30)
#define UNIT_BYTES ((int64_t)4 << 20)
enum { REPETITIONS = 3 };

static const struct {
    const char *text;
    bool is_disk;
} rows[STORAGE_ROWS] = {
    [STORAGE_READ] = {"read", false},
    [STORAGE_WRITE_NEW] = {"pwrite, new file", false},
    [STORAGE_WRITE_OLD] = {"pwrite, old blocks", false},
    [STORAGE_MAP_NEW] = {"mapping, new file", false},
    [STORAGE_DISK_READ] = {"disk: read", true},
    [STORAGE_DISK_READ_DIRECT] = {"disk: read, O_DIRECT", true},
    [STORAGE_DISK_WRITE_NEW] = {"disk: pwrite, new file", true},
    [STORAGE_DISK_MAP_NEW] = {"disk: mapping, new file", true},
    [STORAGE_DISK_DIRECT_NEW] = {"disk: O_DIRECT, new file", true},
    [STORAGE_DISK_DIRECT_OLD] = {"disk: O_DIRECT, old blocks", true},
    [STORAGE_PAGES] = {"random reads of 4 KiB", false},
};

const char *storage_row_text(enum storage_row row)
{
    return rows[row].text;
}

bool storage_row_is_there(const struct storage_bench *bench, enum storage_row row)
{
    return !(bench->storage.is_memory && rows[row].is_disk);
}

bool storage_row_is_cached(const struct storage_bench *bench, enum storage_row row)
{
    return !bench->storage.is_memory && !rows[row].is_disk && row != STORAGE_PAGES;
}

double storage_median(double *values, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && values[j] < values[j - 1]; j--) {
            const double value = values[j];
            values[j] = values[j - 1];
            values[j - 1] = value;
        }
    return values[n / 2];
}

/* ---- files ---------------------------------------------------------------------------------------------------------- */

static int make_file(const struct storage_bench *bench, int64_t bytes, int *fd, struct lw_error *err)
{
    const struct lw_trial trial = {bench->pool, 2, bytes, 1e9};
    double rate;
    const int rc = lw_trial_file(bench->folder, bytes, fd, err);
    return rc ? rc : lw_trial_write(&trial, *fd, LW_STORE_WRITE, true, &rate, err);
}

static int make_files(struct storage_bench *bench, struct lw_error *err)
{
    int rc = make_file(bench, bench->bytes, &bench->long_fd, err);
    if (bench->storage.is_memory)
        bench->short_fd = bench->long_fd;
    else if (rc == LW_OK)
        rc = make_file(bench, lw_min64(bench->bytes, SHORT_BYTES), &bench->short_fd, err);
    return rc;
}

/* Examine the folder before any file is made. */
static int examine(struct storage_bench *bench, struct lw_error *err)
{
    struct statvfs disk;
    const int fd = open(bench->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstatvfs(fd, &disk) != 0)
        return lw_fail(err, LW_EIO, "%s: %s", bench->folder, strerror(errno));
    lw_storage_find(fd, &bench->storage);
    close(fd);
    const int64_t room = (int64_t)(disk.f_bavail * disk.f_frsize) / 3;
    bench->bytes = lw_min64(bench->bytes, room) / UNIT_BYTES * UNIT_BYTES;
    if (bench->bytes == 0)
        return lw_fail(err, LW_EIO, "%s has too little room", bench->folder);
    return LW_OK;
}

int storage_bench_open(const char *folder, int64_t bytes, double seconds, int n_threads, struct storage_bench *bench,
                       struct lw_error *err)
{
    int rc;
    *bench = (struct storage_bench){.folder = folder, .bytes = bytes, .seconds = seconds, .short_fd = -1, .long_fd = -1};
    if ((rc = examine(bench, err)) || (rc = lw_pool_create(n_threads, &bench->pool, err)) || (rc = make_files(bench, err)))
        storage_bench_close(bench);
    return rc;
}

void storage_bench_close(struct storage_bench *bench)
{
    if (bench->short_fd >= 0 && bench->short_fd != bench->long_fd)
        close(bench->short_fd);
    if (bench->long_fd >= 0)
        close(bench->long_fd);
    lw_pool_destroy(bench->pool);
}

/* ---- single measurements ---------------------------------------------------------------------------------------------- */

/* Drop a file from the page cache. Its dirty pages must be written first: only clean pages can be dropped. */
static void drop_cache(const struct storage_bench *bench, int advice)
{
    if (bench->storage.is_memory)
        return;
    fdatasync(bench->long_fd);
    posix_fadvise(bench->long_fd, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(bench->long_fd, 0, 0, advice);
}

static int read_direct(const struct storage_bench *bench, const struct lw_trial *trial, double *rate, struct lw_error *err)
{
    const int fd = lw_trial_open_direct(bench->long_fd);
    *rate = 0;                  /* 0: the file system has no O_DIRECT */
    if (fd < 0)
        return LW_OK;
    drop_cache(bench, POSIX_FADV_NORMAL);
    const int rc = lw_trial_read(trial, fd, rate, err);
    close(fd);
    return rc;
}

static int write_new(const struct storage_bench *bench, const struct lw_trial *trial, enum lw_store_way way, bool is_cached,
                     double *rate, struct lw_error *err)
{
    int fd;
    if (lw_trial_file(bench->folder, bench->bytes, &fd, err))
        return LW_EIO;
    const int rc = lw_trial_write(trial, fd, way, is_cached, rate, err);
    close(fd);
    return rc;
}

static int write_new_direct(const struct storage_bench *bench, const struct lw_trial *trial, double *rate, struct lw_error *err)
{
    int fd;
    if (lw_trial_file(bench->folder, bench->bytes, &fd, err))
        return LW_EIO;
    const int rc = lw_trial_write_direct(trial, fd, rate, err);
    close(fd);
    return rc;
}

int storage_measure(const struct storage_bench *bench, enum storage_row row, int n_threads, double *rate,
                    struct lw_error *err)
{
    const struct lw_trial trial = {bench->pool, n_threads, bench->bytes, bench->seconds};
    if (row == STORAGE_DISK_READ || row == STORAGE_PAGES)
        drop_cache(bench, row == STORAGE_PAGES ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
    switch (row) {
    case STORAGE_READ: return lw_trial_read(&trial, bench->short_fd, rate, err);
    case STORAGE_WRITE_NEW: return write_new(bench, &trial, LW_STORE_WRITE, true, rate, err);
    case STORAGE_WRITE_OLD: return lw_trial_write(&trial, bench->long_fd, LW_STORE_WRITE, true, rate, err);
    case STORAGE_MAP_NEW: return write_new(bench, &trial, LW_STORE_MAP, true, rate, err);
    case STORAGE_DISK_READ: return lw_trial_read(&trial, bench->long_fd, rate, err);
    case STORAGE_DISK_READ_DIRECT: return read_direct(bench, &trial, rate, err);
    case STORAGE_DISK_WRITE_NEW: return write_new(bench, &trial, LW_STORE_WRITE, false, rate, err);
    case STORAGE_DISK_MAP_NEW: return write_new(bench, &trial, LW_STORE_MAP, false, rate, err);
    case STORAGE_DISK_DIRECT_NEW: return write_new_direct(bench, &trial, rate, err);
    case STORAGE_DISK_DIRECT_OLD: return lw_trial_write_direct(&trial, bench->long_fd, rate, err);
    default: return lw_trial_read_pages(&trial, bench->long_fd, rate, err);
    }
}

/* ---- the best ------------------------------------------------------------------------------------------------------- */

static int take_median(const struct storage_bench *bench, struct storage_best *candidate, struct lw_error *err)
{
    double rates[REPETITIONS];
    int rc = LW_OK;
    for (int i = 0; i < REPETITIONS && rc == LW_OK; i++)
        rc = storage_measure(bench, candidate->row, candidate->n_threads, &rates[i], err);
    candidate->bytes_per_s = rc == LW_OK ? storage_median(rates, REPETITIONS) : 0;
    return rc;
}

static int take_best(const struct storage_bench *bench, enum storage_row row, int most_threads, struct storage_best *best,
                     struct lw_error *err)
{
    for (int n_threads = 1; n_threads <= most_threads; n_threads *= 2) {
        struct storage_best candidate = {row, n_threads, 0};
        const int rc = take_median(bench, &candidate, err);
        if (rc)
            return rc;
        if (candidate.bytes_per_s > best->bytes_per_s)
            *best = candidate;
    }
    return LW_OK;
}

int storage_best_read(const struct storage_bench *bench, bool is_disk, int most_threads, struct storage_best *best,
                      struct lw_error *err)
{
    *best = (struct storage_best){.bytes_per_s = 0};
    if (!is_disk || bench->storage.is_memory)
        return take_best(bench, STORAGE_READ, most_threads, best, err);
    const int rc = take_best(bench, STORAGE_DISK_READ, most_threads, best, err);
    return rc ? rc : take_best(bench, STORAGE_DISK_READ_DIRECT, most_threads, best, err);
}

int storage_best_write(const struct storage_bench *bench, bool is_disk, int most_threads, struct storage_best *best,
                       struct lw_error *err)
{
    const bool is_cached = !is_disk || bench->storage.is_memory;
    *best = (struct storage_best){.bytes_per_s = 0};
    const int rc = take_best(bench, is_cached ? STORAGE_WRITE_NEW : STORAGE_DISK_WRITE_NEW, most_threads, best, err);
    return rc ? rc : take_best(bench, is_cached ? STORAGE_MAP_NEW : STORAGE_DISK_DIRECT_NEW, most_threads, best, err);
}
