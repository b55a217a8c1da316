/* spool.h - sort the rows of a table whose length is not known beforehand, in bounded memory.
 *
 *     create -> append ... append (in any order) -> sort -> next ... next (sorted) -> destroy
 *
 * Rows gather in half of the memory. If all of them fit there, no file is used. Otherwise each full half becomes a sorted run of a
 * file without a name, and sort merges the runs. More than LW_MERGE_MOST runs are merged in several steps; the file then needs room
 * for the rows twice. If the runs are in order already, one after the other, they count as one run and nothing is merged. Rows
 * that compare equal keep the order in which they were appended. Nothing is allocated after create. */
#pragma once

#include "base/error.h"

#include <stdint.h>

#define LW_SPOOL_BYTES ((int64_t)16 << 20)      /* memory of a spool: enough to merge 1 GiB of rows in one step */

enum { LW_MERGE_MOST = 128 };       /* most runs that are merged at a time */

struct lw_row_type {
    int64_t bytes;                  /* size of a row */
    int (*compare)(const void *a, const void *b);       /* order of rows, as for qsort */
};

struct lw_spool;

struct lw_spool_spec {
    struct lw_row_type row;
    const char *name, *folder;      /* table's name for messages, and folder of the spool's file; borrowed for the spool's life */
    int64_t memory_bytes;           /* room for more than LW_MERGE_MOST rows: LW_SPOOL_BYTES, or less in tests */
};

/** Create a spool without a file. LW_ESYSTEM: no memory. */
int lw_spool_create(const struct lw_spool_spec *spec, struct lw_spool **out, struct lw_error *err);

/** Append n rows. LW_EIO, naming the folder: the rows cannot be written there; only destroy may follow. */
int lw_spool_append(struct lw_spool *spool, const void *rows, int64_t n, struct lw_error *err);

int64_t lw_spool_rows(const struct lw_spool *spool);        /* rows appended so far */

/** Sort all rows, after the last append. LW_EIO: rows cannot be written, as in append, or cannot be read back. */
int lw_spool_sort(struct lw_spool *spool, struct lw_error *err);

/** Return the next sorted rows. LW_EIO: rows cannot be read back. @param rows  set to rows that the spool owns, valid until the
 * next call. @param n  set to their number; 0: there are no more */
int lw_spool_next(struct lw_spool *spool, const void **rows, int64_t *n, struct lw_error *err);

void lw_spool_destroy(struct lw_spool *spool);              /* removes the spool's file, too; NULL is legal */
