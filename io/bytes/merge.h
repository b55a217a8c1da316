/* merge.h - rows of a fixed size brought into order: in memory, and sorted runs of a file that are merged into one.
 *
 *     | run 0 | run 1 | ... | last run |      each of `run_rows` rows, the last one of those that are left
 *
 * Rows that compare equal keep the order in which they came: those of an earlier run stand first. */
#pragma once

#include "base/error.h"

#include <stdint.h>

enum { LW_MERGE_MOST = 128 };       /* runs that are merged at a time */

struct lw_row_type {
    int64_t bytes;                  /* of a row */
    int (*compare)(const void *a, const void *b);       /* the order, as for qsort */
};

/** Sort rows in memory.
 * @param rows   [n], overwritten
 * @param spare  [n], room to work in
 * @return       where the sorted rows are: `rows` or `spare` */
void *lw_rows_sort(const struct lw_row_type *type, void *rows, void *spare, int64_t n);

/* The runs to be merged; all borrowed until the last row is taken. */
struct lw_merge_spec {
    const struct lw_row_type *type;
    int fd;
    int64_t offset;                 /* of run 0 in the file, bytes */
    int64_t n_rows, run_rows;       /* of all runs; of each. LW_MERGE_MOST runs at most */
    void *memory;                   /* for `memory_rows` rows, at least one for each run: in which they are read */
    int64_t memory_rows;
};

/* A run on its way through its part of the memory. */
struct lw_merge_run {
    char *buffer;
    int64_t at, n;                  /* rows of the buffer: [at, n) have not been taken */
    int64_t next, end;              /* rows of the file: [next, end) have not been read */
};

struct lw_merge {
    struct lw_merge_spec spec;
    int64_t buffer_rows;            /* of each run */
    struct lw_merge_run runs[LW_MERGE_MOST];
    int heap[LW_MERGE_MOST];        /* the runs that have rows left: that at place i follows that at (i - 1) / 2 */
    int n_left;
};

/** Read the beginning of each run. LW_EIO; the message is the reason alone. */
int lw_merge_begin(struct lw_merge *merge, const struct lw_merge_spec *spec, struct lw_error *err);

/** Take the next rows. LW_EIO; the message is the reason alone.
 * @param rows  [most]
 * @param n     how many rows there are: `most`, or fewer at the end, then 0 */
int lw_merge_next(struct lw_merge *merge, void *rows, int64_t most, int64_t *n, struct lw_error *err);
