/* put.h - hyperslabs of a result's datasets to their place in the file, by the threads of a pool: no call of HDF5, none of
 * MPI.
 *
 *     open -> begin (several may be under way) ... end -> close */
#pragma once

#include "base/pool.h"
#include "io/bytes/store.h"
#include "io/dataset.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- where a hyperslab of a contiguous dataset lies in its file. Pure arithmetic.
 *
 *     memory   |  run 0  |  run 1  |  run 2  |          one block, row-major
 *     file     ..|  run 0  |.....|  run 1  |.....|  run 2  |...
 *
 * A run is as long as the dimensions that the hyperslab takes whole make it. Runs are cut into pieces, or several go together
 * in one, so that pieces are of about one size, whatever the shape. They are cut at multiples of the pieces' size in the file:
 * no two pieces of a run have a page or a stripe of the disk in common. */

/* The dataset, in its file. */
struct lw_extent {
    int64_t offset;                 /* of its first element, bytes */
    int64_t element_bytes;
    int n_dims;
    int64_t dims[LW_MAX_DIMS];
    int number_bytes;               /* of each number of an element, where one of the next two is set */
    bool is_swapped;                /* they stand in the other byte order in the file */
    bool is_about_middle;           /* they are big-endian integers with their highest bit flipped (FITS: uint16, int8) */
};

struct lw_runs {
    int64_t offset;                 /* of run 0 */
    int64_t run_bytes, n_runs;      /* n_runs 0: the hyperslab is empty */
    int n_outer;                    /* dimensions that run numbers count through, and bytes from one index to the next */
    int64_t count[LW_MAX_DIMS], pitch[LW_MAX_DIMS];
    int64_t piece_bytes;
    int64_t parts;                  /* pieces that a run is cut into at most, or 1 */
    int64_t together;               /* runs in one piece, or 1 */
    int64_t n_pieces;
};

/* Part of a piece: bytes that are contiguous in the file. */
struct lw_run {
    int64_t memory, file;           /* where they begin in the block, and in the file */
    int64_t bytes;
};

/** The hyperslab [first, first + count), in pieces of `piece_bytes` at most, and not far below where runs allow it. */
struct lw_runs lw_runs_plan(const struct lw_extent *extent, const int64_t *first, const int64_t *count, int64_t piece_bytes);

/** Runs of a piece, or parts of a run; and one of them, which may have no bytes. 0 <= piece < n_pieces. */
int64_t lw_runs_in_piece(const struct lw_runs *runs, int64_t piece);
struct lw_run lw_runs_get(const struct lw_runs *runs, int64_t piece, int64_t index);

/* ---- writing it */

/* The bytes of a piece: enough for a disk to work at full rate, few enough for every thread to have several. */
#define LW_PUT_PIECE_BYTES ((int64_t)2 << 20)

/* A write under way; its memory is the caller's and must stay where it is from begin to end. */
struct lw_put {
    struct lw_batch batch;
    struct lw_store *store;         /* borrowed, like the next */
    const struct lw_extent *extent;
    struct lw_runs runs;
    const char *data;
    struct lw_error failure;        /* without a pool: the first one */
};

/** Begin to write the hyperslab [first, first + count) of a dataset from `data`, packed row-major. It and the extent are borrowed
 * until end. @param pool  NULL: it is done at once */
void lw_put_begin(struct lw_pool *pool, struct lw_store *store, const struct lw_extent *extent, const int64_t *first,
                  const int64_t *count, const void *data, struct lw_put *put);

/** Wait for it. LW_EIO; the message is the reason alone. */
int lw_put_end(struct lw_pool *pool, struct lw_put *put, struct lw_error *err);
