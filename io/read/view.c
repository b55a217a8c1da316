/* view.c - which part of a dataset is shown, and how it is read. */
#include "io/read/chunks.h"

#include "base/integers.h"
#include "base/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define MIB ((int64_t)1 << 20)

/* File bytes of one read where every so many channels are picked out of contiguous rows. */
#define BOUNCE_BYTES (32 * MIB)

/* ---- the view ------------------------------------------------------------------------------------------------------ */

/* One call reads everything. Only where channels are picked out of contiguous rows, calls are as large as the bounce buffer,
 * unless there is a row of chunks to pick them from: whole rows of the fast dimension, as many as fit; where not one does,
 * parts of a row. */
static struct calls plan_calls(const struct lw_source *source, const struct lw_view_spec *view)
{
    if (source->direct.is_on || !lw_view_picks(source, view) || lw_chunks_are_kept(source, view))
        return (struct calls){INT64_MAX, INT64_MAX, 0};
    struct calls calls = {.slow = view->max_axis, .fast = view->max_channels};
    const int64_t limit = BOUNCE_BYTES / lw_view_sample_bytes(source, view);
    const int64_t fast = min64(calls.fast, (limit - 1) / view->channels.step + 1);
    const int64_t row = lw_view_extent(view, fast);
    calls.slow = min64(calls.slow, fast < calls.fast ? 1 : limit / row);
    calls.fast = fast;
    calls.bounce_bytes = calls.slow * row * lw_view_sample_bytes(source, view);
    return calls;
}

int64_t lw_source_bytes(const struct lw_source *source, const struct lw_view_spec *view)
{
    return source->described.opened_bytes + plan_calls(source, view).bounce_bytes + lw_chunks_bytes(source, view) +
           (source->direct.is_on ? lw_direct_bytes(source, view) : 0);
}

static int check_range(const struct lw_dataset_info *info, const char *what, int64_t begin, int64_t end, int64_t length,
                       struct lw_error *err)
{
    if (0 <= begin && begin < end && end <= length)
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "%s %" PRId64 "..%" PRId64 " of %s do not exist: there are 0..%" PRId64, what, begin,
                   end - 1, lw_dataset_name(info).text, length - 1);
}

int lw_view_check(const struct lw_dataset_info *info, const struct lw_view_spec *view, struct lw_error *err)
{
    const int n_dims = info->n_dims - (view->has_rows ? 1 : 0);
    if (n_dims < 1 || n_dims > 2)
        return lw_fail(err, LW_EDATA, "%s has %d dimensions: %s can be read", lw_dataset_name(info).text, info->n_dims,
                       view->has_rows ? "2 or 3" : "1 or 2");
    if (view->axis < 0 || view->axis >= n_dims || (view->has_rows && view->axis != n_dims - 1))
        return lw_fail(err, LW_ECONFIG, "%s has %d dimensions: dimension %d cannot be the axis", lw_dataset_name(info).text,
                       info->n_dims, view->axis);
    if (view->channels.step < 1)
        return lw_fail(err, LW_ECONFIG, "channel step %" PRId64 " is not 1 or more", view->channels.step);
    const int64_t n_channels = n_dims == 2 ? info->dims[1 - view->axis] : 1;
    int rc;
    if ((rc = check_range(info, "samples", view->start, view->start + view->count, info->dims[view->axis], err)) ||
        (rc = check_range(info, "channels", view->channels.begin, view->channels.end, n_channels, err)))
        return rc;
    return LW_OK;
}

int lw_source_select(struct lw_source *source, const struct lw_view_spec *view, struct lw_error *err)
{
    int rc = lw_view_check(&source->info, view, err);
    if (rc)
        return rc;
    assert(view->max_axis > 0 && view->max_channels > 0);
    source->view = *view;
    source->calls = plan_calls(source, view);
    lw_free(source->bounce);
    source->bounce = NULL;
    if (source->calls.bounce_bytes > 0 &&
        !(source->bounce = lw_alloc((size_t)source->calls.bounce_bytes, "channels read with a step", err)))
        return LW_ESYSTEM;
    rc = lw_chunks_select(source, err);
    return rc || !source->direct.is_on ? rc : lw_direct_select(source, err);
}

/* ---- read ---------------------------------------------------------------------------------------------------------- */

/* Part of a slab that one file call reads, in the view's slow and fast dimension: [slow, slow + n_slow) and so on. */
struct transfer {
    int64_t slow, n_slow;
    int64_t fast, n_fast;
};

static struct transfer whole_slab(const struct lw_source *source, const struct lw_slab *slab)
{
    if (lw_view_is_time_slow(source, &source->view))
        return (struct transfer){slab->first, slab->count, slab->channel, slab->n_channels};
    return (struct transfer){slab->channel, slab->n_channels, slab->first, slab->count};
}

/* The box of the file that a transfer reads; where channels are picked, with all those between them. */
static struct lw_box make_box(const struct lw_source *source, const struct transfer *transfer)
{
    const struct lw_view_spec *const view = &source->view;
    const struct lw_range *const channels = &view->channels;
    const int skip = 2 - lw_view_dims(source, view);       /* without channels: the fast dimension alone */
    int64_t first[3] = {0}, step[3] = {1, 1, 1}, count[3] = {1, 1, lw_view_row_length(source, view)};
    if (lw_view_is_time_slow(source, view)) {
        first[0] = view->start + transfer->slow;
        first[1] = channels->begin + transfer->fast * channels->step;
        count[1] = lw_view_extent(view, transfer->n_fast);
    } else {
        first[0] = channels->begin + transfer->slow * channels->step;
        step[0] = channels->step;
        first[1] = view->start + transfer->fast;
        count[1] = transfer->n_fast;
    }
    count[0] = transfer->n_slow;
    struct lw_box box = {0};
    for (int d = skip; d < 3; d++) {
        box.first[d - skip] = first[d];
        box.step[d - skip] = step[d];
        box.count[d - skip] = count[d];
    }
    return box;
}

/* In memory: `n_slow` times `n_fast` samples, `pitch` samples apart. */
static void place_box(const struct lw_source *source, int64_t n_slow, int64_t n_fast, int64_t pitch, void *into,
                      struct lw_box *box)
{
    const int64_t length = lw_view_row_length(source, &source->view);
    box->n_runs = n_slow;
    box->run = n_fast * length;
    box->pitch = pitch * length;
    box->into = into;
}

/* The reason is not cut away where names are long. */
int lw_view_fail(const struct lw_source *source, int64_t begin, int64_t end, const struct lw_error *reason,
                 struct lw_error *err)
{
    struct lw_error what;
    const int code = lw_fail(&what, reason->code, "cannot read samples %" PRId64 "..%" PRId64 " of %s", begin, end - 1,
                             lw_dataset_name(&source->info).text);
    return lw_fail(err, code, "%.699s%s%s", what.message, reason->message[0] ? ": " : "", reason->message);
}

static int fail_read(const struct lw_source *source, const struct transfer *transfer, const struct lw_error *reason,
                     struct lw_error *err)
{
    const bool slow = lw_view_is_time_slow(source, &source->view);
    const int64_t first = source->view.start + (slow ? transfer->slow : transfer->fast);
    return lw_view_fail(source, first, first + (slow ? transfer->n_slow : transfer->n_fast), reason, err);
}

/* Where a transfer begins in the caller's buffer, and how many samples its rows are apart. */
static char *place(const struct lw_source *source, const struct lw_slab *slab, const struct transfer *transfer, int64_t *pitch)
{
    int64_t row, column;
    if (lw_view_is_time_slow(source, &source->view)) {
        *pitch = slab->n_channels;
        row = slab->into_first + transfer->slow - slab->first;
        column = transfer->fast - slab->channel;
    } else {
        *pitch = slab->into_axis;
        row = transfer->slow - slab->channel;
        column = slab->into_first + transfer->fast - slab->first;
    }
    return (char *)slab->into + (row * *pitch + column) * lw_view_sample_bytes(source, &source->view);
}

void lw_view_pick(const struct lw_source *source, const char *rows, int64_t n_rows, int64_t n_channels, char *into,
                  int64_t pitch)
{
    const size_t bytes = (size_t)lw_view_sample_bytes(source, &source->view);
    const size_t step = (size_t)source->view.channels.step * bytes;
    const size_t row_bytes = (size_t)lw_view_extent(&source->view, n_channels) * bytes;
    for (int64_t r = 0; r < n_rows; r++) {
        const char *from = rows + (size_t)r * row_bytes;
        char *to = into + (size_t)(r * pitch) * bytes;
        for (int64_t c = 0; c < n_channels; c++, from += step, to += bytes)
            memcpy(to, from, bytes);
    }
}

static int read_transfer(struct lw_source *source, const struct lw_slab *slab, const struct transfer *transfer,
                         struct lw_error *err)
{
    int64_t pitch;
    char *const into = place(source, slab, transfer, &pitch);
    const int64_t extent = lw_view_extent(&source->view, transfer->n_fast);
    struct lw_box box = make_box(source, transfer);
    if (source->bounce)
        place_box(source, transfer->n_slow, extent, extent, source->bounce, &box);
    else
        place_box(source, transfer->n_slow, transfer->n_fast, pitch, into, &box);
    struct lw_error reason;
    if (lw_source_read_box(source, &box, &reason) != LW_OK)
        return fail_read(source, transfer, &reason, err);
    if (source->bounce)
        lw_view_pick(source, source->bounce, transfer->n_slow, transfer->n_fast, into, pitch);
    return LW_OK;
}

int lw_view_read(struct lw_source *source, const struct lw_slab *slab, struct lw_error *err)
{
    const struct calls *const calls = &source->calls;
    const struct transfer whole = whole_slab(source, slab);
    int rc = LW_OK;
    for (int64_t slow = 0; rc == LW_OK && slow < whole.n_slow; slow += min64(calls->slow, whole.n_slow))
        for (int64_t fast = 0; rc == LW_OK && fast < whole.n_fast; fast += min64(calls->fast, whole.n_fast)) {
            const struct transfer transfer = {
                whole.slow + slow, min64(calls->slow, whole.n_slow - slow),
                whole.fast + fast, min64(calls->fast, whole.n_fast - fast),
            };
            rc = read_transfer(source, slab, &transfer, err);
        }
    return rc;
}

int lw_source_begin(struct lw_source *source, const struct lw_slab *slab, struct lw_error *err)
{
    assert(slab->count <= source->view.max_axis && slab->n_channels <= source->view.max_channels);
    assert(slab->count == 0 || slab->first + slab->count <= source->view.count);
    return source->direct.is_on ? lw_direct_begin(source, slab, err)
           : source->row.memory ? lw_chunks_read(source, slab, err)
                                : lw_view_read(source, slab, err);
}

int lw_source_end(struct lw_source *source, struct lw_error *err)
{
    return source->direct.is_on ? lw_direct_end(source, err) : LW_OK;
}
