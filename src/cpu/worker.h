/* worker.h - one thread that works through a queue, so that the main thread can use files and MPI meanwhile. */
#ifndef LW_CPU_WORKER_H
#define LW_CPU_WORKER_H

#include "base/error.h"

#include <stdint.h>

struct lw_cpu_worker;

/* Items that may be in the queue at a time. */
#define LW_WORKER_ITEMS 64

/** Start the thread. It receives no signals.
 * @param prepare  called once by the thread before create returns; NULL: nothing to prepare
 * @param work     called by the thread for every item, in the order of submission
 * @param context  borrowed for the worker's life */
int lw_cpu_worker_create(void (*prepare)(void *context), void (*work)(void *context, void *item), void *context,
                         struct lw_cpu_worker **out, struct lw_error *err);

/** Finish what is in the queue, then end the thread. NULL is legal. */
void lw_cpu_worker_destroy(struct lw_cpu_worker *worker);

/** Queue an item, borrowed until it is done.
 * @return  its ticket */
int64_t lw_cpu_worker_submit(struct lw_cpu_worker *worker, void *item);

/** Block until the item of that ticket is done. */
void lw_cpu_worker_wait(struct lw_cpu_worker *worker, int64_t ticket);

#endif
