/* pool.h - threads that move bytes: they read, write and decode pieces side by side, while the main thread does MPI and HDF5,
 * of which they call nothing.
 *
 *     batch   pieces of one kind of work, in any order on any thread; several batches may be under way
 *     lane    what a batch does: half the threads look for reads first and half for writes, so that neither waits until all of
 *             the other is done. Batches of a lane are taken in the order in which they were started.
 *
 *     create -> start (batch) ... wait (batch) -> destroy
 *
 * All functions are for one thread, that which created the pool. Nothing is allocated by start and wait. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct lw_pool;

enum lw_lane { LW_LANE_READ, LW_LANE_WRITE, LW_LANES };

/** Do one piece. @param thread  number of the thread that does it, from 0: for memory that each thread has of its own */
typedef int lw_piece_fn(void *context, int64_t piece, int thread, struct lw_error *err);

struct lw_batch {
    /* Set before start. */
    enum lw_lane lane;
    int64_t n_pieces;
    lw_piece_fn *work;
    void *context;              /* borrowed until wait has returned */

    /* The pool's, from start to wait. All zero: not started. */
    bool is_started;
    int64_t n_taken, n_done;
    int64_t failed_piece;       /* the lowest that failed, of those tried */
    struct lw_error err;        /* its error; code LW_OK: none failed */
    struct lw_batch *next;      /* in the lane */
};

/** LW_ESYSTEM: no memory, no thread. @param n_threads  1 or more */
int lw_pool_create(int n_threads, struct lw_pool **out, struct lw_error *err);
void lw_pool_destroy(struct lw_pool *pool);                 /* every batch has been waited for; NULL is legal */

int lw_pool_threads(const struct lw_pool *pool);

/** Hand out a batch and return. It is not to be touched until wait; no pieces are legal. */
void lw_pool_start(struct lw_pool *pool, struct lw_batch *batch);

/** Wait for all pieces of a batch, one that is not started included. After one has failed, those that have not been taken are
 * left out. @return  the code of the lowest piece that failed; its error goes to `err` */
int lw_pool_wait(struct lw_pool *pool, struct lw_batch *batch, struct lw_error *err);

/** What every lw_pool_wait that takes long is to do now and then, such as to look for messages. NULL: nothing. */
void lw_pool_meanwhile(void (*look)(void));

/** Whether all pieces are done: wait would return at once. */
bool lw_pool_is_done(struct lw_pool *pool, const struct lw_batch *batch);

/** Seconds, so far, during which some thread was at work in a lane. Without a pool, NULL: 0. */
double lw_pool_busy_seconds(struct lw_pool *pool, enum lw_lane lane);
