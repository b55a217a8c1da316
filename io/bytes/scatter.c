#include "io/bytes/scatter.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"

#include <fcntl.h>
#include <stdatomic.h>

const struct lw_bytes_pace lw_bytes_assumed_pace = {.bytes_per_s = 2.5e9, .reads_per_s = 1e4};

int64_t lw_bytes_gap(const struct lw_bytes_pace *pace)
{
    static const double most = (double)((int64_t)1 << 60);
    const double gap = pace->bytes_per_s / pace->reads_per_s;
    return gap < most ? (int64_t)gap : (int64_t)1 << 60;
}

double lw_bytes_seconds(const struct lw_bytes_pace *pace, int64_t n_reads, int64_t bytes)
{
    return (double)n_reads / pace->reads_per_s + (double)bytes / pace->bytes_per_s;
}

void lw_bytes_announce(int fd, int64_t offset, int64_t bytes)
{
    (void)posix_fadvise(fd, offset, bytes, POSIX_FADV_WILLNEED);
}

enum { RUN_BYTES = 1 << 20, CALL_BYTES = 128 << 10, RUNS_OF_A_THREAD = 2 };     /* trial of sequential reads, CALL_BYTES each */
enum { READS = 64, PIECES_OF_A_THREAD = 4 };     /* trial of spread-out reads, READS in a piece */

/* No read of a trial begins later than this, counted from the first read. */
static const double most_seconds = 5e-3;

/* Rate that a single thread exceeds for a file in memory. Only slower storage may gain from announcements. */
static const double memory_reads_per_s = 400e3;

struct trial {
    const struct lw_bytes_part *part;
    char *buffers;              /* [threads][CALL_BYTES] */
    int64_t n_pieces, n_reads;  /* reads per piece */
    int64_t read_bytes;
    bool is_run;                /* true: the reads of a piece follow each other; false: they are spread out */
    double shift;               /* shift of all places, as a fraction of the distance between two */
    bool is_ahead;
    _Atomic int64_t begun, ended;       /* nanoseconds: begin of the first read (0: none yet), end of the last */
    _Atomic int64_t done;               /* reads made by all threads */
};

static int64_t nanoseconds(void) { return (int64_t)(lw_now() * 1e9); }

/* Return whether a thread may make another read. The first thread makes at least one; threads that wake late may make none. */
static bool goes_on(const struct trial *trial, bool is_first, int64_t done)
{
    return (is_first && done == 0) || nanoseconds() - atomic_load(&trial->begun) <= (int64_t)(most_seconds * 1e9);
}

/* Return the byte of the file at which read i of a piece begins. */
static int64_t place(const struct trial *trial, int64_t piece, int64_t i)
{
    const struct lw_bytes_part *const part = trial->part;
    const double number = (double)(piece * trial->n_reads + (trial->is_run ? 0 : i)) + trial->shift;
    const double fraction = number / (double)(trial->n_pieces * trial->n_reads);
    const int64_t room = part->bytes - (trial->is_run ? trial->n_reads : 1) * trial->read_bytes;
    return part->offset + (int64_t)((double)room * fraction) + (trial->is_run ? i * trial->read_bytes : 0);
}

static int do_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    struct trial *const trial = context;
    const int fd = trial->part->fd;
    char *const into = trial->buffers + (int64_t)thread * CALL_BYTES;
    int64_t done = 0, none = 0;
    int rc = LW_OK;
    const bool is_first = atomic_compare_exchange_strong(&trial->begun, &none, nanoseconds());
    if (trial->is_ahead && goes_on(trial, is_first, 0))
        for (int64_t i = 0; i < trial->n_reads; i++)
            lw_bytes_announce(fd, place(trial, piece, i), trial->read_bytes);
    for (; rc == LW_OK && done < trial->n_reads && goes_on(trial, is_first, done); done++)
        rc = lw_bytes_read(fd, into, place(trial, piece, done), trial->read_bytes, err);
    const int64_t now = nanoseconds();
    int64_t last = atomic_load(&trial->ended);
    while (done > 0 && last < now && !atomic_compare_exchange_weak(&trial->ended, &last, now))
        ;
    atomic_fetch_add(&trial->done, done);
    return rc;
}

/* Time one trial. @param rate  set to reads per second */
static int measure(struct lw_pool *pool, struct trial *trial, double *rate, struct lw_error *err)
{
    struct lw_batch batch = {.lane = LW_LANE_READ, .n_pieces = trial->n_pieces, .work = do_piece, .context = trial};
    atomic_store(&trial->begun, 0);
    atomic_store(&trial->ended, 0);
    atomic_store(&trial->done, 0);
    lw_pool_start(pool, &batch);
    const int rc = lw_pool_wait(pool, &batch, err);
    *rate = (double)atomic_load(&trial->done) / (1e-9 * (double)lw_max64(trial->ended - trial->begun, 1));
    return rc;
}

/* Try announced reads. The trial announces few of them, so that slow storage has finished them soon. */
static int try_ahead(struct lw_pool *pool, struct trial *trial, struct lw_bytes_pace *pace, struct lw_error *err)
{
    double rate;
    const double reads_of_a_thread = 4 * most_seconds * pace->reads_per_s / lw_pool_threads(pool);
    if (pace->reads_per_s > memory_reads_per_s || reads_of_a_thread < 2)
        return LW_OK;
    trial->n_reads = lw_min64((int64_t)reads_of_a_thread, READS);
    trial->shift = 0.75;
    trial->is_ahead = true;
    const int rc = measure(pool, trial, &rate, err);
    if (rc == LW_OK && rate > pace->reads_per_s) {
        pace->reads_per_s = rate;
        pace->is_ahead = true;
    }
    return rc;
}

/* Measure spread-out reads first: sequential reads leave more of the file in the page cache. */
static int measure_all(struct lw_pool *pool, struct trial *trial, struct lw_bytes_pace *pace, struct lw_error *err)
{
    const int threads = lw_pool_threads(pool);
    double rate = 0;
    int rc;
    trial->n_pieces = threads * PIECES_OF_A_THREAD;
    trial->n_reads = READS;
    trial->read_bytes = lw_min64(trial->part->read_bytes, CALL_BYTES);
    trial->shift = 0.25;
    if ((rc = measure(pool, trial, &pace->reads_per_s, err)) || (rc = try_ahead(pool, trial, pace, err)))
        return rc;
    trial->n_pieces = lw_min64(threads * RUNS_OF_A_THREAD, trial->part->bytes / (4 * RUN_BYTES));
    trial->n_reads = RUN_BYTES / CALL_BYTES;
    trial->read_bytes = CALL_BYTES;
    trial->shift = 0;
    trial->is_run = true;
    trial->is_ahead = false;
    rc = measure(pool, trial, &rate, err);
    pace->bytes_per_s = rate * CALL_BYTES;
    return rc;
}

int lw_bytes_try(struct lw_pool *pool, const struct lw_bytes_part *part, struct lw_bytes_pace *pace, struct lw_error *err)
{
    struct trial trial = {.part = part};
    struct lw_bytes_pace found = {.is_measured = true};
    trial.buffers = lw_alloc((size_t)lw_pool_threads(pool) * CALL_BYTES, "a trial of the storage", err);
    if (!trial.buffers)
        return LW_ESYSTEM;
    const int rc = measure_all(pool, &trial, &found, err);
    lw_free(trial.buffers);
    if (rc == LW_OK)
        *pace = found;
    return rc;
}
