#include "io/read/chunks.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"

#include <assert.h>
#include <string.h>

/* Assumed, for estimates: what the format's library decodes, what a pool's thread decodes, what is read in place. */
static const double library_bytes_per_second = 100e6, thread_bytes_per_second = 500e6, read_bytes_per_second = 1e9;

/* ---- sizes ------------------------------------------------------------------------------------------------------------ */

static bool is_chunked(const struct lw_source *source) { return source->info.chunk[0] > 0; }

/* Samples of the axis in a chunk, and channels of the file. */
static int64_t height(const struct lw_source *source, const struct lw_view_spec *view)
{
    return source->info.chunk[view->axis];
}

static int64_t width(const struct lw_source *source, const struct lw_view_spec *view)
{
    return lw_view_dims(source, view) == 2 ? source->info.chunk[1 - view->axis] : 1;
}

/* Chunks side by side in one row of pixels. */
static int64_t columns(const struct lw_source *source, const struct lw_view_spec *view)
{
    return view->has_rows ? divide_up(lw_view_row_length(source, view), source->info.chunk[source->info.n_dims - 1]) : 1;
}

/* Chunks of `size` that `length` neighbours out of `all` touch at most. */
static int64_t touched(int64_t length, int64_t size, int64_t all)
{
    return min64(divide_up(length, size) + 1, divide_up(all, size));
}

int64_t lw_chunks_touched(const struct lw_source *source, const struct lw_view_spec *view)
{
    const struct lw_dataset_info *const info = &source->info;
    int64_t n = columns(source, view) * touched(view->max_axis, height(source, view), info->dims[view->axis]);
    if (lw_view_dims(source, view) == 2)
        n *= touched(lw_view_extent(view, view->max_channels), width(source, view), info->dims[1 - view->axis]);
    return n;
}

bool lw_chunks_are_whole(const struct lw_source *source, const struct lw_view_spec *view)
{
    if (source->info.is_compressed)
        return true;
    return is_chunked(source) && !source->direct.is_on && view->chunks != LW_CHUNKS_IN_PLACE &&
           lw_dataset_chunk_bytes(&source->info) <= source->format->library->most_whole_bytes;
}

bool lw_chunks_are_kept(const struct lw_source *source, const struct lw_view_spec *view)
{
    return view->chunks == LW_CHUNKS_KEPT && lw_chunks_are_whole(source, view);
}

static int64_t row_bytes(const struct lw_source *source, const struct lw_view_spec *view)
{
    const bool has_others = lw_view_picks(source, view) && !source->direct.is_on;
    const int64_t channels = has_others ? lw_view_extent(view, view->max_channels) : view->max_channels;
    return min64(height(source, view), view->count) * channels * lw_view_sample_bytes(source, view);
}

int64_t lw_chunks_bytes(const struct lw_source *source, const struct lw_view_spec *view)
{
    if (!is_chunked(source))
        return 0;
    const int64_t row = lw_chunks_are_kept(source, view) ? row_bytes(source, view) : 0;
    if (source->direct.is_on)
        return row;
    const bool whole = lw_chunks_are_whole(source, view);
    return row + source->format->library->chunks_bytes(&source->described, whole, lw_chunks_touched(source, view));
}

/* ---- how often, how long ---------------------------------------------------------------------------------------------- */

static int64_t common_divisor(int64_t a, int64_t b) { return b == 0 ? a : common_divisor(b, a % b); }

/* Pieces that a chunk falls into on average, where `all` is cut every `piece` and into chunks of `size`, the first of which
 * has lost its first `offset` to what is before: each cut adds one, but for those that fall together. */
static double pieces_of_chunk(int64_t size, int64_t piece, int64_t all, int64_t offset)
{
    if (piece >= all)
        return 1;
    const int64_t divisor = common_divisor(size, piece);
    return 1 + ((double)size - (double)(offset % divisor == 0 ? divisor : 0)) / (double)piece;
}

/* Chunks that the view touches. */
static double count_chunks(const struct lw_source *source, const struct lw_view_spec *view)
{
    const int64_t a = height(source, view), w = width(source, view);
    const int64_t channels = view->channels.end - view->channels.begin;
    return (double)(columns(source, view) * divide_up(view->start % a + view->count, a)) *
           (double)divide_up(view->channels.begin % w + channels, w);
}

/* Threads that wait for each other's cores decode no faster. */
static double decoded_bytes_per_second(const struct lw_source *source, const struct lw_view_spec *view)
{
    if (!lw_direct_decodes(source))
        return library_bytes_per_second;
    return thread_bytes_per_second * (double)min64(lw_direct_decoders(source, view), lw_proc_cores());
}

struct lw_chunk_cost lw_source_chunk_cost(const struct lw_source *source, const struct lw_view_spec *view,
                                          const struct lw_reads *reads)
{
    if (!lw_chunks_are_whole(source, view))
        return (struct lw_chunk_cost){0};
    const int64_t step = view->channels.step, channels = view->channels.end - view->channels.begin;
    double on_axis = pieces_of_chunk(height(source, view), reads->axis, view->count, 1);
    if (lw_chunks_are_kept(source, view) && on_axis > reads->n_axis_ranks)
        on_axis = reads->n_axis_ranks;
    const double times = on_axis * pieces_of_chunk(width(source, view), reads->channels * step, channels,
                                                   view->channels.begin);
    const double bytes = count_chunks(source, view) * (double)lw_dataset_chunk_bytes(&source->info);
    if (source->info.is_compressed)
        return (struct lw_chunk_cost){times, times * bytes / decoded_bytes_per_second(source, view) / reads->n_ranks};
    return (struct lw_chunk_cost){times, (times - 1) * bytes / read_bytes_per_second};
}

int64_t lw_source_chunk_width(const struct lw_source *source, const struct lw_view_spec *view)
{
    return lw_chunks_are_whole(source, view) ? max64(1, width(source, view) / view->channels.step) : 0;
}

/* ---- select ------------------------------------------------------------------------------------------------------------ */

int lw_chunks_select(struct lw_source *source, struct lw_error *err)
{
    lw_free(source->row.memory);
    source->row = (struct lw_chunk_row){0};
    if (!is_chunked(source))
        return LW_OK;
    if (lw_chunks_are_kept(source, &source->view) &&
        !(source->row.memory = lw_alloc((size_t)row_bytes(source, &source->view), "a row of chunks", err)))
        return LW_ESYSTEM;
    if (source->direct.is_on)
        return LW_OK;
    return source->format->library->prepare_chunks(source->dataset, lw_chunks_are_whole(source, &source->view), err);
}

/* ---- read -------------------------------------------------------------------------------------------------------------- */

static bool is_held(const struct lw_source *source, const struct lw_slab *slab, int64_t first)
{
    const struct lw_chunk_row *const row = &source->row;
    return row->first <= first && first < row->first + row->count && row->channel == slab->channel &&
           row->n_channels == slab->n_channels;
}

/* Fill the row; where channels will be picked, with all those between them. */
static int read_row(struct lw_source *source, struct lw_error *err)
{
    const struct lw_chunk_row *const row = &source->row;
    const struct lw_range channels = source->view.channels;
    struct lw_slab slab = {.first = row->first, .count = row->count, .channel = row->channel, .n_channels = row->n_channels,
                           .into = row->memory, .into_axis = row->count};
    if (lw_view_picks(source, &source->view)) {
        source->view.channels = (struct lw_range){channels.begin + row->channel * channels.step, channels.end, 1};
        slab.n_channels = (row->n_channels - 1) * channels.step + 1;
        slab.channel = 0;
    }
    const int rc = lw_view_read(source, &slab, err);
    source->view.channels = channels;
    return rc;
}

/* Make the row the one with sample `first` of the view, for the channels of a slab. */
static int hold_row(struct lw_source *source, const struct lw_slab *slab, int64_t first, struct lw_error *err)
{
    if (is_held(source, slab, first))
        return LW_OK;
    const struct lw_view_spec *const view = &source->view;
    const int64_t a = height(source, view), begin = (view->start + first) / a * a - view->start;
    struct lw_chunk_row *const row = &source->row;
    row->first = max64(begin, 0);
    row->count = min64(begin + a, view->count) - row->first;
    row->channel = slab->channel;
    row->n_channels = slab->n_channels;
    const int rc = read_row(source, err);
    if (rc)
        row->count = 0;
    return rc;
}

/* From the row that is held. */
static void copy(const struct lw_source *source, const struct lw_slab *part)
{
    const struct lw_chunk_row *const row = &source->row;
    const struct lw_view_spec *const view = &source->view;
    const int64_t bytes = lw_view_sample_bytes(source, view), from = part->first - row->first;
    const int64_t n_channels = part->n_channels;
    char *const into = part->into;
    if (lw_view_picks(source, view))
        lw_view_pick(source, row->memory + from * lw_view_extent(view, n_channels) * bytes, part->count, n_channels,
                     into + part->into_first * n_channels * bytes, n_channels);
    else if (lw_view_is_time_slow(source, view))
        memcpy(into + part->into_first * n_channels * bytes, row->memory + from * n_channels * bytes,
               (size_t)(part->count * n_channels * bytes));
    else
        for (int64_t c = 0; c < n_channels; c++)
            memcpy(into + (c * part->into_axis + part->into_first) * bytes, row->memory + (c * row->count + from) * bytes,
                   (size_t)(part->count * bytes));
}

/* The end of the part of a slab that begins at `first` and is read in one way; how. Whole rows of chunks go straight to where
 * they belong. Of the others, at both ends of a slab, a copy is kept. */
static int64_t end_of_part(const struct lw_source *source, const struct lw_slab *slab, int64_t first, bool *is_straight)
{
    const struct lw_view_spec *const view = &source->view;
    const int64_t a = height(source, view), end = slab->first + slab->count;
    const int64_t next = (view->start + first) / a * a + a - view->start;
    const int64_t whole = end == view->count ? end : (view->start + end) / a * a - view->start;
    const bool is_whole = (first == 0 || (view->start + first) % a == 0) && whole > first;
    *is_straight = is_whole && !lw_view_picks(source, view) && !is_held(source, slab, first);
    return *is_straight ? whole : min64(next, end);
}

int lw_chunks_read(struct lw_source *source, const struct lw_slab *slab, struct lw_error *err)
{
    int rc = LW_OK;
    for (int64_t first = slab->first; rc == LW_OK && first < slab->first + slab->count; ) {
        bool is_straight;
        struct lw_slab part = *slab;
        part.first = first;
        part.count = end_of_part(source, slab, first, &is_straight) - first;
        part.into_first = slab->into_first + first - slab->first;
        if (is_straight)
            rc = lw_view_read(source, &part, err);
        else if ((rc = hold_row(source, slab, first, err)) == LW_OK)
            copy(source, &part);
        first += part.count;
    }
    return rc;
}
