#include "base/pool.h"

#include "base/log.h"
#include "base/memory.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* Queue of a lane: its batches with pieces that no thread has taken. */
struct queue {
    struct lw_batch *first, *last;
    int n_working;              /* threads working on a piece of this lane */
    double since;               /* time at which n_working rose from 0, s */
    double busy_seconds;        /* time with n_working > 0 before `since`, s */
};

struct thread {
    struct lw_pool *pool;
    pthread_t id;
    int number;
};

struct lw_pool {
    pthread_mutex_t mutex;      /* protects everything below, and the members of batches that the pool uses */
    pthread_cond_t more, done;
    struct queue queues[LW_LANES];
    bool is_ending;
    int n_threads;
    struct thread threads[];
};

/* ---- threads, which hold the mutex except while they work on a piece or wait ---------------------------------------- */

static void take_off(struct queue *queue, struct lw_batch *batch)
{
    struct lw_batch **link = &queue->first, *before = NULL;
    while (*link != batch) {
        before = *link;
        link = &before->next;
    }
    *link = batch->next;
    if (queue->last == batch)
        queue->last = before;
}

static void do_piece(struct lw_pool *pool, struct queue *queue, int thread)
{
    struct lw_batch *const batch = queue->first;
    const int64_t piece = batch->n_taken++;
    struct lw_error err = {.code = LW_OK};
    if (batch->n_taken == batch->n_pieces)
        take_off(queue, batch);
    if (queue->n_working++ == 0)
        queue->since = lw_now();
    pthread_mutex_unlock(&pool->mutex);
    const int rc = batch->work(batch->context, piece, thread, &err);
    pthread_mutex_lock(&pool->mutex);
    if (--queue->n_working == 0)
        queue->busy_seconds += lw_now() - queue->since;
    if (rc && (batch->err.code == LW_OK || piece < batch->failed_piece)) {
        err.code = rc;
        batch->failed_piece = piece;
        batch->err = err;
    }
    if (rc && batch->n_taken < batch->n_pieces) {       /* pieces that no thread has taken count as done */
        batch->n_done += batch->n_pieces - batch->n_taken;
        batch->n_taken = batch->n_pieces;
        take_off(queue, batch);
    }
    if (++batch->n_done == batch->n_pieces)
        pthread_cond_broadcast(&pool->done);
}

static void *serve(void *argument)
{
    const struct thread *const thread = argument;
    struct lw_pool *const pool = thread->pool;
    int preferred = thread->number;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        struct queue *queue = NULL;     /* queue of the preferred lane, or else of another lane with work */
        for (int i = 0; i < LW_LANES && !queue; i++)
            if (pool->queues[(preferred + i) % LW_LANES].first)
                queue = &pool->queues[(preferred + i) % LW_LANES];
        if (queue) {
            do_piece(pool, queue, thread->number);
            if (pool->n_threads == 1)           /* one thread serves the lanes in turn */
                preferred++;
        } else if (pool->is_ending) {
            break;
        } else {
            pthread_cond_wait(&pool->more, &pool->mutex);
        }
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Only the main thread handles signals. New threads inherit a mask that blocks all signals but those of their own faults. */
static int start_threads(struct lw_pool *pool, int n_threads)
{
    sigset_t all, before;
    int rc = 0;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (rc == 0 && pool->n_threads < n_threads) {
        struct thread *const thread = &pool->threads[pool->n_threads];
        *thread = (struct thread){.pool = pool, .number = pool->n_threads};
        rc = pthread_create(&thread->id, NULL, serve, thread);
        if (rc == 0)
            pool->n_threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int lw_pool_create(int n_threads, struct lw_pool **out, struct lw_error *err)
{
    assert(n_threads >= 1);
    struct lw_pool *const pool = lw_alloc(sizeof *pool + (size_t)n_threads * sizeof(struct thread), "a pool of threads", err);
    if (!pool)
        return LW_ESYSTEM;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->more, NULL);
    pthread_cond_init(&pool->done, NULL);
    pthread_mutex_lock(&pool->mutex);           /* held until n_threads, which the threads read, is final */
    const int failure = start_threads(pool, n_threads);
    pthread_mutex_unlock(&pool->mutex);
    if (failure) {
        const int started = pool->n_threads;
        lw_pool_destroy(pool);
        return lw_fail(err, LW_ESYSTEM, "only %d of %d threads can be started (%s): raise the limit on processes (ulimit -u), "
                       "or use fewer threads or ranks on this node", started, n_threads, strerror(failure));
    }
    *out = pool;
    return LW_OK;
}

void lw_pool_destroy(struct lw_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->n_threads; i++)
        pthread_join(pool->threads[i].id, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->more);
    pthread_mutex_destroy(&pool->mutex);
    lw_free(pool);
}

/* ---- the thread that owns the pool ---------------------------------------------------------------------------------- */

int lw_pool_threads(const struct lw_pool *pool) { return pool->n_threads; }

void lw_pool_start(struct lw_pool *pool, struct lw_batch *batch)
{
    assert(!batch->is_started);
    batch->is_started = true;
    batch->n_taken = batch->n_done = batch->failed_piece = 0;
    batch->err.code = LW_OK;
    batch->next = NULL;
    if (batch->n_pieces == 0)
        return;
    struct queue *const queue = &pool->queues[batch->lane];
    pthread_mutex_lock(&pool->mutex);
    if (queue->first)
        queue->last->next = batch;
    else
        queue->first = batch;
    queue->last = batch;
    for (int64_t i = 0; i < batch->n_pieces && i < pool->n_threads; i++)
        pthread_cond_signal(&pool->more);
    pthread_mutex_unlock(&pool->mutex);
}

static void (*meanwhile)(void);

void lw_pool_meanwhile(void (*look)(void)) { meanwhile = look; }

/* Wait a quarter of a second for a batch; if none is done by then, call `meanwhile`, with the caller's mutex unlocked. */
static void wait_a_while(struct lw_pool *pool)
{
    enum { EVERY_NS = 250000000, SECOND_NS = 1000000000 };
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += EVERY_NS;
    end.tv_sec += end.tv_nsec / SECOND_NS;
    end.tv_nsec %= SECOND_NS;
    if (pthread_cond_timedwait(&pool->done, &pool->mutex, &end) != ETIMEDOUT)
        return;
    pthread_mutex_unlock(&pool->mutex);
    meanwhile();
    pthread_mutex_lock(&pool->mutex);
}

int lw_pool_wait(struct lw_pool *pool, struct lw_batch *batch, struct lw_error *err)
{
    if (!batch->is_started)
        return LW_OK;
    pthread_mutex_lock(&pool->mutex);
    while (batch->n_done < batch->n_pieces)
        if (meanwhile)
            wait_a_while(pool);
        else
            pthread_cond_wait(&pool->done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
    batch->is_started = false;
    if (batch->err.code && err)
        *err = batch->err;
    return batch->err.code;
}

bool lw_pool_is_done(struct lw_pool *pool, const struct lw_batch *batch)
{
    pthread_mutex_lock(&pool->mutex);
    const bool is_done = !batch->is_started || batch->n_done == batch->n_pieces;
    pthread_mutex_unlock(&pool->mutex);
    return is_done;
}

double lw_pool_busy_seconds(struct lw_pool *pool, enum lw_lane lane)
{
    if (!pool)
        return 0;
    const struct queue *const queue = &pool->queues[lane];
    pthread_mutex_lock(&pool->mutex);
    const double seconds = queue->busy_seconds + (queue->n_working > 0 ? lw_now() - queue->since : 0);
    pthread_mutex_unlock(&pool->mutex);
    return seconds;
}
