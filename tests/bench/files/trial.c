#include "trial.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/bytes/store.h"
#include "io/bytes/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES ((int64_t)4 << 20)
#define PAGE_BYTES ((int64_t)4096)      /* O_DIRECT never asks for a larger alignment */
enum { RUN_PIECES = 8 };                /* pieces that lie one after the other: a disk with heads is measured on long runs */

struct run;
typedef int move_fn(struct run *run, int worker, int64_t index, struct lw_error *err);

struct run {
    const struct lw_trial *trial;
    int fd;
    int64_t file_bytes;
    struct lw_store *store;             /* NULL: reading, or writing past the page cache */
    int direct_fd;                      /* the same file with O_DIRECT, for pieces that are written past the page cache */
    bool is_waiting;                    /* whether a move waits until its piece is on the disk */
    move_fn *move;
    int64_t n_moves;
    int64_t first, step;                /* first run, and distance between runs, in the order of reading */
    char *memory, *pieces;              /* the allocation; in it, aligned, one piece for each worker */
    double deadline;
    atomic_int_fast64_t next, done;     /* moves begun; bytes or reads done */
};

/* ---- single moves --------------------------------------------------------------------------------------------------- */

static char *piece_of(const struct run *run, int worker)
{
    return run->pieces + worker * PIECE_BYTES;
}

/* Place of a piece in an order that soon covers the whole file, each piece once. The pieces at the end that do not fill a run
 * come last. */
static int64_t scattered(const struct run *run, int64_t index)
{
    const int64_t n_runs = run->file_bytes / (RUN_PIECES * PIECE_BYTES);
    if (index >= n_runs * RUN_PIECES)
        return index;
    return (run->first + index / RUN_PIECES * run->step) % n_runs * RUN_PIECES + index % RUN_PIECES;
}

static int read_piece(struct run *run, int worker, int64_t index, struct lw_error *err)
{
    const int64_t offset = scattered(run, index) * PIECE_BYTES;
    const int64_t bytes = lw_min64(PIECE_BYTES, run->file_bytes - offset);
    atomic_fetch_add(&run->done, bytes);
    return lw_bytes_read(run->fd, piece_of(run, worker), offset, bytes, err);
}

static int read_page(struct run *run, int worker, int64_t index, struct lw_error *err)
{
    const uint64_t random = (uint64_t)(run->first + index) * 0x9e3779b97f4a7c15u;
    const int64_t offset = (int64_t)((random ^ random >> 29) % (uint64_t)lw_divide_up(run->file_bytes, PAGE_BYTES)) * PAGE_BYTES;
    atomic_fetch_add(&run->done, 1);
    return lw_bytes_read(run->fd, piece_of(run, worker), offset, lw_min64(PAGE_BYTES, run->file_bytes - offset), err);
}

/* Write a piece with O_DIRECT. Its last bytes that do not fill a page go through the page cache. */
static int put_direct(struct run *run, const char *piece, int64_t offset, int64_t bytes, struct lw_error *err)
{
    const int64_t pages = bytes / PAGE_BYTES * PAGE_BYTES;
    const int rc = lw_bytes_write(run->direct_fd, piece, offset, pages, err);
    return rc ? rc : lw_bytes_write(run->fd, piece + pages, offset + pages, bytes - pages, err);
}

static int write_piece(struct run *run, int worker, int64_t index, struct lw_error *err)
{
    const unsigned wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    const int64_t offset = index * PIECE_BYTES, bytes = lw_min64(PIECE_BYTES, run->trial->bytes - offset);
    const char *const piece = piece_of(run, worker);
    const int rc = run->store ? lw_store_put(run->store, piece, offset, bytes, err) : put_direct(run, piece, offset, bytes, err);
    if (rc == LW_OK && run->is_waiting && sync_file_range(run->fd, offset, bytes, wait) != 0 && errno == EIO)
        return lw_fail(err, LW_EIO, "%s", strerror(errno));
    atomic_fetch_add(&run->done, bytes);
    return rc;
}

/* ---- all of them ---------------------------------------------------------------------------------------------------- */

/* Work of one thread; it is a piece of the pool's batch. */
static int work(void *context, int64_t worker, int thread, struct lw_error *err)
{
    struct run *const run = context;
    int rc = LW_OK;
    (void)thread;
    while (rc == LW_OK && lw_now() < run->deadline) {
        const int64_t index = atomic_fetch_add(&run->next, 1);
        if (index >= run->n_moves)
            break;
        rc = run->move(run, (int)worker, index, err);
    }
    return rc;
}

static int allocate(struct run *run, struct lw_error *err)
{
    const int64_t bytes = run->trial->n_threads * PIECE_BYTES;
    if (!(run->memory = lw_alloc((size_t)(bytes + PAGE_BYTES), "a trial of the storage", err)))
        return LW_ESYSTEM;
    run->pieces = run->memory + (-(uintptr_t)run->memory & (uintptr_t)(PAGE_BYTES - 1));
    memset(run->pieces, 1, (size_t)bytes);      /* no zeros, which a file system may leave out */
    return LW_OK;
}

static int go(struct run *run, enum lw_lane lane, double *rate, struct lw_error *err)
{
    const struct lw_trial *const trial = run->trial;
    struct lw_batch batch = {.lane = lane, .n_pieces = trial->n_threads, .work = work, .context = run};
    if (allocate(run, err))
        return LW_ESYSTEM;
    const double start = lw_now();
    run->deadline = start + trial->seconds;
    lw_pool_start(trial->pool, &batch);
    const int rc = lw_pool_wait(trial->pool, &batch, err);
    if (rc == LW_OK)
        *rate = (double)run->done / (lw_now() - start);
    lw_free(run->memory);
    return rc;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* A golden section of n without a common divisor: any number of its multiples modulo n lie evenly, and n of them reach each
 * place. */
static int64_t golden_step(int64_t n)
{
    int64_t step = (int64_t)(0.618 * (double)n) + 1;
    while (common_divisor(n, step) != 1)
        step++;
    return step;
}

/* Set up reading. Each trial begins elsewhere, or it would find the bytes of the trial before in the page cache. */
static int start_reading(struct run *run, const struct lw_trial *trial, int fd, struct lw_error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return lw_fail(err, LW_EIO, "%s", strerror(errno));
    *run = (struct run){.trial = trial, .fd = fd, .file_bytes = status.st_size};
    run->step = golden_step(lw_max64(run->file_bytes / (RUN_PIECES * PIECE_BYTES), 1));
    run->first = (int64_t)(lw_now() * 1e6);
    return LW_OK;
}

int lw_trial_read(const struct lw_trial *trial, int fd, double *bytes_per_s, struct lw_error *err)
{
    struct run run;
    if (start_reading(&run, trial, fd, err))
        return LW_EIO;
    run.move = read_piece;
    run.n_moves = lw_divide_up(lw_min64(run.file_bytes, trial->bytes), PIECE_BYTES);
    return go(&run, LW_LANE_READ, bytes_per_s, err);
}

int lw_trial_read_pages(const struct lw_trial *trial, int fd, double *reads_per_s, struct lw_error *err)
{
    struct run run;
    if (start_reading(&run, trial, fd, err))
        return LW_EIO;
    run.move = read_page;
    run.n_moves = run.file_bytes > 0 ? lw_divide_up(trial->bytes, PAGE_BYTES) : 0;
    return go(&run, LW_LANE_READ, reads_per_s, err);
}

static void start_writing(struct run *run, const struct lw_trial *trial, int fd, bool is_cached, struct lw_storage *storage)
{
    lw_storage_find(fd, storage);
    *run = (struct run){.trial = trial, .fd = fd, .move = write_piece, .n_moves = lw_divide_up(trial->bytes, PIECE_BYTES)};
    run->is_waiting = !is_cached && !storage->is_memory;
}

int lw_trial_write(const struct lw_trial *trial, int fd, enum lw_store_way way, bool is_cached, double *bytes_per_s,
                   struct lw_error *err)
{
    struct lw_storage storage;
    struct run run;
    start_writing(&run, trial, fd, is_cached, &storage);
    int rc = lw_store_open(fd, &storage, way, &run.store, err);
    if (rc == LW_OK)
        rc = go(&run, LW_LANE_WRITE, bytes_per_s, err);
    lw_store_close(run.store);
    return rc;
}

int lw_trial_open_direct(int fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
}

int lw_trial_write_direct(const struct lw_trial *trial, int fd, double *bytes_per_s, struct lw_error *err)
{
    struct lw_storage storage;
    struct run run;
    start_writing(&run, trial, fd, false, &storage);
    *bytes_per_s = 0;
    if ((run.direct_fd = lw_trial_open_direct(fd)) < 0)
        return LW_OK;
    const int rc = go(&run, LW_LANE_WRITE, bytes_per_s, err);
    close(run.direct_fd);
    return rc;
}

/* Reserve the file's blocks. Blocks of files in memory are not reserved, since that takes as long as writing them. */
static int reserve(int fd, int64_t bytes)
{
    struct lw_storage storage;
    lw_storage_find(fd, &storage);
    if (!storage.is_memory && fallocate(fd, 0, 0, bytes) == 0)
        return 0;
    return storage.is_memory || errno == EOPNOTSUPP ? ftruncate(fd, bytes) : -1;
}

int lw_trial_file(const char *folder, int64_t bytes, int *fd, struct lw_error *err)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/.lapwing-trial-XXXXXX", folder);
    const int file = mkostemp(path, O_CLOEXEC);
    if (file < 0)
        return lw_fail(err, LW_EIO, "%s", strerror(errno));
    unlink(path);
    if (reserve(file, bytes) != 0) {
        lw_fail(err, LW_EIO, "%s", strerror(errno));
        close(file);
        return LW_EIO;
    }
    *fd = file;
    return LW_OK;
}

int lw_trial_write_new(const struct lw_trial *trial, const char *folder, enum lw_store_way way, double *bytes_per_s,
                       struct lw_error *err)
{
    int fd;
    if (lw_trial_file(folder, trial->bytes, &fd, err))
        return LW_EIO;
    const int rc = lw_trial_write(trial, fd, way, false, bytes_per_s, err);
    close(fd);
    return rc;
}

int64_t lw_trial_bytes(int n_threads)
{
    return n_threads * PIECE_BYTES + PAGE_BYTES + lw_store_bytes(n_threads);
}
