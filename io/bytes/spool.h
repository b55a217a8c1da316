/* spool.h - the rows of a table that nobody has counted: taken in any order, given back sorted, in bounded memory.
 *
 *     create -> append ... append -> sort -> next ... next -> destroy
 *
 * Rows gather in half of the memory; where all of them fit, they stay there. Else each half that is full becomes a sorted run of a
 * file without a name, and the runs are merged at the end, in several steps where they are more than LW_MERGE_MOST: then the file
 * needs room for the rows twice. Where each run begins behind the end of the one before it, they are one, and none are merged.
 * Rows that compare equal keep the order in which they came. Nothing is allocated after create. */
#pragma once

#include "base/error.h"

#include <stdint.h>

#define LW_SPOOL_BYTES ((int64_t)16 << 20)      /* of memory: 1 GiB of rows is merged in one step */

enum { LW_MERGE_MOST = 128 };       /* runs that are merged at a time */

struct lw_row_type {
    int64_t bytes;                  /* of a row */
    int (*compare)(const void *a, const void *b);       /* the order, as for qsort */
};

struct lw_spool;

struct lw_spool_spec {
    struct lw_row_type row;
    const char *name, *folder;      /* what is spooled, for messages, and where its file will be; borrowed for the spool's life */
    int64_t memory_bytes;           /* for more than LW_MERGE_MOST rows: LW_SPOOL_BYTES, but for tests */
};

/** LW_ESYSTEM: no memory. No file is touched yet. */
int lw_spool_create(const struct lw_spool_spec *spec, struct lw_spool **out, struct lw_error *err);

/** Add rows. LW_EIO, naming the folder: they cannot be kept there; then only destroy may follow. */
int lw_spool_append(struct lw_spool *spool, const void *rows, int64_t n, struct lw_error *err);

int64_t lw_spool_rows(const struct lw_spool *spool);        /* so far */

/** Bring all rows into order, after the last append. LW_EIO, as append; or they cannot be read back. */
int lw_spool_sort(struct lw_spool *spool, struct lw_error *err);

/** Take the next rows. LW_EIO. @param rows  set to them: the spool's, until the next call. @param n  0: there are no more */
int lw_spool_next(struct lw_spool *spool, const void **rows, int64_t *n, struct lw_error *err);

void lw_spool_destroy(struct lw_spool *spool);              /* the file goes with it; NULL is legal */
