/* pinned.h - host memory that may be written at once while it is still being pinned. Several threads create its pages side by
 * side, huge ones where the system has them; the thread that finishes last registers them with the driver.
 *
 *     begin (the memory may be used) ... wait (the device may copy) ... end
 *
 * cudaHostAlloc, by contrast, clears and pins all pages on one thread, and no one can read a file into them meanwhile. */
#pragma once

#include "base/pool.h"

#include <stdint.h>

/* One pinned allocation; all zero: none. */
struct lw_pinned {
    void *memory;               /* aligned to a huge page, zero-filled */
    int64_t bytes;
    int device;                 /* the device (CUDA runtime number) whose context registers the pages */
    int n_left;                 /* pieces whose pages have not been created yet */
    bool is_registered;
    struct lw_batch batch;
};

/** Create the threads that make pages for this rank. LW_ESYSTEM. */
int lw_pinned_threads(struct lw_pool **out, struct lw_error *err);

/** Reserve memory and start to pin it. *pinned must not move until lw_pinned_end. LW_ESYSTEM.
 * @param threads  borrowed; memory is pinned in the order of these calls */
int lw_pinned_begin(struct lw_pinned *pinned, int64_t bytes, int device, struct lw_pool *threads, struct lw_error *err);

/** Wait until the memory is pinned; free of cost from the second call on. LW_ESYSTEM if pinning failed. */
int lw_pinned_wait(struct lw_pinned *pinned, struct lw_pool *threads, struct lw_error *err);

/** Unpin and free the memory; no copy may be in flight from or to it. Accepts an all-zero *pinned. */
void lw_pinned_end(struct lw_pinned *pinned, struct lw_pool *threads);
