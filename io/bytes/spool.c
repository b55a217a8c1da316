#include "io/bytes/spool.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lw_spool {
    struct lw_spool_spec spec;
    char *memory;                   /* memory_rows, and one more: */
    char *last;                     /* the last row of the file's last run */
    int64_t memory_rows, half_rows;

    /* Rows that come. */
    int64_t n_here;                 /* in the first half of the memory */
    int64_t n_stored;               /* in the file */
    int fd;                         /* -1: there is no file */
    bool is_in_order;               /* the file's runs, end to end */

    /* Rows that go: from memory, or merged. */
    const char *sorted;             /* NULL: merged */
    int64_t n_sorted;               /* of these, that have not gone */
    int64_t offset, run_rows;       /* of the file's runs */
    struct lw_merge merge;
};

/* ---- create -------------------------------------------------------------------------------------------------------- */

int lw_spool_create(const struct lw_spool_spec *spec, struct lw_spool **out, struct lw_error *err)
{
    const int64_t rows = spec->memory_bytes / spec->row.bytes;
    assert(rows > LW_MERGE_MOST);
    struct lw_spool *const spool = lw_alloc(sizeof *spool, "the rows of a table", err);
    char *const memory = lw_alloc_array(rows + 1, (size_t)spec->row.bytes, "the rows of a table", err);
    if (!spool || !memory) {
        lw_free(spool);
        lw_free(memory);
        return LW_ESYSTEM;
    }
    *spool = (struct lw_spool){.spec = *spec, .memory = memory, .last = memory + rows * spec->row.bytes, .memory_rows = rows,
                               .half_rows = rows / 2, .fd = -1, .is_in_order = true};
    *out = spool;
    return LW_OK;
}

void lw_spool_destroy(struct lw_spool *spool)
{
    if (!spool)
        return;
    if (spool->fd >= 0)
        close(spool->fd);
    lw_free(spool->memory);
    lw_free(spool);
}

/* ---- rows that come ------------------------------------------------------------------------------------------------ */

static int fail_keep(const struct lw_spool *spool, const char *reason, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "cannot keep the rows of %.100s in a temporary file in '%.600s': %.100s; make room there, or write "
                   "the result to another folder", spool->spec.name, spool->spec.folder, reason);
}

/* On file systems that make no file without a name, it loses its name at once. */
static int open_file(struct lw_spool *spool, struct lw_error *err)
{
    char path[PATH_MAX];
    spool->fd = open(spool->spec.folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (spool->fd >= 0)
        return LW_OK;
    snprintf(path, sizeof path, "%s/.lapwing-rows-XXXXXX", spool->spec.folder);
    spool->fd = mkostemp(path, O_CLOEXEC);
    if (spool->fd < 0)
        return fail_keep(spool, strerror(errno), err);
    unlink(path);
    return LW_OK;
}

/* The rows in memory become the file's last run. */
static int store_run(struct lw_spool *spool, struct lw_error *err)
{
    const struct lw_row_type *const row = &spool->spec.row;
    const char *const rows = lw_rows_sort(row, spool->memory, spool->memory + spool->half_rows * row->bytes, spool->n_here);
    struct lw_error reason;
    const int rc = spool->fd < 0 ? open_file(spool, err) : LW_OK;
    if (rc)
        return rc;
    if (lw_bytes_write(spool->fd, rows, spool->n_stored * row->bytes, spool->n_here * row->bytes, &reason) != LW_OK)
        return fail_keep(spool, reason.message, err);
    spool->is_in_order = spool->is_in_order && (spool->n_stored == 0 || row->compare(spool->last, rows) <= 0);
    memcpy(spool->last, rows + (spool->n_here - 1) * row->bytes, (size_t)row->bytes);
    spool->n_stored += spool->n_here;
    spool->n_here = 0;
    return LW_OK;
}

int lw_spool_append(struct lw_spool *spool, const void *rows, int64_t n, struct lw_error *err)
{
    const int64_t bytes = spool->spec.row.bytes;
    const char *rest = rows;
    while (n > 0) {
        const int rc = spool->n_here == spool->half_rows ? store_run(spool, err) : LW_OK;
        if (rc)
            return rc;
        const int64_t fits = lw_min64(n, spool->half_rows - spool->n_here);
        memcpy(spool->memory + spool->n_here * bytes, rest, (size_t)(fits * bytes));
        spool->n_here += fits;
        rest += fits * bytes;
        n -= fits;
    }
    return LW_OK;
}

int64_t lw_spool_rows(const struct lw_spool *spool)
{
    return spool->n_stored + spool->n_here;
}

/* ---- rows that go -------------------------------------------------------------------------------------------------- */

static int fail_read(const struct lw_spool *spool, const char *reason, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "cannot read the rows of %.100s back from a temporary file in '%.600s': %.100s; write the result "
                   "to another folder", spool->spec.name, spool->spec.folder, reason);
}

/* Of the memory each of n runs gets as much as what is merged of them. */
static int64_t merged_rows(const struct lw_spool *spool, int64_t n_runs)
{
    return spool->memory_rows / (n_runs + 1);
}

static char *merged(const struct lw_spool *spool, int64_t n_runs)
{
    return spool->memory + n_runs * merged_rows(spool, n_runs) * spool->spec.row.bytes;
}

/* Rows [first, first + n) of the file: LW_MERGE_MOST runs at most. */
static int begin_merge(struct lw_spool *spool, int64_t first, int64_t n, struct lw_error *err)
{
    struct lw_error reason;
    const int64_t n_runs = lw_divide_up(n, spool->run_rows);
    const struct lw_merge_spec spec = {
        .type = &spool->spec.row, .fd = spool->fd, .offset = spool->offset + first * spool->spec.row.bytes, .n_rows = n,
        .run_rows = spool->run_rows, .memory = spool->memory, .memory_rows = n_runs * merged_rows(spool, n_runs),
    };
    return lw_merge_begin(&spool->merge, &spec, &reason) == LW_OK ? LW_OK : fail_read(spool, reason.message, err);
}

/* @param rows  set to the rows, in memory */
static int next_merged(struct lw_spool *spool, const void **rows, int64_t *n, struct lw_error *err)
{
    struct lw_error reason;
    const int64_t n_runs = lw_divide_up(spool->merge.spec.n_rows, spool->run_rows);
    char *const into = merged(spool, n_runs);
    *rows = into;
    if (lw_merge_next(&spool->merge, into, merged_rows(spool, n_runs), n, &reason) == LW_OK)
        return LW_OK;
    return fail_read(spool, reason.message, err);
}

/* LW_MERGE_MOST runs, or those that are left, become one, which lies `to` bytes into the file. */
static int merge_group(struct lw_spool *spool, int64_t first, int64_t n, int64_t to, struct lw_error *err)
{
    struct lw_error reason;
    const void *rows;
    int64_t count;
    int rc = begin_merge(spool, first, n, err);
    while (rc == LW_OK && (rc = next_merged(spool, &rows, &count, err)) == LW_OK && count > 0) {
        const int64_t bytes = count * spool->spec.row.bytes;
        if (lw_bytes_write(spool->fd, rows, to, bytes, &reason) != LW_OK)
            return fail_keep(spool, reason.message, err);
        to += bytes;
    }
    return rc;
}

/* What is lost on its way to the disk is told here, and would else be read as something else. */
static int sync_file(struct lw_spool *spool, struct lw_error *err)
{
    return fdatasync(spool->fd) == 0 ? LW_OK : fail_keep(spool, strerror(errno), err);
}

/* All runs of one half of the file, group by group, into the other half. */
static int merge_groups(struct lw_spool *spool, struct lw_error *err)
{
    const int64_t group = LW_MERGE_MOST * spool->run_rows, bytes = spool->spec.row.bytes;
    const int64_t to = spool->offset == 0 ? spool->n_stored * bytes : 0;
    int rc = sync_file(spool, err);
    for (int64_t first = 0; first < spool->n_stored && rc == LW_OK; first += group)
        rc = merge_group(spool, first, lw_min64(group, spool->n_stored - first), to + first * bytes, err);
    spool->offset = to;
    spool->run_rows = group;
    return rc;
}

int lw_spool_sort(struct lw_spool *spool, struct lw_error *err)
{
    int rc;
    if (spool->n_stored == 0) {
        spool->sorted = lw_rows_sort(&spool->spec.row, spool->memory, spool->memory + spool->half_rows * spool->spec.row.bytes,
                                     spool->n_here);
        spool->n_sorted = spool->n_here;
        return LW_OK;
    }
    if ((rc = store_run(spool, err)))
        return rc;
    spool->run_rows = spool->is_in_order ? spool->n_stored : spool->half_rows;
    while (rc == LW_OK && lw_divide_up(spool->n_stored, spool->run_rows) > LW_MERGE_MOST)
        rc = merge_groups(spool, err);
    (void)(rc || (rc = sync_file(spool, err)) || (rc = begin_merge(spool, 0, spool->n_stored, err)));
    return rc;
}

int lw_spool_next(struct lw_spool *spool, const void **rows, int64_t *n, struct lw_error *err)
{
    if (!spool->sorted)
        return next_merged(spool, rows, n, err);
    *rows = spool->sorted;
    *n = spool->n_sorted;
    spool->n_sorted = 0;
    return LW_OK;
}
