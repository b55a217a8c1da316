/* put.h - write hyperslabs of a result's datasets to their places in the file, by a pool's threads, without HDF5 and MPI.
 *
 *     open -> begin (several may be under way) ... end -> close */
#pragma once

#include "base/pool.h"
#include "io/bytes/store.h"
#include "io/dataset.h"

/* ---- the place of a hyperslab of a contiguous dataset in its file. Pure arithmetic.
 *
 *     memory   |  run 0  |  run 1  |  run 2  |          one hyperslab, row-major
 *     file     ..|  run 0  |.....|  run 1  |.....|  run 2  |...
 *
 * A run is contiguous in the file: it spans the last dimensions that the hyperslab takes whole. Long runs are cut into pieces, and
 * short runs share a piece, so that pieces have about one size for any shape. Cuts lie at multiples of the piece size in the file:
 * two pieces of a run never share a page or a stripe of the disk. */

/* The place of a contiguous dataset in its file. */
struct lw_extent {
    int64_t offset;                 /* byte of the first element */
    int64_t element_bytes;
    int n_dims;
    int64_t dims[LW_MAX_DIMS];
    int number_bytes;               /* bytes of each number in an element; used if is_swapped or is_about_middle */
    bool is_swapped;                /* the file has the other byte order */
    bool is_about_middle;           /* the file has big-endian integers with their highest bit flipped (FITS: uint16, int8) */
};

struct lw_runs {
    int64_t offset;                 /* byte of run 0 in the file */
    int64_t run_bytes, n_runs;      /* n_runs 0: the hyperslab is empty */
    int n_outer;                    /* number of outer dimensions, over which the runs are numbered */
    int64_t count[LW_MAX_DIMS], pitch[LW_MAX_DIMS];     /* runs along each outer dimension; bytes from run to run */
    int64_t piece_bytes;
    int64_t parts;                  /* most pieces into which a run is cut, or 1 */
    int64_t together;               /* runs in one piece, or 1 */
    int64_t n_pieces;
};

/* Part of a piece that is contiguous in the file. */
struct lw_run {
    int64_t memory, file;           /* offsets in memory and in the file */
    int64_t bytes;
};

/** Plan to write the hyperslab [first, first + count) in pieces of at most `piece_bytes`, and of about this size if runs allow. */
struct lw_runs lw_runs_plan(const struct lw_extent *extent, const int64_t *first, const int64_t *count, int64_t piece_bytes);

/** Return the number of runs in a piece, 1 for a part of a run. Return one of these runs, perhaps empty. 0 <= piece < n_pieces. */
int64_t lw_runs_in_piece(const struct lw_runs *runs, int64_t piece);
struct lw_run lw_runs_get(const struct lw_runs *runs, int64_t piece, int64_t index);

/* Bytes of a piece: enough for the full rate of a disk, few enough for several pieces per thread. */
#define LW_PUT_PIECE_BYTES ((int64_t)2 << 20)

/* A write under way. The struct is the caller's and must not move between begin and end. */
struct lw_put {
    struct lw_batch batch;
    struct lw_store *store;         /* borrowed, like extent */
    const struct lw_extent *extent;
    struct lw_runs runs;
    const char *data;
    struct lw_error failure;        /* first failure of a write without a pool */
};

/** Begin to write the hyperslab [first, first + count) of a dataset from `data`, packed row-major. `data` and `extent` are
 * borrowed until end. @param pool  NULL: the write is done at once */
void lw_put_begin(struct lw_pool *pool, struct lw_store *store, const struct lw_extent *extent, const int64_t *first,
                  const int64_t *count, const void *data, struct lw_put *put);

/** Wait for the write. LW_EIO; the message is only the reason. */
int lw_put_end(struct lw_pool *pool, struct lw_put *put, struct lw_error *err);
