#include "io/write/table_rows.h"

#include "base/integers.h"

/* One run, from row `at` of the table on: the rank that has it writes, the others take part. */
static int write_run(struct lw_writer *writer, int dataset, const struct lw_table_rows *rows, int64_t run, int64_t at, void *buffer,
                     int64_t buffer_rows, struct lw_error *err)
{
    const bool is_mine = rows->is_mine(rows->context, run);
    const int64_t all = rows->count(rows->context, run);
    int rc = LW_OK;
    for (int64_t first = 0; first < all && rc == LW_OK; first += buffer_rows) {
        const int64_t count = is_mine ? lw_min64(buffer_rows, all - first) : 0;
        if (is_mine)
            rows->fill(rows->context, run, first, count, buffer);
        rc = lw_writer_write(writer, dataset, &(int64_t){is_mine ? at + first : 0}, &count, buffer, err);
    }
    return rc;
}

int lw_writer_rows(struct lw_writer *writer, int dataset, const struct lw_table_rows *rows, void *buffer, int64_t buffer_rows,
                 struct lw_error *err)
{
    int64_t at = 0;
    int rc = LW_OK;
    for (int64_t run = 0; run < rows->n_runs && rc == LW_OK; run++) {
        rc = write_run(writer, dataset, rows, run, at, buffer, buffer_rows, err);
        at += rows->count(rows->context, run);
    }
    return rc;
}
