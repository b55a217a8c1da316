/* reader_view.c - which part of a dataset is shown, and how it is read. */
#include "reader_state.h"

#include "../src/comm_mpi.h"
#include "../src/memory.h"
#include "hdf5_error.h"
#include "parallel.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define MIB ((int64_t)1 << 20)

/* File bytes of one read where every so many channels are picked out of contiguous rows. */
#define BOUNCE_BYTES (32 * MIB)

/* Decoded chunks that are kept for the next read, at most. */
#define CHUNK_CACHE_BYTES (64 * MIB)
enum { CHUNK_CACHE_SLOTS = 20011 };         /* a prime well above the number of chunks kept */

/* ---- the view ------------------------------------------------------------------------------------------------------ */

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Dimensions that are axis or channels. */
static int view_dims(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return reader->info.n_dims - (view->has_rows ? 1 : 0);
}

static bool is_time_slow(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return view_dims(reader, view) == 2 && view->axis == 0;
}

/* Values in one sample of the view. */
static int64_t row_length(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return view->has_rows ? reader->info.dims[reader->info.n_dims - 1] : 1;
}

static int64_t sample_bytes(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return row_length(reader, view) * (int64_t)lw_type_bytes(reader->info.type);
}

/* File samples from the first to the last of `n` channels. */
static int64_t channel_extent(const struct lw_view_spec *view, int64_t n)
{
    return (n - 1) * view->channels.step + 1;
}

/* Whole rows of the fast dimension, as many as fit the limit; where not one does, parts of a row. */
static struct calls plan_calls(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    const bool slow = is_time_slow(reader, view);
    const bool bounces = slow && view->channels.step > 1;
    const int64_t step = bounces ? view->channels.step : 1;
    const int64_t limit = (bounces ? BOUNCE_BYTES : LW_MESSAGE_BYTES) / sample_bytes(reader, view);
    const int64_t n_slow = slow ? view->max_axis : view->max_channels;
    const int64_t n_fast = slow ? view->max_channels : view->max_axis;

    struct calls calls = {.fast = min64(n_fast, (limit - 1) / step + 1)};
    const int64_t row = (calls.fast - 1) * step + 1;
    calls.slow = min64(n_slow, calls.fast < n_fast ? 1 : limit / row);
    calls.n_fast = divide_up(n_fast, calls.fast);
    calls.n_slow = divide_up(n_slow, calls.slow);
    calls.bounce_bytes = bounces ? calls.slow * row * sample_bytes(reader, view) : 0;
    return calls;
}

static int64_t chunk_bytes(const struct lw_reader *reader)
{
    int64_t bytes = (int64_t)lw_type_bytes(reader->info.type);
    for (int d = 0; d < reader->info.n_dims; d++)
        bytes *= reader->info.chunk[d];
    return bytes;
}

/* Enough for the chunks of all channels at one place of the axis: those that a cut divides, and the next read needs again. */
static int64_t chunk_cache_bytes(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    int64_t columns = 1;
    if (view->has_rows)
        columns = divide_up(row_length(reader, view), reader->info.chunk[reader->info.n_dims - 1]);
    if (view_dims(reader, view) == 2) {
        const int other = 1 - view->axis;
        const int64_t there_are = divide_up(reader->info.dims[other], reader->info.chunk[other]);
        columns *= min64(there_are, divide_up(channel_extent(view, view->max_channels), reader->info.chunk[other]) + 1);
    }
    return min64(columns * chunk_bytes(reader), CHUNK_CACHE_BYTES);
}

int64_t lw_reader_bytes(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    int64_t bytes = plan_calls(reader, view).bounce_bytes;
    if (reader->info.is_compressed)
        bytes += chunk_cache_bytes(reader, view) + 2 * chunk_bytes(reader);     /* stored and decoded, while decoding */
    return bytes;
}

static int check_range(const struct lw_reader *reader, const char *what, int64_t begin, int64_t end, int64_t length,
                       struct lw_error *err)
{
    if (0 <= begin && begin < end && end <= length)
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "%s %" PRId64 "..%" PRId64 " of %s:%s do not exist: there are 0..%" PRId64, what, begin,
                   end - 1, reader->info.file, reader->info.path, length - 1);
}

int lw_reader_check(const struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err)
{
    const struct lw_dataset_info *const info = &reader->info;
    const int n_dims = view_dims(reader, view);
    if (n_dims < 1 || n_dims > 2)
        return lw_fail(err, LW_EDATA, "%s:%s has %d dimensions: %s can be read", info->file, info->path, info->n_dims,
                       view->has_rows ? "2 or 3" : "1 or 2");
    if (sample_bytes(reader, view) > LW_MESSAGE_BYTES)
        return lw_fail(err, LW_EDATA, "a row of %s:%s has %" PRId64 " bytes: at most %" PRId64 " can be read at a time",
                       info->file, info->path, sample_bytes(reader, view), (int64_t)LW_MESSAGE_BYTES);
    if (view->axis < 0 || view->axis >= n_dims || (view->has_rows && view->axis != n_dims - 1))
        return lw_fail(err, LW_ECONFIG, "%s:%s has %d dimensions: dimension %d cannot be the axis", info->file, info->path,
                       info->n_dims, view->axis);
    if (view->channels.step < 1)
        return lw_fail(err, LW_ECONFIG, "channel step %" PRId64 " is not 1 or more", view->channels.step);
    const int64_t n_channels = n_dims == 2 ? info->dims[1 - view->axis] : 1;
    int rc;
    if ((rc = check_range(reader, "samples", view->start, view->start + view->count, info->dims[view->axis], err)) ||
        (rc = check_range(reader, "channels", view->channels.begin, view->channels.end, n_channels, err)))
        return rc;
    return LW_OK;
}

/* The cache of a dataset is fixed when it is opened. Chunks that were read whole are the first to go; but with a preemption
 * of 1 HDF5 would drop only those, and grow without bound. */
static int reopen_with_cache(struct lw_reader *reader, int64_t bytes, struct lw_error *err)
{
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, CHUNK_CACHE_SLOTS, (size_t)bytes, 0.75);
    H5Dclose(reader->dataset);
    reader->dataset = H5Dopen2(reader->file, reader->info.path, access);
    H5Pclose(access);
    if (reader->dataset < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot open %s:%s again", reader->info.file, reader->info.path);
    return LW_OK;
}

int lw_reader_select(struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err)
{
    int rc = lw_reader_check(reader, view, err);
    if (rc)
        return rc;
    assert(view->max_axis > 0 && view->max_channels > 0);
    reader->view = *view;
    reader->calls = plan_calls(reader, view);
    lw_free(reader->bounce);
    reader->bounce = NULL;
    if (reader->calls.bounce_bytes > 0 &&
        !(reader->bounce = lw_alloc((size_t)reader->calls.bounce_bytes, "channels read with a step", err)))
        return LW_ESYSTEM;
    return reader->info.is_compressed ? reopen_with_cache(reader, chunk_cache_bytes(reader, view), err) : LW_OK;
}

/* ---- read ---------------------------------------------------------------------------------------------------------- */

/* Part of a slab that one file call reads, in the view's slow and fast dimension: [slow, slow + n_slow) and so on; empty if
 * a count is 0. */
struct piece {
    int64_t slow, n_slow;
    int64_t fast, n_fast;
};

static struct piece whole_slab(const struct lw_reader *reader, const struct lw_slab *slab)
{
    if (is_time_slow(reader, &reader->view))
        return (struct piece){slab->first, slab->count, slab->channel, slab->n_channels};
    return (struct piece){slab->channel, slab->n_channels, slab->first, slab->count};
}

/* The part of [first, first + count) that call number `call` of `size` each takes. */
static void cut(int64_t call, int64_t size, int64_t *first, int64_t *count)
{
    const int64_t before = min64(call * size, *count);
    *first += before;
    *count = min64(size, *count - before);
}

static void select_in_file(const struct lw_reader *reader, const struct piece *piece, hid_t space)
{
    const struct lw_view_spec *const view = &reader->view;
    const hsize_t step = (hsize_t)view->channels.step;
    hsize_t start[3] = {0}, stride[3] = {1, 1, 1}, count[3] = {1, 1, (hsize_t)row_length(reader, view)};

    if (is_time_slow(reader, view)) {
        start[0] = (hsize_t)(view->start + piece->slow);
        start[1] = (hsize_t)(view->channels.begin + piece->fast * view->channels.step);
        count[0] = (hsize_t)piece->n_slow;
        count[1] = (hsize_t)channel_extent(view, piece->n_fast);
    } else {
        start[0] = (hsize_t)(view->channels.begin + piece->slow * view->channels.step);
        start[1] = (hsize_t)(view->start + piece->fast);
        stride[0] = step;
        count[0] = (hsize_t)piece->n_slow;
        count[1] = (hsize_t)piece->n_fast;
    }
    const int skip = 2 - view_dims(reader, view);       /* without channels: the fast dimension alone */
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start + skip, stride + skip, count + skip, NULL);
}

/* `n_slow` times `n_fast` samples, `pitch` samples apart. */
static hid_t memory_space(const struct lw_reader *reader, int64_t n_slow, int64_t n_fast, int64_t pitch)
{
    const int64_t length = row_length(reader, &reader->view);
    const hsize_t dims[2] = {(hsize_t)n_slow, (hsize_t)(pitch * length)}, start[2] = {0, 0};
    const hsize_t count[2] = {(hsize_t)n_slow, (hsize_t)(n_fast * length)};
    const hid_t space = H5Screate_simple(2, dims, NULL);
    if (pitch > n_fast)
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    return space;
}

/* A failure inside a collective call cannot be told to the ranks that are still in it.
 * @param piece  what is read; NULL: nothing */
static void transfer(struct lw_reader *reader, const struct piece *piece, hid_t memory, hid_t space, void *into,
                     struct lw_error *err)
{
    const struct lw_dataset_info *const info = &reader->info;
    if (H5Dread(reader->dataset, reader->type, memory, space, reader->transfer, into) >= 0)
        return;
    if (piece) {
        const bool slow = is_time_slow(reader, &reader->view);
        const int64_t first = reader->view.start + (slow ? piece->slow : piece->fast);
        const int64_t count = slow ? piece->n_slow : piece->n_fast;
        lw_hdf5_fail(err, LW_EIO, "cannot read samples %" PRId64 "..%" PRId64 " of %s:%s", first, first + count - 1,
                     info->file, info->path);
    } else {
        lw_hdf5_fail(err, LW_EIO, "cannot read %s:%s", info->file, info->path);
    }
    lw_comm_abort(reader->comm, err);
}

static void transfer_nothing(struct lw_reader *reader, hid_t space, struct lw_error *err)
{
    char unused[16];
    const hid_t memory = H5Screate_simple(1, &(hsize_t){1}, NULL);
    H5Sselect_none(space);
    H5Sselect_none(memory);
    transfer(reader, NULL, memory, space, unused, err);
    H5Sclose(memory);
}

/* Where a piece begins in the caller's buffer, and how many samples its rows are apart. */
static char *place(const struct lw_reader *reader, const struct lw_slab *slab, const struct piece *piece, int64_t *pitch)
{
    int64_t row, column;
    if (is_time_slow(reader, &reader->view)) {
        *pitch = slab->n_channels;
        row = slab->into_first + piece->slow - slab->first;
        column = piece->fast - slab->channel;
    } else {
        *pitch = slab->into_axis;
        row = piece->slow - slab->channel;
        column = slab->into_first + piece->fast - slab->first;
    }
    return (char *)slab->into + (row * *pitch + column) * sample_bytes(reader, &reader->view);
}

/* Every `step`-th sample of rows in the bounce buffer to rows in the caller's. */
static void pick_channels(const struct lw_reader *reader, const struct piece *piece, char *into, int64_t pitch)
{
    const size_t bytes = (size_t)sample_bytes(reader, &reader->view);
    const size_t step = (size_t)reader->view.channels.step * bytes;
    const size_t row_bytes = (size_t)channel_extent(&reader->view, piece->n_fast) * bytes;
    for (int64_t r = 0; r < piece->n_slow; r++) {
        const char *from = reader->bounce + (size_t)r * row_bytes;
        char *to = into + (size_t)(r * pitch) * bytes;
        for (int64_t c = 0; c < piece->n_fast; c++, from += step, to += bytes)
            memcpy(to, from, bytes);
    }
}

static void read_piece(struct lw_reader *reader, const struct lw_slab *slab, const struct piece *piece, hid_t space,
                       struct lw_error *err)
{
    int64_t pitch;
    char *const into = place(reader, slab, piece, &pitch);
    const int64_t extent = channel_extent(&reader->view, piece->n_fast);
    const hid_t memory = reader->bounce ? memory_space(reader, piece->n_slow, extent, extent)
                                        : memory_space(reader, piece->n_slow, piece->n_fast, pitch);
    select_in_file(reader, piece, space);
    transfer(reader, piece, memory, space, reader->bounce ? reader->bounce : into, err);
    H5Sclose(memory);
    if (reader->bounce)
        pick_channels(reader, piece, into, pitch);
    reader->bytes_read += piece->n_slow * piece->n_fast * sample_bytes(reader, &reader->view);
}

static void report_once(struct lw_reader *reader)
{
    if (reader->is_collective && !reader->was_reported)
        lw_parallel_report(reader->transfer, reader->info.file);
    reader->was_reported = true;
}

int lw_reader_read(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err)
{
    const struct calls *const calls = &reader->calls;
    const struct piece whole = whole_slab(reader, slab);
    assert(slab->count <= reader->view.max_axis && slab->n_channels <= reader->view.max_channels);
    assert(slab->count == 0 || slab->first + slab->count <= reader->view.count);

    const hid_t space = H5Dget_space(reader->dataset);
    for (int64_t call = 0; call < calls->n_slow * calls->n_fast; call++) {
        struct piece piece = whole;
        cut(call / calls->n_fast, calls->slow, &piece.slow, &piece.n_slow);
        cut(call % calls->n_fast, calls->fast, &piece.fast, &piece.n_fast);
        if (piece.n_slow > 0 && piece.n_fast > 0)
            read_piece(reader, slab, &piece, space, err);
        else if (reader->is_collective)
            transfer_nothing(reader, space, err);
    }
    H5Sclose(space);
    report_once(reader);
    return LW_OK;
}
