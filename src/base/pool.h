/* pool.h - threads that read, write and decode pieces of data in parallel. Only the main thread calls MPI and HDF5.
 *
 *     batch   pieces of one kind of work, done in any order by any thread; several batches may be in progress
 *     lane    the kind of a batch, read or write. Half the threads prefer reads and half prefer writes, so that neither kind waits
 *             for all of the other. Batches of one lane are taken in the order in which they were started.
 *
 *     create -> start (batch) ... wait (batch) -> destroy
 *
 * Only the thread that created the pool may call these functions. Start and wait allocate nothing. */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct lw_pool;

enum lw_lane { LW_LANE_READ, LW_LANE_WRITE, LW_LANES };

/** Do one piece. @param thread  number of the executing thread, from 0, for memory that each thread has to itself */
typedef int lw_piece_fn(void *context, int64_t piece, int thread, struct lw_error *err);

struct lw_batch {
    /* The caller sets these before start. */
    enum lw_lane lane;
    int64_t n_pieces;
    lw_piece_fn *work;
    void *context;              /* borrowed until wait has returned */

    /* The pool uses these from start to wait. All zero: not started. */
    bool is_started;
    int64_t n_taken, n_done;    /* pieces that a thread has taken; pieces that are done */
    int64_t failed_piece;       /* lowest number of a piece that failed; pieces not tried do not count */
    struct lw_error err;        /* error of `failed_piece`; code LW_OK: no piece failed */
    struct lw_batch *next;      /* next batch of the same lane */
};

/** Create a pool. LW_ESYSTEM: no memory, or a thread cannot be started. @param n_threads  1 or more */
int lw_pool_create(int n_threads, struct lw_pool **out, struct lw_error *err);
void lw_pool_destroy(struct lw_pool *pool);                 /* every started batch must have been waited for; NULL is legal */

int lw_pool_threads(const struct lw_pool *pool);

/** Start a batch and return. The batch must not be touched until wait. A batch may have no pieces. */
void lw_pool_start(struct lw_pool *pool, struct lw_batch *batch);

/** Wait for all pieces of a batch; return at once if the batch was not started. Once a piece has failed, pieces that no thread
 * has taken are skipped. @return  the code of the failed piece with the lowest number, whose error goes to `err`; LW_OK */
int lw_pool_wait(struct lw_pool *pool, struct lw_batch *batch, struct lw_error *err);

/** Set a function that every long lw_pool_wait calls about four times a second, for example to receive messages. NULL: none. */
void lw_pool_meanwhile(void (*look)(void));

/** Return whether lw_pool_wait would return at once: all pieces are done, or the batch was not started. */
bool lw_pool_is_done(struct lw_pool *pool, const struct lw_batch *batch);

/** Return the seconds during which at least one thread worked in a lane; 0 if `pool` is NULL. */
double lw_pool_busy_seconds(struct lw_pool *pool, enum lw_lane lane);
