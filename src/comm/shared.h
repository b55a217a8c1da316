/* shared.h - a block of bytes that all ranks need and none changes, such as a bank of filters. Ranks of one node hold it once.
 *
 *     create  ->  each rank fills its part (lw_shared_part)  ->  lw_shared_complete sends the parts between nodes  ->  destroy
 *
 * The ranks of a node share a window of MPI. Where /dev/shm, which holds the window, is too small, each rank has a copy. */
#pragma once

#include "comm/comm.h"

struct lw_shared {
    struct lw_comm *comm;       /* borrowed */
    void *data;                 /* all bytes, zero at first; aligned to LW_ALIGNMENT */
    int64_t rows, row_bytes;
    void *window;               /* the memory of one rank or the window of several, for this file's functions only */
    int owner;                  /* lowest rank that holds the same memory: itself where each rank has a copy */
};

/** Allocate rows x row_bytes. LW_ESYSTEM: no memory. Collective. @param what  name of the content, for the message */
int lw_shared_create(struct lw_comm *comm, int64_t rows, int64_t row_bytes, const char *what, struct lw_shared *out,
                     struct lw_error *err);
void lw_shared_destroy(struct lw_shared *shared);           /* Collective, unless nothing was created. */

/** Return the rows [*begin, *end) that this rank fills. The parts of all ranks are all rows, each once. */
void lw_shared_part(const struct lw_shared *shared, int64_t *begin, int64_t *end);

/** Wait until every rank has filled its part, and make all rows known to all ranks. Collective. */
void lw_shared_complete(struct lw_shared *shared);
