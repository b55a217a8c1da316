/* pinned.h - host memory that may be written while it is still being pinned. Several threads create its pages side by side (huge
 * pages where the system has them); the thread that finishes last registers all pages with the driver.
 *
 *     begin (the host may use the memory) ... wait (the device may copy, too) ... end
 *
 * cudaHostAlloc, by contrast, clears and pins all pages on one thread, and the memory cannot be used meanwhile. */
#pragma once

#include "base/pool.h"

/* One pinned allocation; all fields zero: no allocation. */
struct lw_pinned {
    void *memory;               /* aligned to a huge page, zero-filled */
    int64_t bytes;
    int device;                 /* number (in the CUDA runtime) of the device whose context registers the pages */
    int n_left;                 /* pieces whose pages have not been created yet */
    bool is_registered;
    struct lw_batch batch;      /* the work of the threads, a piece each */
};

/** Create the threads that create and register pages. LW_ESYSTEM. */
int lw_pinned_threads(struct lw_pool **out, struct lw_error *err);

/** Reserve memory and start to pin it. *pinned must not move until lw_pinned_end. LW_ESYSTEM.
 * @param threads  borrowed until lw_pinned_end; allocations are pinned in the order of the calls */
int lw_pinned_begin(struct lw_pinned *pinned, int64_t bytes, int device, struct lw_pool *threads, struct lw_error *err);

/** Wait until the memory is pinned; later calls return at once. LW_ESYSTEM if pinning failed. */
int lw_pinned_wait(struct lw_pinned *pinned, struct lw_pool *threads, struct lw_error *err);

/** Unpin and free the memory; no copy may be in flight from or to it. Accepts an all-zero *pinned. */
void lw_pinned_end(struct lw_pinned *pinned, struct lw_pool *threads);
