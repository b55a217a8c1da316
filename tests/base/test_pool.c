/* test_pool.c - tests of the thread pool: every piece of every batch is done once, before wait returns; lanes do not starve each
 * other; wait returns the error of the lowest failed piece; and nothing is left allocated or running. */
#include "../check.h"
#include "base/log.h"
#include "base/pool.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { MOST_PIECES = 5000, N_BATCHES = 6 };

struct work {
    atomic_int times[MOST_PIECES];
    int64_t fails_from;             /* first piece that fails; all later ones fail, too */
    double seconds;                 /* duration of a piece */
    atomic_int highest_thread;
    struct lw_batch batch;
};

static void rest(double seconds)
{
    const struct timespec length = {0, (long)(seconds * 1e9)};
    if (seconds > 0)
        nanosleep(&length, NULL);
}

static int do_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    struct work *const work = context;
    atomic_fetch_add(&work->times[piece], 1);
    rest(work->seconds);
    int highest = atomic_load(&work->highest_thread);
    while (thread > highest && !atomic_compare_exchange_weak(&work->highest_thread, &highest, thread))
        ;
    if (piece >= work->fails_from)
        return lw_fail(err, LW_EIO, "piece %d", (int)piece);
    return LW_OK;
}

static void prepare(struct work *work, enum lw_lane lane, int64_t n_pieces)
{
    memset(work, 0, sizeof *work);
    work->fails_from = MOST_PIECES;
    work->batch = (struct lw_batch){.lane = lane, .n_pieces = n_pieces, .work = do_piece, .context = work};
}

static struct lw_pool *open_pool(int n_threads)
{
    struct lw_pool *pool = NULL;
    struct lw_error err;
    CHECK(lw_pool_create(n_threads, &pool, &err) == LW_OK, "%s", err.message);
    return pool;
}

/* Many batches of any number of pieces run in both lanes at the same time. */
static void check_all_done(int n_threads)
{
    static struct work works[N_BATCHES];
    static const int64_t sizes[N_BATCHES] = {0, 1, MOST_PIECES, 3, 64, 1000};
    struct lw_pool *const pool = open_pool(n_threads);
    CHECK(lw_pool_threads(pool) == n_threads, "%d", lw_pool_threads(pool));
    for (int repetition = 0; repetition < 3; repetition++) {
        for (int b = 0; b < N_BATCHES; b++) {
            prepare(&works[b], b % 2 ? LW_LANE_READ : LW_LANE_WRITE, sizes[b]);
            lw_pool_start(pool, &works[b].batch);
        }
        for (int b = 0; b < N_BATCHES; b++) {
            CHECK(lw_pool_wait(pool, &works[b].batch, NULL) == LW_OK, "batch %d", b);
            CHECK(lw_pool_is_done(pool, &works[b].batch), "batch %d", b);
            CHECK(works[b].highest_thread < n_threads, "thread %d of %d", works[b].highest_thread, n_threads);
            int wrong = 0;
            for (int64_t piece = 0; piece < MOST_PIECES; piece++)
                wrong += works[b].times[piece] != (piece < sizes[b]);
            CHECK(wrong == 0, "%d of %d pieces of batch %d were not done once", wrong, (int)sizes[b], b);
        }
    }
    struct lw_batch never = {.n_pieces = 5};
    CHECK(lw_pool_wait(pool, &never, NULL) == LW_OK, "waiting for a batch that was not started");
    lw_pool_destroy(pool);
}

/* A failure skips the pieces of its batch that no thread had taken. Other batches are done whole, and the failed batch can be
 * started again. */
static void check_failure(int n_threads)
{
    static struct work bad, good;
    struct lw_error err = {.code = LW_OK};
    struct lw_pool *const pool = open_pool(n_threads);
    prepare(&bad, LW_LANE_READ, MOST_PIECES);
    prepare(&good, LW_LANE_READ, MOST_PIECES);
    bad.fails_from = 7;
    lw_pool_start(pool, &bad.batch);
    lw_pool_start(pool, &good.batch);
    CHECK(lw_pool_wait(pool, &bad.batch, &err) == LW_EIO, "code %d", err.code);
    CHECK(err.code == LW_EIO && strcmp(err.message, "piece 7") == 0, "%d '%s'", err.code, err.message);
    int done = 0;
    for (int64_t piece = 0; piece < MOST_PIECES; piece++)
        done += bad.times[piece];
    CHECK(done >= 8 && done <= 7 + n_threads, "%d pieces were tried", done);
    CHECK(lw_pool_wait(pool, &good.batch, &err) == LW_OK, "the batch after the failed one fails, too");
    bad.fails_from = MOST_PIECES;
    lw_pool_start(pool, &bad.batch);
    CHECK(lw_pool_wait(pool, &bad.batch, &err) == LW_OK, "the failed batch, started again");
    lw_pool_destroy(pool);
}

/* A batch of writes does not wait until the batches of reads before it are done. */
static void check_lanes(int n_threads)
{
    static struct work reads, writes;
    struct lw_pool *const pool = open_pool(n_threads);
    prepare(&reads, LW_LANE_READ, 400);
    prepare(&writes, LW_LANE_WRITE, 4);
    reads.seconds = writes.seconds = 1e-3;
    lw_pool_start(pool, &reads.batch);
    lw_pool_start(pool, &writes.batch);
    lw_pool_wait(pool, &writes.batch, NULL);
    CHECK(!lw_pool_is_done(pool, &reads.batch), "%d threads: all reads came before the writes", n_threads);
    lw_pool_wait(pool, &reads.batch, NULL);
    const double read = lw_pool_busy_seconds(pool, LW_LANE_READ), written = lw_pool_busy_seconds(pool, LW_LANE_WRITE);
    CHECK(read > written && written > 0, "busy for %g s and %g s", read, written);
    lw_pool_destroy(pool);
}

int main(void)
{
    static const int threads[] = {1, 2, 3, 16};
    for (int t = 0; t < 4; t++) {
        check_all_done(threads[t]);
        check_failure(threads[t]);
        check_lanes(threads[t]);
    }
    return check_result("pool");
}
