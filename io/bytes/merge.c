#include "io/bytes/merge.h"

#include "base/integers.h"
#include "io/bytes/transfer.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* ---- in memory ----------------------------------------------------------------------------------------------------- */

static bool is_sorted(const struct lw_row_type *type, const char *rows, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (type->compare(rows + (i - 1) * type->bytes, rows + i * type->bytes) > 0)
            return false;
    return true;
}

/* Rows [0, middle) and [middle, n), each of them sorted. */
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

/* Not by qsort, which allocates as much again where it keeps the order of equal rows. */
void *lw_rows_sort(const struct lw_row_type *type, void *rows, void *spare, int64_t n)
{
    char *from = rows, *to = spare;
    if (is_sorted(type, from, n))
        return from;
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

/* ---- runs of a file ------------------------------------------------------------------------------------------------ */

static const char *first_row(const struct lw_merge *merge, int run)
{
    return merge->runs[run].buffer + merge->runs[run].at * merge->spec.type->bytes;
}

static bool comes_before(const struct lw_merge *merge, int a, int b)
{
    const int order = merge->spec.type->compare(first_row(merge, a), first_row(merge, b));
    return order < 0 || (order == 0 && a < b);
}

/* The run at place `at` of the heap goes down to where those below it come after it. */
static void sink(struct lw_merge *merge, int at)
{
    int *const heap = merge->heap;
    for (int below = 2 * at + 1; below < merge->n_left; below = 2 * at + 1) {
        if (below + 1 < merge->n_left && comes_before(merge, heap[below + 1], heap[below]))
            below++;
        if (!comes_before(merge, heap[below], heap[at]))
            return;
        const int run = heap[at];
        heap[at] = heap[below];
        heap[below] = run;
        at = below;
    }
}

static int read_rows(const struct lw_merge *merge, struct lw_merge_run *run, struct lw_error *err)
{
    const struct lw_merge_spec *const spec = &merge->spec;
    const int64_t bytes = spec->type->bytes;
    run->at = 0;
    run->n = lw_min64(merge->buffer_rows, run->end - run->next);
    const int rc = lw_bytes_read(spec->fd, run->buffer, spec->offset + run->next * bytes, run->n * bytes, err);
    run->next += run->n;
    return rc;
}

int lw_merge_begin(struct lw_merge *merge, const struct lw_merge_spec *spec, struct lw_error *err)
{
    const int n_runs = (int)lw_divide_up(spec->n_rows, spec->run_rows);
    assert(n_runs <= LW_MERGE_MOST && n_runs <= spec->memory_rows);
    *merge = (struct lw_merge){.spec = *spec, .n_left = n_runs};
    merge->buffer_rows = n_runs > 0 ? spec->memory_rows / n_runs : 0;
    for (int r = 0; r < n_runs; r++) {
        const int64_t first = r * spec->run_rows;
        merge->heap[r] = r;
        merge->runs[r] = (struct lw_merge_run){
            .buffer = (char *)spec->memory + r * merge->buffer_rows * spec->type->bytes, .next = first,
            .end = lw_min64(first + spec->run_rows, spec->n_rows),
        };
        const int rc = read_rows(merge, &merge->runs[r], err);
        if (rc)
            return rc;
    }
    for (int at = n_runs / 2; at >= 0; at--)
        sink(merge, at);
    return LW_OK;
}

int lw_merge_next(struct lw_merge *merge, void *rows, int64_t most, int64_t *n, struct lw_error *err)
{
    const int64_t bytes = merge->spec.type->bytes;
    for (*n = 0; *n < most && merge->n_left > 0; ++*n) {
        struct lw_merge_run *const run = &merge->runs[merge->heap[0]];
        memcpy((char *)rows + *n * bytes, run->buffer + run->at * bytes, (size_t)bytes);
        run->at++;
        const int rc = run->at == run->n ? read_rows(merge, run, err) : LW_OK;
        if (rc)
            return rc;
        if (run->n == 0)
            merge->heap[0] = merge->heap[--merge->n_left];
        sink(merge, 0);
    }
    return LW_OK;
}
