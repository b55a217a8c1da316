/* library.c - reading a view by the library of its format, on the caller's thread. The library hands out any part of a chunk, but
 * to do so it reads and decodes the chunk whole, each time anew.
 *
 *     axis       |       chunks       |       chunks       |       chunks       |
 *     reads       |  0  |  1  |  2  |  3  |  4  |  5  | ...
 *     row kept    decoded once for reads 0 to 3, then the next one for 3 to ..., parts copied from there
 *
 * A row of chunks is all of them at one place of the axis, over the channels of a read. */
#include "io/read/slabs.h"

#include "base/integers.h"
#include "base/memory.h"

#include <string.h>

/* File bytes of one read where every so many channels are picked out of contiguous rows. */
#define BOUNCE_BYTES ((int64_t)32 << 20)

/* ---- select ------------------------------------------------------------------------------------------------------------ */

/* One call reads everything. Only where channels are picked out of contiguous rows, calls are as large as the bounce buffer,
 * unless there is a row of chunks to pick them from: as many rows of the channels as fit; where not one does, parts of a row. */
static struct lw_calls plan_calls(const struct lw_source *source, const struct lw_view_spec *spec)
{
    if (source->is_pooled || !lw_view_picks(source, spec) || lw_view_keeps_chunks(source, spec))
        return (struct lw_calls){INT64_MAX, INT64_MAX, 0};
    struct lw_calls calls = {.slow = spec->max_axis, .fast = spec->max_channels};
    const int64_t limit = BOUNCE_BYTES / lw_view_sample_bytes(source, spec);
    const int64_t fast = lw_min64(calls.fast, (limit - 1) / spec->channels.step + 1);
    const int64_t row = lw_view_extent(spec, fast);
    calls.slow = lw_min64(calls.slow, fast < calls.fast ? 1 : limit / row);
    calls.fast = fast;
    calls.bounce_bytes = calls.slow * row * lw_view_sample_bytes(source, spec);
    return calls;
}

int64_t lw_library_bytes(const struct lw_source *source, const struct lw_view_spec *spec)
{
    const int64_t bounce = plan_calls(source, spec).bounce_bytes;
    if (!lw_view_is_chunked(source))
        return bounce;
    const bool whole = lw_view_takes_chunks_whole(source, spec);
    return bounce + source->format->library->chunks_bytes(&source->described, whole, lw_view_chunks_touched(source, spec));
}

int lw_library_select(struct lw_view *view, struct lw_error *err)
{
    const struct lw_source *const source = view->source;
    view->calls = plan_calls(source, &view->spec);
    if (view->calls.bounce_bytes > 0 &&
        !(view->bounce = lw_alloc((size_t)view->calls.bounce_bytes, "channels read with a step", err)))
        return LW_ESYSTEM;
    return lw_view_is_chunked(source)
               ? source->format->library->prepare_chunks(source->dataset, lw_view_takes_chunks_whole(source, &view->spec), err)
               : LW_OK;
}

/* ---- read, by calls of the format ----------------------------------------------------------------------------------------- */

static int read_part(const struct lw_view *view, const struct lw_view_spec *spec, const struct lw_slab *slab, struct lw_error *err)
{
    const struct lw_target target = lw_view_target(view->source, spec, slab);
    struct lw_error reason;
    if (lw_source_read(view->source, &target, &reason) == LW_OK)
        return LW_OK;
    return lw_source_fail(view->source, spec->start + slab->first, spec->start + slab->first + slab->count, &reason, err);
}

/* Part of a view of time slow as it lies in the file: with the channels between picked ones. */
static int read_all_between(const struct lw_view *view, const struct lw_slab *slab, char *into, struct lw_error *err)
{
    struct lw_view_spec spec = view->spec;
    spec.channels = (struct lw_range){spec.channels.begin + slab->channel * spec.channels.step, spec.channels.end, 1};
    const struct lw_slab all = {.first = slab->first,
                                .count = slab->count,
                                .n_channels = lw_view_extent(&view->spec, slab->n_channels),
                                .into = into,
                                .into_axis = slab->count};
    return read_part(view, &spec, &all, err);
}

/* Copy every `step`-th sample of rows that are as long as the channels of a slab are apart, to rows `pitch` samples apart. */
static void pick(const struct lw_view *view, const char *rows, const struct lw_slab *slab, char *into, int64_t pitch)
{
    const size_t bytes = (size_t)lw_view_sample_bytes(view->source, &view->spec);
    const size_t step = (size_t)view->spec.channels.step * bytes;
    const size_t row_bytes = (size_t)lw_view_extent(&view->spec, slab->n_channels) * bytes;
    for (int64_t r = 0; r < slab->count; r++) {
        const char *from = rows + (size_t)r * row_bytes;
        char *to = into + (size_t)(r * pitch) * bytes;
        for (int64_t c = 0; c < slab->n_channels; c++, from += step, to += bytes)
            memcpy(to, from, bytes);
    }
}

/* Where sample `first` of channel `channel` of a slab goes, of time slow. */
static char *place(const struct lw_view *view, const struct lw_slab *slab, int64_t first, int64_t channel)
{
    return (char *)slab->into + ((slab->into_first + first - slab->first) * slab->n_channels + channel - slab->channel) *
                                    lw_view_sample_bytes(view->source, &view->spec);
}

static int read_slab(const struct lw_view *view, const struct lw_slab *slab, struct lw_error *err)
{
    const struct lw_calls *const calls = &view->calls;
    const int64_t end = slab->first + slab->count, channel_end = slab->channel + slab->n_channels;
    int rc = LW_OK;
    if (!view->bounce)
        return slab->count > 0 && slab->n_channels > 0 ? read_part(view, &view->spec, slab, err) : LW_OK;
    for (int64_t first = slab->first; rc == LW_OK && first < end; first += calls->slow)
        for (int64_t channel = slab->channel; rc == LW_OK && channel < channel_end; channel += calls->fast) {
            const struct lw_slab part = {.first = first, .count = lw_min64(calls->slow, end - first), .channel = channel,
                                         .n_channels = lw_min64(calls->fast, channel_end - channel)};
            if ((rc = read_all_between(view, &part, view->bounce, err)) == LW_OK)
                pick(view, view->bounce, &part, place(view, slab, first, channel), slab->n_channels);
        }
    return rc;
}

/* ---- read, from a row of chunks that is kept ------------------------------------------------------------------------------- */

/* Make the row the one with sample `first` of the view, for the channels of a slab; where channels will be picked, with all those
 * between them. */
static int hold_row(struct lw_view *view, const struct lw_slab *slab, int64_t first, struct lw_error *err)
{
    if (lw_view_holds(view, slab, first))
        return LW_OK;
    const struct lw_view_spec *const spec = &view->spec;
    const int64_t a = lw_view_chunk_height(view->source, spec), begin = (spec->start + first) / a * a - spec->start;
    struct lw_chunk_row *const row = &view->row;
    row->first = lw_max64(begin, 0);
    row->count = lw_min64(begin + a, spec->count) - row->first;
    row->channel = slab->channel;
    row->n_channels = slab->n_channels;
    const struct lw_slab kept = lw_view_kept_slab(view);
    const int rc =
        lw_view_picks(view->source, spec) ? read_all_between(view, &kept, row->memory, err) : read_part(view, spec, &kept, err);
    if (rc)
        row->count = 0;
    return rc;
}

/* From the row that is held. */
static void copy(const struct lw_view *view, const struct lw_slab *part)
{
    const int64_t row_bytes = lw_view_extent(&view->spec, part->n_channels) * lw_view_sample_bytes(view->source, &view->spec);
    if (lw_view_picks(view->source, &view->spec))
        pick(view, view->row.memory + (part->first - view->row.first) * row_bytes, part,
             place(view, part, part->first, part->channel), part->n_channels);
    else
        lw_view_copy_kept(view, part);
}

/* The end of the part of a slab that begins at `first` and is read in one way; how. Whole rows of chunks go straight to where
 * they belong. Of the others, at both ends of a slab, a copy is kept. */
static int64_t end_of_part(const struct lw_view *view, const struct lw_slab *slab, int64_t first, bool *is_straight)
{
    const struct lw_view_spec *const spec = &view->spec;
    const int64_t a = lw_view_chunk_height(view->source, spec), end = slab->first + slab->count;
    const int64_t next = (spec->start + first) / a * a + a - spec->start;
    const int64_t whole = end == spec->count ? end : (spec->start + end) / a * a - spec->start;
    const bool is_whole = (first == 0 || (spec->start + first) % a == 0) && whole > first;
    *is_straight = is_whole && !lw_view_picks(view->source, spec) && !lw_view_holds(view, slab, first);
    return *is_straight ? whole : lw_min64(next, end);
}

int lw_library_read(struct lw_view *view, const struct lw_slab *slab, struct lw_error *err)
{
    int rc = LW_OK;
    if (!view->row.memory)
        return read_slab(view, slab, err);
    for (int64_t first = slab->first; rc == LW_OK && first < slab->first + slab->count; ) {
        bool is_straight;
        struct lw_slab part = *slab;
        part.first = first;
        part.count = end_of_part(view, slab, first, &is_straight) - first;
        part.into_first = slab->into_first + first - slab->first;
        if (is_straight)
            rc = read_slab(view, &part, err);
        else if ((rc = hold_row(view, slab, first, err)) == LW_OK)
            copy(view, &part);
        first += part.count;
    }
    return rc;
}
