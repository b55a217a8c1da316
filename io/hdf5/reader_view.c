/* reader_view.c - which part of a dataset is shown, and how it is read. */
#include "base/integers.h"
#include "io/hdf5/chunks.h"

#include "base/memory.h"
#include "io/hdf5/error.h"

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
static struct calls plan_calls(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    if (!lw_view_picks(reader, view) || lw_chunks_are_kept(reader, view))
        return (struct calls){INT64_MAX, INT64_MAX, 0};
    struct calls calls = {.slow = view->max_axis, .fast = view->max_channels};
    const int64_t limit = BOUNCE_BYTES / lw_view_sample_bytes(reader, view);
    const int64_t fast = min64(calls.fast, (limit - 1) / view->channels.step + 1);
    const int64_t row = lw_view_extent(view, fast);
    calls.slow = min64(calls.slow, fast < calls.fast ? 1 : limit / row);
    calls.fast = fast;
    calls.bounce_bytes = calls.slow * row * lw_view_sample_bytes(reader, view);
    return calls;
}

int64_t lw_reader_bytes(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return plan_calls(reader, view).bounce_bytes + lw_chunks_bytes(reader, view);
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
    const int n_dims = lw_view_dims(reader, view);
    if (n_dims < 1 || n_dims > 2)
        return lw_fail(err, LW_EDATA, "%s:%s has %d dimensions: %s can be read", info->file, info->path, info->n_dims,
                       view->has_rows ? "2 or 3" : "1 or 2");
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
    return lw_chunks_select(reader, err);
}

/* ---- read ---------------------------------------------------------------------------------------------------------- */

/* Part of a slab that one file call reads, in the view's slow and fast dimension: [slow, slow + n_slow) and so on. */
struct piece {
    int64_t slow, n_slow;
    int64_t fast, n_fast;
};

static struct piece whole_slab(const struct lw_reader *reader, const struct lw_slab *slab)
{
    if (lw_view_is_time_slow(reader, &reader->view))
        return (struct piece){slab->first, slab->count, slab->channel, slab->n_channels};
    return (struct piece){slab->channel, slab->n_channels, slab->first, slab->count};
}

static void select_in_file(const struct lw_reader *reader, const struct piece *piece, hid_t space)
{
    const struct lw_view_spec *const view = &reader->view;
    const hsize_t step = (hsize_t)view->channels.step;
    hsize_t start[3] = {0}, stride[3] = {1, 1, 1}, count[3] = {1, 1, (hsize_t)lw_view_row_length(reader, view)};

    if (lw_view_is_time_slow(reader, view)) {
        start[0] = (hsize_t)(view->start + piece->slow);
        start[1] = (hsize_t)(view->channels.begin + piece->fast * view->channels.step);
        count[0] = (hsize_t)piece->n_slow;
        count[1] = (hsize_t)lw_view_extent(view, piece->n_fast);
    } else {
        start[0] = (hsize_t)(view->channels.begin + piece->slow * view->channels.step);
        start[1] = (hsize_t)(view->start + piece->fast);
        stride[0] = step;
        count[0] = (hsize_t)piece->n_slow;
        count[1] = (hsize_t)piece->n_fast;
    }
    const int skip = 2 - lw_view_dims(reader, view);       /* without channels: the fast dimension alone */
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start + skip, stride + skip, count + skip, NULL);
}

/* `n_slow` times `n_fast` samples, `pitch` samples apart. */
static hid_t memory_space(const struct lw_reader *reader, int64_t n_slow, int64_t n_fast, int64_t pitch)
{
    const int64_t length = lw_view_row_length(reader, &reader->view);
    const hsize_t dims[2] = {(hsize_t)n_slow, (hsize_t)(pitch * length)}, start[2] = {0, 0};
    const hsize_t count[2] = {(hsize_t)n_slow, (hsize_t)(n_fast * length)};
    const hid_t space = H5Screate_simple(2, dims, NULL);
    if (pitch > n_fast)
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    return space;
}

static int transfer(struct lw_reader *reader, const struct piece *piece, hid_t memory, hid_t space, void *into,
                    struct lw_error *err)
{
    if (H5Dread(reader->dataset, reader->type, memory, space, H5P_DEFAULT, into) >= 0)
        return LW_OK;
    const bool slow = lw_view_is_time_slow(reader, &reader->view);
    const int64_t first = reader->view.start + (slow ? piece->slow : piece->fast);
    const int64_t count = slow ? piece->n_slow : piece->n_fast;
    return lw_hdf5_fail(err, LW_EIO, "cannot read samples %" PRId64 "..%" PRId64 " of %s:%s", first, first + count - 1,
                        reader->info.file, reader->info.path);
}

/* Where a piece begins in the caller's buffer, and how many samples its rows are apart. */
static char *place(const struct lw_reader *reader, const struct lw_slab *slab, const struct piece *piece, int64_t *pitch)
{
    int64_t row, column;
    if (lw_view_is_time_slow(reader, &reader->view)) {
        *pitch = slab->n_channels;
        row = slab->into_first + piece->slow - slab->first;
        column = piece->fast - slab->channel;
    } else {
        *pitch = slab->into_axis;
        row = piece->slow - slab->channel;
        column = slab->into_first + piece->fast - slab->first;
    }
    return (char *)slab->into + (row * *pitch + column) * lw_view_sample_bytes(reader, &reader->view);
}

void lw_view_pick(const struct lw_reader *reader, const char *rows, int64_t n_rows, int64_t n_channels, char *into,
                  int64_t pitch)
{
    const size_t bytes = (size_t)lw_view_sample_bytes(reader, &reader->view);
    const size_t step = (size_t)reader->view.channels.step * bytes;
    const size_t row_bytes = (size_t)lw_view_extent(&reader->view, n_channels) * bytes;
    for (int64_t r = 0; r < n_rows; r++) {
        const char *from = rows + (size_t)r * row_bytes;
        char *to = into + (size_t)(r * pitch) * bytes;
        for (int64_t c = 0; c < n_channels; c++, from += step, to += bytes)
            memcpy(to, from, bytes);
    }
}

static int read_piece(struct lw_reader *reader, const struct lw_slab *slab, const struct piece *piece, hid_t space,
                      struct lw_error *err)
{
    int64_t pitch;
    char *const into = place(reader, slab, piece, &pitch);
    const int64_t extent = lw_view_extent(&reader->view, piece->n_fast);
    const hid_t memory = reader->bounce ? memory_space(reader, piece->n_slow, extent, extent)
                                        : memory_space(reader, piece->n_slow, piece->n_fast, pitch);
    select_in_file(reader, piece, space);
    const int rc = transfer(reader, piece, memory, space, reader->bounce ? reader->bounce : into, err);
    H5Sclose(memory);
    if (rc)
        return rc;
    if (reader->bounce)
        lw_view_pick(reader, reader->bounce, piece->n_slow, piece->n_fast, into, pitch);
    return LW_OK;
}

int lw_view_read(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err)
{
    const struct calls *const calls = &reader->calls;
    const struct piece whole = whole_slab(reader, slab);
    int rc = LW_OK;
    const hid_t space = H5Dget_space(reader->dataset);
    for (int64_t slow = 0; rc == LW_OK && slow < whole.n_slow; slow += min64(calls->slow, whole.n_slow))
        for (int64_t fast = 0; rc == LW_OK && fast < whole.n_fast; fast += min64(calls->fast, whole.n_fast)) {
            const struct piece piece = {
                whole.slow + slow, min64(calls->slow, whole.n_slow - slow),
                whole.fast + fast, min64(calls->fast, whole.n_fast - fast),
            };
            rc = read_piece(reader, slab, &piece, space, err);
        }
    H5Sclose(space);
    return rc;
}

int lw_reader_read(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err)
{
    assert(slab->count <= reader->view.max_axis && slab->n_channels <= reader->view.max_channels);
    assert(slab->count == 0 || slab->first + slab->count <= reader->view.count);
    const int rc = reader->row.memory ? lw_chunks_read(reader, slab, err) : lw_view_read(reader, slab, err);
    if (rc == LW_OK)
        reader->bytes_read += slab->count * slab->n_channels * lw_view_sample_bytes(reader, &reader->view);
    return rc;
}
