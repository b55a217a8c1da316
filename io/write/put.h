/* put.h - hyperslabs of a result's datasets to their place in the file, by the threads of a pool: no call of HDF5, none of
 * MPI.
 *
 *     open -> begin (several may be under way) ... end -> close */
#pragma once

#include "base/pool.h"
#include "io/bytes/store.h"
#include "io/write/runs.h"

/* The bytes of a piece: enough for a disk to work at full rate, few enough for every thread to have several. */
#define LW_PUT_PIECE_BYTES ((int64_t)2 << 20)

/* A write under way; its memory is the caller's and must stay where it is from begin to end. */
struct lw_put {
    struct lw_batch batch;
    struct lw_store *store;         /* borrowed */
    struct lw_runs runs;
    const char *data;
    int number_bytes;               /* as they go to the file, see struct lw_extent */
    bool is_swapped, is_about_middle;
    struct lw_error failure;        /* without a pool: the first one */
};

/** Begin to write the hyperslab [first, first + count) of a dataset from `data`, packed row-major, which is borrowed until
 * end. @param pool  NULL: it is done at once */
void lw_put_begin(struct lw_pool *pool, struct lw_store *store, const struct lw_extent *extent, const int64_t *first,
                  const int64_t *count, const void *data, struct lw_put *put);

/** Wait for it. LW_EIO; the message is the reason alone. */
int lw_put_end(struct lw_pool *pool, struct lw_put *put, struct lw_error *err);
