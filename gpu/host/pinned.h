/* pinned.h - pinned host memory that is there at once and pinned meanwhile: its pages are made by several threads side by side,
 * huge ones where the system has them, and registered with the driver by the last of these.
 *
 *     begin (the memory may be used) ... wait (the device may copy) ... end
 *
 * cudaHostAlloc would have one thread clear and pin all pages, and nobody read into them before. */
#pragma once

#include "base/pool.h"

#include <stdint.h>

/* All zero: none. */
struct lw_pinned {
    void *memory;               /* at the start of a huge page; zero */
    int64_t bytes;
    int device;                 /* on whose behalf the pages are registered: the runtime's number */
    int n_left;                 /* pieces without pages */
    bool is_registered;
    struct lw_batch batch;
};

/** Threads that make pages for this rank. LW_ESYSTEM. */
int lw_pinned_threads(struct lw_pool **out, struct lw_error *err);

/** Reserve memory and start to pin it. Not to be moved until the end. LW_ESYSTEM.
 * @param threads  borrowed; memory is pinned in the order of these calls */
int lw_pinned_begin(struct lw_pinned *pinned, int64_t bytes, int device, struct lw_pool *threads, struct lw_error *err);

/** Wait until it is pinned; costs nothing from the second time on. LW_ESYSTEM: it cannot be. */
int lw_pinned_wait(struct lw_pinned *pinned, struct lw_pool *threads, struct lw_error *err);

/** Give it back; the device copies nothing from or to it. Legal for what is all zero. */
void lw_pinned_end(struct lw_pinned *pinned, struct lw_pool *threads);
