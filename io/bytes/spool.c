#include "io/bytes/spool.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A sorted run of the file, and the buffer through which its rows pass. */
struct run {
    char *buffer;
    int64_t at, n;                  /* rows [at, n) of the buffer have not been taken */
    int64_t next, end;              /* rows [next, end) of the file have not been read */
};

struct lw_spool {
    struct lw_spool_spec spec;
    char *memory;                   /* memory_rows rows, then the row at `last` */
    char *last;                     /* last row of the file's last run */
    int64_t memory_rows, half_rows;

    /* Rows being appended. */
    int64_t n_here;                 /* rows in the first half of the memory */
    int64_t n_stored;               /* rows in the file */
    int fd;                         /* -1: there is no file */
    bool is_in_order;               /* the runs, one after the other, are in order already */

    /* Rows being handed out, from memory or by merging. */
    const char *sorted;             /* all rows, sorted in memory; NULL: rows are merged */
    int64_t n_sorted;               /* rows of `sorted` that have not been handed out */
    int64_t offset, run_rows;       /* the file's runs begin at byte `offset`; each has run_rows rows, the last one the rest */
    int64_t buffer_rows;            /* rows in the buffer of each run, and in `merged` */
    char *merged;
    struct run runs[LW_MERGE_MOST];
    int heap[LW_MERGE_MOST];        /* binary heap of the runs with rows left, by first row: (i - 1) / 2 precedes i */
    int n_left;
};

/* ---- in memory ----------------------------------------------------------------------------------------------------- */

/* Merge rows [0, middle) and rows [middle, n), both sorted, into `into`. */
static void merge_halves(const struct lw_row_type *type, const char *rows, int64_t middle, int64_t n, char *into)
{
    int64_t left = 0, right = middle;
    while (left < middle && right < n) {
        const bool takes_left = type->compare(rows + left * type->bytes, rows + right * type->bytes) <= 0;
        memcpy(into, rows + (takes_left ? left++ : right++) * type->bytes, (size_t)type->bytes);
        into += type->bytes;
    }
    memcpy(into, rows + left * type->bytes, (size_t)((middle - left) * type->bytes));
    into += (middle - left) * type->bytes;
    memcpy(into, rows + right * type->bytes, (size_t)((n - right) * type->bytes));
}

/* Sort n rows by merging; equal rows keep their order. qsort need not keep it, and may allocate. Overwrites `rows` and `spare`.
 * @return  `rows` or `spare`, whichever holds the sorted rows */
static char *sort(const struct lw_row_type *type, char *rows, char *spare, int64_t n)
{
    char *from = rows, *to = spare;
    int64_t in_order = 1;
    while (in_order < n && type->compare(rows + (in_order - 1) * type->bytes, rows + in_order * type->bytes) <= 0)
        in_order++;
    if (in_order >= n)
        return rows;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t first = 0; first < n; first += 2 * width)
            merge_halves(type, from + first * type->bytes, lw_min64(width, n - first), lw_min64(2 * width, n - first),
                         to + first * type->bytes);
        char *const sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

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

/* ---- rows being appended ------------------------------------------------------------------------------------------- */

static int fail_keep(const struct lw_spool *spool, const char *reason, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "cannot keep the rows of %.100s in a temporary file in '%.600s': %.100s; make room there, or write "
                   "the result to another folder", spool->spec.name, spool->spec.folder, reason);
}

/* Open a file without a name. Where the file system has no such files, make a file with a name, and remove the name at once. */
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

/* Sort the rows in memory and write them as the file's next run. */
static int store_run(struct lw_spool *spool, struct lw_error *err)
{
    const struct lw_row_type *const row = &spool->spec.row;
    const char *const rows = sort(row, spool->memory, spool->memory + spool->half_rows * row->bytes, spool->n_here);
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

int64_t lw_spool_rows(const struct lw_spool *spool) { return spool->n_stored + spool->n_here; }

/* ---- rows being handed out ----------------------------------------------------------------------------------------- */

static const char *first_row(const struct lw_spool *spool, int run)
{
    return spool->runs[run].buffer + spool->runs[run].at * spool->spec.row.bytes;
}

static bool comes_before(const struct lw_spool *spool, int a, int b)
{
    const int order = spool->spec.row.compare(first_row(spool, a), first_row(spool, b));
    return order < 0 || (order == 0 && a < b);
}

/* Move the run at entry `at` of the heap down while the first row of a run below comes before its own. */
static void sink(struct lw_spool *spool, int at)
{
    int *const heap = spool->heap;
    for (int below = 2 * at + 1; below < spool->n_left; below = 2 * at + 1) {
        if (below + 1 < spool->n_left && comes_before(spool, heap[below + 1], heap[below]))
            below++;
        if (!comes_before(spool, heap[below], heap[at]))
            return;
        const int run = heap[at];
        heap[at] = heap[below];
        heap[below] = run;
        at = below;
    }
}

static int read_rows(const struct lw_spool *spool, struct run *run, struct lw_error *err)
{
    const int64_t bytes = spool->spec.row.bytes;
    struct lw_error reason;
    run->at = 0;
    run->n = lw_min64(spool->buffer_rows, run->end - run->next);
    if (lw_bytes_read(spool->fd, run->buffer, spool->offset + run->next * bytes, run->n * bytes, &reason) != LW_OK)
        return lw_fail(err, LW_EIO, "cannot read the rows of %.100s back from a temporary file in '%.600s': %.100s; write the "
                       "result to another folder", spool->spec.name, spool->spec.folder, reason.message);
    run->next += run->n;
    return LW_OK;
}

/* Read the beginnings of the runs in rows [first, first + n) of the file: LW_MERGE_MOST runs at most. */
static int begin_merge(struct lw_spool *spool, int64_t first, int64_t n, struct lw_error *err)
{
    const int n_runs = (int)lw_divide_up(n, spool->run_rows);
    const int64_t end = first + n;
    assert(n_runs <= LW_MERGE_MOST && n_runs < spool->memory_rows);
    spool->n_left = n_runs;
    spool->buffer_rows = spool->memory_rows / (n_runs + 1);
    spool->merged = spool->memory + n_runs * spool->buffer_rows * spool->spec.row.bytes;
    for (int r = 0; r < n_runs; r++, first += spool->run_rows) {
        spool->heap[r] = r;
        spool->runs[r] = (struct run){.buffer = spool->memory + r * spool->buffer_rows * spool->spec.row.bytes, .next = first,
                                      .end = lw_min64(first + spool->run_rows, end)};
        const int rc = read_rows(spool, &spool->runs[r], err);
        if (rc)
            return rc;
    }
    for (int at = n_runs / 2; at >= 0; at--)
        sink(spool, at);
    return LW_OK;
}

/* Merge the next rows, as many as `merged` holds. @param n  set to their number: fewer at the end, then 0 */
static int next_merged(struct lw_spool *spool, int64_t *n, struct lw_error *err)
{
    const int64_t bytes = spool->spec.row.bytes;
    for (*n = 0; *n < spool->buffer_rows && spool->n_left > 0; ++*n) {
        struct run *const run = &spool->runs[spool->heap[0]];
        memcpy(spool->merged + *n * bytes, run->buffer + run->at * bytes, (size_t)bytes);
        run->at++;
        const int rc = run->at == run->n ? read_rows(spool, run, err) : LW_OK;
        if (rc)
            return rc;
        if (run->n == 0)
            spool->heap[0] = spool->heap[--spool->n_left];
        sink(spool, 0);
    }
    return LW_OK;
}

/* Wait for the disk. A write may fail on its way there: this call reports it, before wrong rows would be read back. */
static int sync_file(struct lw_spool *spool, struct lw_error *err)
{
    return fdatasync(spool->fd) == 0 ? LW_OK : fail_keep(spool, strerror(errno), err);
}

/* Merge all runs from one half of the file into the other: every LW_MERGE_MOST runs become one, the last group may have fewer. */
static int merge_groups(struct lw_spool *spool, struct lw_error *err)
{
    const int64_t group = LW_MERGE_MOST * spool->run_rows, bytes = spool->spec.row.bytes;
    const int64_t to = spool->offset == 0 ? spool->n_stored * bytes : 0;
    struct lw_error reason;
    int64_t at = to, count;
    int rc = sync_file(spool, err);
    for (int64_t first = 0; first < spool->n_stored && rc == LW_OK; first += group) {
        rc = begin_merge(spool, first, lw_min64(group, spool->n_stored - first), err);
        while (rc == LW_OK && (rc = next_merged(spool, &count, err)) == LW_OK && count > 0) {
            if (lw_bytes_write(spool->fd, spool->merged, at, count * bytes, &reason) != LW_OK)
                return fail_keep(spool, reason.message, err);
            at += count * bytes;
        }
    }
    spool->offset = to;
    spool->run_rows = group;
    return rc;
}

int lw_spool_sort(struct lw_spool *spool, struct lw_error *err)
{
    int rc;
    if (spool->n_stored == 0) {
        spool->sorted = sort(&spool->spec.row, spool->memory, spool->memory + spool->half_rows * spool->spec.row.bytes,
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
    if (!spool->sorted) {
        *rows = spool->merged;
        return next_merged(spool, n, err);
    }
    *rows = spool->sorted;
    *n = spool->n_sorted;
    spool->n_sorted = 0;
    return LW_OK;
}
