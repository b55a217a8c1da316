/* table.h - the result of a sparse run: a table of lines, and one of channels (job/line_rows.h has their rows). */
#pragma once

#include "sparse/state.h"

/** Bytes of rows on their way to the table. */
int64_t lw_sparse_table_bytes(const struct lw_sparse *run);

/** Bytes of both tables, if each channel has as many lines as are asked for. */
int64_t lw_sparse_most_written(const struct lw_sparse *run);

/** Create the file and write both tables. Collective. */
int lw_sparse_write(struct lw_sparse *run, struct lw_error *err);
