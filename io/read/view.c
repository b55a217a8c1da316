#include "io/read/view.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"

#include <assert.h>
#include <inttypes.h>

/* Rates assumed in estimates: decoding by the format's library, decoding by one thread of the pool (gzip of 16-bit noise), and
 * reading. */
static const double library_bytes_per_second = 100e6, thread_bytes_per_second = 300e6, read_bytes_per_second = 1e9;

/* Most bytes of chunks that all threads together decode at a time. A single chunk may have more. */
#define DECODING_BYTES ((int64_t)128 << 20)

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
    const int rc = check_range(info, "samples", view->start, view->start + view->count, info->dims[view->axis], err);
    return rc ? rc : check_range(info, "channels", view->channels.begin, view->channels.end, n_channels, err);
}

/* Return the number of dimensions that are axis or channels: 1 or 2. */
static int count_dims(const struct lw_source *source, const struct lw_view_spec *view)
{
    return source->info.n_dims - (view->has_rows ? 1 : 0);
}

/* Return whether single channels are picked out of contiguous rows of all channels. */
static bool picks_channels(const struct lw_source *source, const struct lw_view_spec *view)
{
    return lw_view_is_time_slow(source, view) && view->channels.step > 1;
}

/* Return the number of the file's channels from the first to the last of `n` neighbouring channels of the view. */
static int64_t extent(const struct lw_view_spec *view, int64_t n) { return (n - 1) * view->channels.step + 1; }

/* Return the place of a slab in the dataset and in memory. Dimensions other than axis, channels and pixels have length 1. */
static struct lw_target target_of(const struct lw_source *source, const struct lw_view_spec *spec, const struct lw_slab *slab)
{
    const int64_t bytes = lw_view_sample_bytes(source, spec);
    const bool is_slow = lw_view_is_time_slow(source, spec);
    const int axis = source->described_dim[spec->axis];
    struct lw_target target = {.step = {1, 1, 1, 1}, .count = {1, 1, 1, 1}};
    target.first[axis] = spec->start + slab->first;
    target.count[axis] = slab->count;
    target.pitch[axis] = is_slow ? slab->n_channels * bytes : bytes;
    if (count_dims(source, spec) == 2) {
        const int channel = source->described_dim[1 - spec->axis];
        target.first[channel] = spec->channels.begin + slab->channel * spec->channels.step;
        target.step[channel] = spec->channels.step;
        target.count[channel] = slab->n_channels;
        target.pitch[channel] = is_slow ? bytes : slab->into_axis * bytes;
    }
    if (spec->has_rows) {
        const int pixel = source->described_dim[source->info.n_dims - 1];
        target.count[pixel] = lw_view_row_length(source, spec);
        target.pitch[pixel] = (int64_t)lw_type_bytes(source->info.type);
    }
    target.into = (char *)slab->into + slab->into_first * target.pitch[axis];
    return target;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------------ */

static bool is_chunked(const struct lw_source *source) { return source->info.chunk[0] > 0; }

/* Return the samples of the axis in a chunk. */
static int64_t height(const struct lw_source *source, const struct lw_view_spec *view) { return source->info.chunk[view->axis]; }

/* Return the file's channels in a chunk. */
static int64_t width(const struct lw_source *source, const struct lw_view_spec *view)
{
    return count_dims(source, view) == 2 ? source->info.chunk[1 - view->axis] : 1;
}

/* Return the number of chunks side by side in one row of pixels. */
static int64_t columns(const struct lw_source *source, const struct lw_view_spec *view)
{
    return view->has_rows ? lw_divide_up(lw_view_row_length(source, view), source->info.chunk[source->info.n_dims - 1]) : 1;
}

/* Return the most chunks of `size` elements that `length` neighbouring elements, out of `all`, can touch. */
static int64_t touched(int64_t length, int64_t size, int64_t all)
{
    return lw_min64(lw_divide_up(length, size) + 1, lw_divide_up(all, size));
}

/* Return the most chunks that one read can touch. */
static int64_t chunks_touched(const struct lw_source *source, const struct lw_view_spec *view)
{
    const struct lw_dataset_info *const info = &source->info;
    int64_t n = columns(source, view) * touched(view->max_axis, height(source, view), info->dims[view->axis]);
    if (count_dims(source, view) == 2)
        n *= touched(extent(view, view->max_channels), width(source, view), info->dims[1 - view->axis]);
    return n;
}

/* Return whether chunks are read whole: chunks with filters always, small ones where the view asks for it and the library reads. */
static bool takes_chunks_whole(const struct lw_source *source, const struct lw_view_spec *view)
{
    if (source->info.is_compressed)
        return true;
    return is_chunked(source) && !source->is_pooled && view->chunks != LW_CHUNKS_IN_PLACE &&
           lw_dataset_chunk_bytes(&source->info) <= source->format->library->most_whole_bytes;
}

/* Return whether a row of chunks is kept from one read to the next. */
static bool keeps_chunks(const struct lw_source *source, const struct lw_view_spec *view)
{
    return view->chunks == LW_CHUNKS_KEPT && takes_chunks_whole(source, view);
}

/* Return the number of decoders at work at the same time, for a view whose chunks a pool's threads decode. */
static int count_decoders(const struct lw_source *source, const struct lw_view_spec *view)
{
    const int64_t room = lw_max64(1, DECODING_BYTES / lw_decoder_bytes(&source->stored.filters));
    return (int)lw_min64(lw_pool_threads(source->pool), lw_min64(room, chunks_touched(source, view)));
}

/* ---- the cost of chunks ---------------------------------------------------------------------------------------------- */

/* Return the average number of pieces into which reads cut a chunk. Reads cut `all` elements every `piece` elements. Chunks have
 * `size` elements, and the first chunk begins `offset` elements early. A cut adds a piece, unless it falls on a chunk's edge. */
static double pieces_of_chunk(int64_t size, int64_t piece, int64_t all, int64_t offset)
{
    if (piece >= all)
        return 1;
    const int64_t divisor = lw_common_divisor(size, piece);
    return 1 + ((double)size - (double)(offset % divisor == 0 ? divisor : 0)) / (double)piece;
}

/* The assumed rate counts no more threads than cores, because further threads would only wait. */
struct lw_chunk_cost lw_view_chunk_cost(const struct lw_source *source, const struct lw_view_spec *view,
                                        const struct lw_reads *reads)
{
    if (!takes_chunks_whole(source, view))
        return (struct lw_chunk_cost){0};
    const int64_t step = view->channels.step, channels = view->channels.end - view->channels.begin;
    const int64_t a = height(source, view), w = width(source, view);
    double on_axis = pieces_of_chunk(a, reads->axis, view->count, 1);
    if (keeps_chunks(source, view) && on_axis > reads->n_axis_ranks)
        on_axis = reads->n_axis_ranks;
    const double times = on_axis * pieces_of_chunk(w, reads->channels * step, channels, view->channels.begin);
    const double n_chunks = (double)(columns(source, view) * lw_divide_up(view->start % a + view->count, a)) *
                            (double)lw_divide_up(view->channels.begin % w + channels, w);
    const double bytes = n_chunks * (double)lw_dataset_chunk_bytes(&source->info);
    if (!source->info.is_compressed)
        return (struct lw_chunk_cost){times, (times - 1) * bytes / read_bytes_per_second};
    const double rate = lw_source_decodes(source)
                            ? thread_bytes_per_second * (double)lw_min64(count_decoders(source, view), lw_proc_cores())
                            : library_bytes_per_second;
    return (struct lw_chunk_cost){times, times * bytes / rate / reads->n_ranks};
}

int64_t lw_view_chunk_width(const struct lw_source *source, const struct lw_view_spec *view)
{
    return takes_chunks_whole(source, view) ? lw_max64(1, width(source, view) / view->channels.step) : 0;
}

/* ---- the row of chunks that is kept from one read to the next -------------------------------------------------------------- */

/* Return the kept row as a slab. */
static struct lw_slab kept_slab(const struct lw_view *view)
{
    const struct lw_chunk_row *const row = &view->row;
    return (struct lw_slab){.first = row->first, .count = row->count, .channel = row->channel, .n_channels = row->n_channels,
                            .into = row->memory, .into_axis = row->count};
}

/* Return whether the kept row has sample `first` in the channels of a slab. */
static bool holds(const struct lw_view *view, const struct lw_slab *slab, int64_t first)
{
    const struct lw_chunk_row *const row = &view->row;
    return row->first <= first && first < row->first + row->count && row->channel == slab->channel &&
           row->n_channels == slab->n_channels;
}

/* Copy a part of a slab from the kept row, which has all of the part and the layout of a slab. */
static void copy_kept(const struct lw_view *view, const struct lw_slab *part)
{
    const struct lw_chunk_row *const row = &view->row;
    const int64_t bytes = lw_view_sample_bytes(view->source, &view->spec), from = part->first - row->first;
    const bool is_slow = lw_view_is_time_slow(view->source, &view->spec);
    const int64_t n_rows = is_slow ? 1 : part->n_channels, pitch = (is_slow ? part->n_channels : 1) * bytes;
    for (int64_t r = 0; r < n_rows; r++)
        memcpy((char *)part->into + (r * part->into_axis + part->into_first) * pitch, row->memory + (r * row->count + from) * pitch,
               (size_t)(part->count * pitch));
}

static int64_t kept_bytes(const struct lw_source *source, const struct lw_view_spec *view)
{
    if (!is_chunked(source) || !keeps_chunks(source, view))
        return 0;
    const bool has_others = picks_channels(source, view) && !source->is_pooled;
    const int64_t channels = has_others ? extent(view, view->max_channels) : view->max_channels;
    return lw_min64(height(source, view), view->count) * channels * lw_view_sample_bytes(source, view);
}

/* ---- reads by the library, on the caller's thread ---------------------------------------------------------------------------- */

/* The library returns any part of a chunk, but reads and decodes the whole chunk each time. Keeping a row of chunks saves repeats.
 * A row is all chunks at one place of the axis, over the channels of a read.
 *
 *     axis        |       row 0        |       row 1        |       row 2        |
 *     reads       |  0  |  1  |  2  |  3  |  4  |  5  | ...
 *
 * Row 0 is decoded once, and reads 0 to 3 copy from it; then row 1 takes its place for the reads from 3 on. */

/* Most bytes that one call reads from the file where channels are picked out of contiguous rows. */
#define PICKED_BYTES ((int64_t)32 << 20)

/* Normally one call reads a whole slab. Picking channels out of contiguous rows takes several, unless a row of chunks is kept.
 * Each call fills the bounce buffer with as many rows as fit, or with a part of a row. */
static struct lw_calls plan_calls(const struct lw_source *source, const struct lw_view_spec *spec)
{
    if (source->is_pooled || !picks_channels(source, spec) || keeps_chunks(source, spec))
        return (struct lw_calls){INT64_MAX, INT64_MAX, 0};
    struct lw_calls calls = {.slow = spec->max_axis, .fast = spec->max_channels};
    const int64_t limit = PICKED_BYTES / lw_view_sample_bytes(source, spec);
    const int64_t fast = lw_min64(calls.fast, (limit - 1) / spec->channels.step + 1);
    const int64_t row = extent(spec, fast);
    calls.slow = lw_min64(calls.slow, fast < calls.fast ? 1 : limit / row);
    calls.fast = fast;
    calls.bounce_bytes = calls.slow * row * lw_view_sample_bytes(source, spec);
    return calls;
}

static int read_part(const struct lw_view *view, const struct lw_view_spec *spec, const struct lw_slab *slab, struct lw_error *err)
{
    const struct lw_target target = target_of(view->source, spec, slab);
    struct lw_error reason;
    if (lw_source_read(view->source, &target, &reason) == LW_OK)
        return LW_OK;
    return lw_source_fail(view->source, spec->start + slab->first, spec->start + slab->first + slab->count, &reason, err);
}

/* Read a slab of a time-slow view as it lies in the file, with the channels between the picked ones. */
static int read_all_between(const struct lw_view *view, const struct lw_slab *slab, char *into, struct lw_error *err)
{
    struct lw_view_spec spec = view->spec;
    spec.channels = (struct lw_range){spec.channels.begin + slab->channel * spec.channels.step, spec.channels.end, 1};
    const struct lw_slab all = {.first = slab->first, .count = slab->count, .n_channels = extent(&view->spec, slab->n_channels),
                                .into = into, .into_axis = slab->count};
    return read_part(view, &spec, &all, err);
}

/* Copy the picked channels of rows to their places in a time-slow slab. A row has all of the file's channels that `part` spans. */
static void pick(const struct lw_view *view, const char *rows, const struct lw_slab *part, const struct lw_slab *slab)
{
    const size_t bytes = (size_t)lw_view_sample_bytes(view->source, &view->spec);
    const size_t step = (size_t)view->spec.channels.step * bytes;
    const size_t row_bytes = (size_t)extent(&view->spec, part->n_channels) * bytes;
    char *const into = (char *)slab->into + (size_t)((slab->into_first + part->first - slab->first) * slab->n_channels +
                                                     part->channel - slab->channel) * bytes;
    for (int64_t r = 0; r < part->count; r++) {
        const char *from = rows + (size_t)r * row_bytes;
        char *to = into + (size_t)(r * slab->n_channels) * bytes;
        for (int64_t c = 0; c < part->n_channels; c++, from += step, to += bytes)
            memcpy(to, from, bytes);
    }
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
                pick(view, view->bounce, &part, slab);
        }
    return rc;
}

/* Keep the row of chunks with sample `first` of the view, for the channels of a slab and any between them; read it if needed. */
static int hold_row(struct lw_view *view, const struct lw_slab *slab, int64_t first, struct lw_error *err)
{
    if (holds(view, slab, first))
        return LW_OK;
    const struct lw_view_spec *const spec = &view->spec;
    const int64_t a = height(view->source, spec), begin = (spec->start + first) / a * a - spec->start;
    struct lw_chunk_row *const row = &view->row;
    row->first = lw_max64(begin, 0);
    row->count = lw_min64(begin + a, spec->count) - row->first;
    row->channel = slab->channel;
    row->n_channels = slab->n_channels;
    const struct lw_slab kept = kept_slab(view);
    const int rc =
        picks_channels(view->source, spec) ? read_all_between(view, &kept, row->memory, err) : read_part(view, spec, &kept, err);
    if (rc)
        row->count = 0;
    return rc;
}

static void copy_row(const struct lw_view *view, const struct lw_slab *part)
{
    const int64_t row_bytes = extent(&view->spec, part->n_channels) * lw_view_sample_bytes(view->source, &view->spec);
    if (picks_channels(view->source, &view->spec))
        pick(view, view->row.memory + (part->first - view->row.first) * row_bytes, part, part);
    else
        copy_kept(view, part);
}

/* Return the end of the part of a slab, from `first` on, that is read in one way. Whole rows of chunks are read straight into the
 * slab (*is_straight). Rows that the ends of the slab cut are read into the kept row and copied. */
static int64_t end_of_part(const struct lw_view *view, const struct lw_slab *slab, int64_t first, bool *is_straight)
{
    const struct lw_view_spec *const spec = &view->spec;
    const int64_t a = height(view->source, spec), end = slab->first + slab->count;
    const int64_t next = (spec->start + first) / a * a + a - spec->start;
    const int64_t whole = end == spec->count ? end : (spec->start + end) / a * a - spec->start;
    const bool is_whole = (first == 0 || (spec->start + first) % a == 0) && whole > first;
    *is_straight = is_whole && !picks_channels(view->source, spec) && !holds(view, slab, first);
    return *is_straight ? whole : lw_min64(next, end);
}

static int read_by_library(struct lw_view *view, const struct lw_slab *slab, struct lw_error *err)
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
            copy_row(view, &part);
        first += part.count;
    }
    return rc;
}

/* ---- reads by the threads of a pool (cells.h) -------------------------------------------------------------------------------- */

/* The end of the last row of chunks, behind a read's samples, is kept for the next read.
 *
 *  axis      |       row 0        |       row 1        |       row 2        |
 *  reads     |       0       |       1       |       2       |
 *  kept                      |aaaa|          |bbbbbbbbb|      read 0 keeps a for read 1, which decodes row 1 and keeps b for read 2
 *
 * The main thread finds the chunks of a slab, copies the kept samples, and starts the threads. */

#define MIB ((int64_t)1 << 20)

/* Bytes that one thread reads at a time. Each thread gets several pieces of a read, so that all threads end together, but pieces
 * stay long enough for the storage. A piece that goes through a bounce buffer fits a cache. */
#define LEAST_CELL_BYTES (MIB / 4)
#define MOST_CELL_BYTES (4 * MIB)
#define BOUNCE_BYTES MIB
enum { PIECES_PER_THREAD = 4 };

/* Return whether the largest read consists of short pieces. Memory rows are taken to be longer than the read, so not contiguous. */
static bool needs_bounce(const struct lw_source *source, const struct lw_view_spec *spec)
{
    const struct lw_slab largest = {.count = spec->max_axis, .n_channels = spec->max_channels, .into_axis = spec->max_axis + 1};
    struct lw_target target = target_of(source, spec, &largest);
    struct lw_bytes_box box;
    int64_t begin[LW_MAX_DIMS] = {0}, end[LW_MAX_DIMS], from, to;
    memset(target.first, 0, sizeof target.first);
    for (int d = 0; d < LW_MAX_DIMS; d++)
        end[d] = lw_cells_tile(source, d);
    lw_cells_box(source, &target, begin, begin, end, &box, &from, &to);
    return lw_bytes_box_bounces(&box);
}

/* Return the settings that all reads of a view share. */
static struct lw_cells plan_cells(const struct lw_source *source, const struct lw_view_spec *spec)
{
    struct lw_cells cells = {.source = source, .axis = spec->axis};
    if (lw_source_decodes(source))
        return cells;
    const int64_t samples = spec->max_axis * spec->max_channels, pieces = PIECES_PER_THREAD * lw_pool_threads(source->pool);
    cells.bounce_bytes = !source->is_by_format && needs_bounce(source, spec) ? BOUNCE_BYTES : 0;
    cells.most_bytes = lw_max64(LEAST_CELL_BYTES, lw_min64(MOST_CELL_BYTES, samples / pieces * lw_view_sample_bytes(source, spec)));
    if (cells.bounce_bytes > 0)
        cells.most_bytes = lw_min64(cells.most_bytes, BOUNCE_BYTES);
    return cells;
}

static int64_t count_tiles(const struct lw_source *source, const struct lw_view_spec *spec)
{
    return source->stored.is_chunked ? chunks_touched(source, spec) : 1;
}

/* Let the read also fill the kept row: the samples of the slab's last chunks behind the slab, none if both end together. */
static void keep_rest(struct lw_view *view, const struct lw_slab *slab)
{
    const struct lw_view_spec *const spec = &view->spec;
    const int64_t end = slab->first + slab->count;
    const int64_t next = lw_round_up(spec->start + end, height(view->source, spec)) - spec->start;
    view->row = (struct lw_chunk_row){.memory = view->row.memory, .first = end, .count = lw_min64(next, spec->count) - end,
                                      .channel = slab->channel, .n_channels = slab->n_channels};
    const struct lw_slab row = kept_slab(view);
    if (row.count > 0)
        view->read.targets[view->read.n_targets++] = target_of(view->source, spec, &row);
}

/* Copy the beginning of a slab as far as the kept row has it, and start to read the rest. */
static int begin_pooled(struct lw_view *view, const struct lw_slab *slab, struct lw_error *err)
{
    struct lw_slab rest = *slab;
    if (rest.count > 0 && view->row.memory && holds(view, slab, slab->first)) {
        struct lw_slab part = *slab;
        part.count = lw_min64(slab->count, view->row.first + view->row.count - slab->first);
        copy_kept(view, &part);
        rest.first += part.count;
        rest.into_first += part.count;
        rest.count -= part.count;
    }
    if (rest.count == 0 || rest.n_channels == 0)
        return LW_OK;
    view->read.targets[0] = target_of(view->source, &view->spec, &rest);
    view->read.n_targets = 1;
    if (view->row.memory)
        keep_rest(view, &rest);
    const int rc = lw_cells_begin(&view->cells, &view->read, err);
    if (rc)
        view->row.count = 0;
    return rc;
}

/* ---- reads in either way ----------------------------------------------------------------------------------------------------- */

int lw_view_open(const struct lw_dataset_info *described, int least_dims, int most_dims, struct lw_pool *pool, struct lw_view **out,
                 struct lw_error *err)
{
    struct lw_view *const view = lw_alloc(sizeof *view, "the reader", err);
    if (!view)
        return LW_ESYSTEM;
    *view = (struct lw_view){0};
    const int rc = lw_source_open(described, least_dims, most_dims, pool, &view->source, err);
    if (rc)
        lw_view_close(view);
    else
        *out = view;
    return rc;
}

/* Wait for a read under way, and free the memory of lw_view_select. */
static void release(struct lw_view *view)
{
    if (view->read.cells)
        lw_cells_end(&view->read, NULL);
    lw_cells_release(&view->cells);
    lw_free(view->read.chunks);
    lw_free(view->row.memory);
    lw_free(view->bounce);
    view->read = (struct lw_cells_read){0};
    view->row = (struct lw_chunk_row){0};
    view->bounce = NULL;
}

void lw_view_close(struct lw_view *view)
{
    if (!view)
        return;
    release(view);
    lw_source_close(view->source);
    lw_free(view);
}

int64_t lw_view_bytes(const struct lw_source *source, const struct lw_view_spec *spec)
{
    const int64_t bytes = source->described.opened_bytes + kept_bytes(source, spec);
    const int64_t places = count_tiles(source, spec) * (int64_t)sizeof(struct lw_stored_chunk);
    if (lw_source_decodes(source))
        return bytes + places + lw_decoders_bytes(&source->stored.filters, count_decoders(source, spec));
    if (source->is_pooled)
        return bytes + places + plan_cells(source, spec).bounce_bytes * lw_pool_threads(source->pool);
    const int64_t bounce = plan_calls(source, spec).bounce_bytes;
    if (!is_chunked(source))
        return bytes + bounce;
    const bool whole = takes_chunks_whole(source, spec);
    return bytes + bounce + source->format->library->chunks_bytes(&source->described, whole, chunks_touched(source, spec));
}

int lw_view_select(struct lw_view *view, const struct lw_view_spec *spec, struct lw_error *err)
{
    const struct lw_source *const source = view->source;
    const int rc = lw_view_check(&source->info, spec, err);
    if (rc)
        return rc;
    assert(spec->max_axis > 0 && spec->max_channels > 0);
    release(view);
    view->spec = *spec;
    const int64_t kept = kept_bytes(source, spec);
    if (kept > 0 && !(view->row.memory = lw_alloc((size_t)kept, "a row of chunks", err)))
        return LW_ESYSTEM;
    if (source->is_pooled) {
        view->cells = plan_cells(source, spec);
        const int64_t n = source->stored.is_chunked ? count_tiles(source, spec) : 0;
        if (n > 0 && !(view->read.chunks = lw_alloc_array(n, sizeof *view->read.chunks, "the places of chunks", err)))
            return LW_ESYSTEM;
        return lw_cells_create(&view->cells, lw_source_decodes(source) ? count_decoders(source, spec) : 0, err);
    }
    view->calls = plan_calls(source, spec);
    if (view->calls.bounce_bytes > 0 &&
        !(view->bounce = lw_alloc((size_t)view->calls.bounce_bytes, "channels read with a step", err)))
        return LW_ESYSTEM;
    if (!is_chunked(source))
        return LW_OK;
    return source->format->library->prepare_chunks(source->dataset, takes_chunks_whole(source, spec), err);
}

bool lw_view_locate(const struct lw_view *view, struct lw_reader_place *place)
{
    const struct lw_source *const source = view->source;
    const struct lw_view_spec *const spec = &view->spec;
    int64_t pitch[LW_MAX_DIMS];
    if (!source->is_pooled || source->stored.is_chunked || source->is_by_format)
        return false;
    lw_cells_pitch(source, pitch);
    const int64_t axis = pitch[source->described_dim[spec->axis]];
    const int64_t channel = count_dims(source, spec) == 2 ? pitch[source->described_dim[1 - spec->axis]] : 0;
    *place = (struct lw_reader_place){
        .fd = source->stored.fd, .axis_bytes = axis, .channel_bytes = channel * spec->channels.step,
        .offset = source->stored.offset + spec->start * axis + spec->channels.begin * channel,
        .type = source->info.type, .packing = source->info.packing,
    };
    return true;
}

int lw_view_begin(struct lw_view *view, const struct lw_slab *slab, struct lw_error *err)
{
    assert(slab->count <= view->spec.max_axis && slab->n_channels <= view->spec.max_channels);
    assert(slab->count == 0 || slab->first + slab->count <= view->spec.count);
    return view->source->is_pooled ? begin_pooled(view, slab, err) : read_by_library(view, slab, err);
}

int lw_view_end(struct lw_view *view, struct lw_error *err)
{
    if (!view->source->is_pooled)
        return LW_OK;
    const int rc = lw_cells_end(&view->read, err);
    if (rc)
        view->row.count = 0;
    return rc;
}
