#include "io/read/view.h"

#include "base/integers.h"
#include "base/proc.h"

#include <inttypes.h>

/* Assumed, for estimates: what the format's library decodes, what a pool's thread decodes, what is read in place. */
static const double library_bytes_per_second = 100e6, thread_bytes_per_second = 500e6, read_bytes_per_second = 1e9;

/* Chunks being decoded, of all threads together. One is, whatever its size. */
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

/* In dimensions that are neither axis nor channels nor rows of pixels there is one sample. */
struct lw_target lw_view_target(const struct lw_source *source, const struct lw_view_spec *spec, const struct lw_slab *slab)
{
    const int64_t bytes = lw_view_sample_bytes(source, spec);
    const bool is_slow = lw_view_is_time_slow(source, spec);
    const int axis = source->described_dim[spec->axis];
    struct lw_target target = {.step = {1, 1, 1, 1}, .count = {1, 1, 1, 1}};
    target.first[axis] = spec->start + slab->first;
    target.count[axis] = slab->count;
    target.pitch[axis] = is_slow ? slab->n_channels * bytes : bytes;
    if (lw_view_dims(source, spec) == 2) {
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

/* Channels of the file in a chunk. */
static int64_t width(const struct lw_source *source, const struct lw_view_spec *view)
{
    return lw_view_dims(source, view) == 2 ? source->info.chunk[1 - view->axis] : 1;
}

/* Chunks side by side in one row of pixels. */
static int64_t columns(const struct lw_source *source, const struct lw_view_spec *view)
{
    return view->has_rows ? lw_divide_up(lw_view_row_length(source, view), source->info.chunk[source->info.n_dims - 1]) : 1;
}

/* Chunks of `size` that `length` neighbours out of `all` touch at most. */
static int64_t touched(int64_t length, int64_t size, int64_t all)
{
    return lw_min64(lw_divide_up(length, size) + 1, lw_divide_up(all, size));
}

int64_t lw_view_chunks_touched(const struct lw_source *source, const struct lw_view_spec *view)
{
    const struct lw_dataset_info *const info = &source->info;
    int64_t n = columns(source, view) * touched(view->max_axis, lw_view_chunk_height(source, view), info->dims[view->axis]);
    if (lw_view_dims(source, view) == 2)
        n *= touched(lw_view_extent(view, view->max_channels), width(source, view), info->dims[1 - view->axis]);
    return n;
}

bool lw_view_takes_chunks_whole(const struct lw_source *source, const struct lw_view_spec *view)
{
    if (source->info.is_compressed)
        return true;
    return lw_view_is_chunked(source) && !source->is_pooled && view->chunks != LW_CHUNKS_IN_PLACE &&
           lw_dataset_chunk_bytes(&source->info) <= source->format->library->most_whole_bytes;
}

bool lw_view_keeps_chunks(const struct lw_source *source, const struct lw_view_spec *view)
{
    return view->chunks == LW_CHUNKS_KEPT && lw_view_takes_chunks_whole(source, view);
}

int lw_view_decoders(const struct lw_source *source, const struct lw_view_spec *view)
{
    const int64_t room = lw_max64(1, DECODING_BYTES / lw_decoder_bytes(&source->stored.filters));
    return (int)lw_min64(lw_pool_threads(source->pool), lw_min64(room, lw_view_chunks_touched(source, view)));
}

/* ---- how often, how long ---------------------------------------------------------------------------------------------- */

/* Pieces that a chunk falls into on average, where `all` is cut every `piece` and into chunks of `size`, the first of which
 * has lost its first `offset` to what is before: each cut adds one, but for those that fall together. */
static double pieces_of_chunk(int64_t size, int64_t piece, int64_t all, int64_t offset)
{
    if (piece >= all)
        return 1;
    const int64_t divisor = lw_common_divisor(size, piece);
    return 1 + ((double)size - (double)(offset % divisor == 0 ? divisor : 0)) / (double)piece;
}

/* Threads that wait for each other's cores decode no faster. */
struct lw_chunk_cost lw_view_chunk_cost(const struct lw_source *source, const struct lw_view_spec *view,
                                        const struct lw_reads *reads)
{
    if (!lw_view_takes_chunks_whole(source, view))
        return (struct lw_chunk_cost){0};
    const int64_t step = view->channels.step, channels = view->channels.end - view->channels.begin;
    const int64_t a = lw_view_chunk_height(source, view), w = width(source, view);
    double on_axis = pieces_of_chunk(a, reads->axis, view->count, 1);
    if (lw_view_keeps_chunks(source, view) && on_axis > reads->n_axis_ranks)
        on_axis = reads->n_axis_ranks;
    const double times = on_axis * pieces_of_chunk(w, reads->channels * step, channels, view->channels.begin);
    const double n_chunks = (double)(columns(source, view) * lw_divide_up(view->start % a + view->count, a)) *
                            (double)lw_divide_up(view->channels.begin % w + channels, w);
    const double bytes = n_chunks * (double)lw_dataset_chunk_bytes(&source->info);
    if (!source->info.is_compressed)
        return (struct lw_chunk_cost){times, (times - 1) * bytes / read_bytes_per_second};
    const double rate = lw_source_decodes(source)
                            ? thread_bytes_per_second * (double)lw_min64(lw_view_decoders(source, view), lw_proc_cores())
                            : library_bytes_per_second;
    return (struct lw_chunk_cost){times, times * bytes / rate / reads->n_ranks};
}

int64_t lw_view_chunk_width(const struct lw_source *source, const struct lw_view_spec *view)
{
    return lw_view_takes_chunks_whole(source, view) ? lw_max64(1, width(source, view) / view->channels.step) : 0;
}
