/* table_rows.h - rows of a growing table that several ranks have, written in one order. */
#pragma once

#include "io/write/writer.h"

/* The rows of a table, in runs, each of which one rank has: in the file they stand run by run. */
struct lw_table_rows {
    int64_t n_runs;
    const void *context;                /* borrowed, the first argument of: */
    int64_t (*count)(const void *context, int64_t run);         /* rows of a run; every rank knows */
    bool (*is_mine)(const void *context, int64_t run);          /* whether this rank has them */
    void (*fill)(const void *context, int64_t run, int64_t first, int64_t count, void *rows);   /* if so: some of them */
};

/** Write all rows to the table that is dataset number `dataset`, as many at a time as `buffer` holds. Collective. */
int lw_writer_rows(struct lw_writer *writer, int dataset, const struct lw_table_rows *rows, void *buffer, int64_t buffer_rows,
                 struct lw_error *err);
