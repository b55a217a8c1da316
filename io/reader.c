#include "reader.h"

#include "../src/comm_mpi.h"
#include "../src/memory.h"
#include "hdf5_error.h"
#include "hdf5_type.h"
#include "parallel.h"
#include "probe.h"

#include <assert.h>
#include <errno.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MIB ((int64_t)1 << 20)

/* File bytes of one read where every so many channels are picked out of contiguous rows. */
#define BOUNCE_BYTES (32 * MIB)

/* Decoded chunks that are kept for the next read, at most. */
#define CHUNK_CACHE_BYTES (64 * MIB)
enum { CHUNK_CACHE_SLOTS = 20011 };         /* a prime well above the number of chunks kept */

/* How one read is made of file calls, the same number on every rank: n_slow x n_fast calls of at most slow x fast samples
 * of the view's two dimensions. `bounce_bytes` > 0: through the bounce buffer. */
struct calls {
    int64_t slow, fast;
    int64_t n_slow, n_fast;
    int64_t bounce_bytes;
};

struct lw_reader {
    struct lw_comm *comm;
    struct lw_dataset_info info;
    bool is_collective;         /* transfers over MPI-IO; otherwise each rank has a plain handle of its own */
    hid_t file, dataset, type, transfer;
    struct lw_view_spec view;
    struct calls calls;
    char *bounce;
    bool was_reported;
    int64_t bytes_read;
};

/* ---- open ---------------------------------------------------------------------------------------------------------- */

/* What rank 0 finds out and tells the others. */
struct finding {
    struct lw_dataset_info info;
    bool is_collective;
};

static int check_type(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    char found[96];
    const hid_t stored = H5Dget_type(dataset);
    int rc = LW_OK;
    if (!lw_hdf5_type_parse(stored, &info->type))
        rc = lw_fail(err, LW_EDATA, "%s:%s holds %s; samples must be %s: convert it first", info->file, info->path,
                     lw_hdf5_type_text(stored, found, sizeof found), LW_LEGAL_TYPES);
    H5Tclose(stored);
    return rc;
}

/* MPI-IO transfers whole extents of the file. Filters need chunks decoded one by one, which HDF5's collective read does
 * with a buffer for every chunk of the selection at once, and slower than from a cache. Virtual and external datasets it
 * cannot open at all, and HDF5 1.10 fails where chunks were never written. */
static bool can_be_collective(hid_t dataset)
{
    const hid_t creation = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = H5Pget_layout(creation);
    const bool is_plain = (layout == H5D_CONTIGUOUS && H5Pget_external_count(creation) == 0) ||
                          (layout == H5D_CHUNKED && H5Pget_nfilters(creation) == 0);
    H5Pclose(creation);

    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    H5Dget_space_status(dataset, &status);
    return is_plain && status == H5D_SPACE_STATUS_ALLOCATED;
}

static int examine(const char *name, struct finding *finding, struct lw_error *err)
{
    char file_name[LW_MAX_PATH], path[LW_MAX_PATH];
    hid_t file = -1, dataset = -1;
    int rc;
    if ((rc = lw_probe_parse(name, file_name, path, err)) ||
        (rc = lw_probe_file(file_name, &file, err)) ||
        (rc = lw_probe_dataset(file, file_name, path, &dataset, err)) ||
        (rc = lw_probe_describe(file, file_name, path, dataset, &finding->info, err)) ||
        (rc = check_type(dataset, &finding->info, err)))
        goto close;
    finding->is_collective = can_be_collective(dataset);
close:
    if (dataset >= 0)
        H5Dclose(dataset);
    if (file >= 0)
        H5Fclose(file);
    return rc;
}

/* The other ranks may run on nodes that do not share this folder. */
static int check_same_file(const struct lw_dataset_info *info, struct lw_error *err)
{
    struct stat status;
    if (stat(info->file, &status) != 0)
        return lw_fail(err, LW_EIO, "cannot read '%s' here (%s): all ranks need it, on a file system that their nodes share",
                       info->file, strerror(errno));
    if (status.st_size != info->file_bytes)
        return lw_fail(err, LW_EIO, "'%s' has %" PRId64 " bytes here and %" PRId64 " for rank 0: ranks must see one file",
                       info->file, (int64_t)status.st_size, info->file_bytes);
    return LW_OK;
}

static int open_dataset(struct lw_reader *reader, struct lw_error *err)
{
    const struct lw_dataset_info *const info = &reader->info;
    reader->dataset = H5Dopen2(reader->file, info->path, H5P_DEFAULT);
    if (reader->dataset < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot open %s:%s", info->file, info->path);
    reader->type = H5Dget_type(reader->dataset);
    return LW_OK;
}

static int open_collective(struct lw_reader *reader, struct lw_error *err)
{
    const hid_t access = lw_parallel_access(reader->comm);
    reader->file = H5Fopen(reader->info.file, H5F_ACC_RDONLY, access);
    int rc = reader->file >= 0 ? LW_OK : lw_hdf5_fail(err, LW_EIO, "cannot read '%s' with MPI-IO", reader->info.file);
    H5Pclose(access);
    if ((rc = lw_parallel_opened(reader->comm, rc, err)))
        return rc;
    reader->transfer = lw_parallel_transfer();
    return lw_comm_agree(reader->comm, open_dataset(reader, err), err);
}

static int open_own(struct lw_reader *reader, struct lw_error *err)
{
    int rc = lw_probe_file(reader->info.file, &reader->file, err);
    if (rc == LW_OK)
        rc = open_dataset(reader, err);
    reader->transfer = H5Pcreate(H5P_DATASET_XFER);
    return lw_comm_agree(reader->comm, rc, err);
}

static int find_dataset(struct lw_reader *reader, const char *name, struct lw_error *err)
{
    struct finding finding = {0};
    lw_hdf5_quiet();
    int rc = lw_comm_rank(reader->comm) == 0 ? examine(name, &finding, err) : LW_OK;
    if ((rc = lw_comm_agree(reader->comm, rc, err)))
        return rc;
    lw_comm_broadcast(reader->comm, &finding, sizeof finding);
    reader->info = finding.info;
    reader->is_collective = finding.is_collective;
    return lw_comm_agree(reader->comm, check_same_file(&reader->info, err), err);
}

int lw_reader_open(struct lw_comm *comm, const char *name, struct lw_reader **out, struct lw_error *err)
{
    struct lw_reader *const reader = lw_alloc(sizeof *reader, "the reader", err);
    int rc = lw_comm_agree(comm, reader ? LW_OK : LW_ESYSTEM, err);
    if (rc) {
        lw_free(reader);
        return rc;
    }
    *reader = (struct lw_reader){.comm = comm, .file = -1, .dataset = -1, .type = -1, .transfer = -1};
    if ((rc = find_dataset(reader, name, err)) ||
        (rc = reader->is_collective ? open_collective(reader, err) : open_own(reader, err))) {
        lw_reader_close(reader);
        return rc;
    }
    *out = reader;
    return LW_OK;
}

void lw_reader_close(struct lw_reader *reader)
{
    if (!reader)
        return;
    if (reader->transfer >= 0)
        H5Pclose(reader->transfer);
    if (reader->type >= 0)
        H5Tclose(reader->type);
    if (reader->dataset >= 0)
        H5Dclose(reader->dataset);
    if (reader->file >= 0)
        H5Fclose(reader->file);
    lw_free(reader->bounce);
    lw_free(reader);
}

const struct lw_dataset_info *lw_reader_info(const struct lw_reader *reader)
{
    return &reader->info;
}

int64_t lw_reader_bytes_read(const struct lw_reader *reader)
{
    return reader->bytes_read;
}

/* ---- the view ------------------------------------------------------------------------------------------------------ */

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static bool is_time_slow(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return reader->info.n_dims == 2 && view->axis == 0;
}

static int64_t sample_bytes(const struct lw_reader *reader)
{
    return (int64_t)lw_type_bytes(reader->info.type);
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
    const int64_t limit = (bounces ? BOUNCE_BYTES : LW_MESSAGE_BYTES) / sample_bytes(reader);
    const int64_t n_slow = slow ? view->max_axis : view->max_channels;
    const int64_t n_fast = slow ? view->max_channels : view->max_axis;

    struct calls calls = {.fast = min64(n_fast, (limit - 1) / step + 1)};
    const int64_t row = (calls.fast - 1) * step + 1;
    calls.slow = min64(n_slow, calls.fast < n_fast ? 1 : limit / row);
    calls.n_fast = divide_up(n_fast, calls.fast);
    calls.n_slow = divide_up(n_slow, calls.slow);
    calls.bounce_bytes = bounces ? calls.slow * row * sample_bytes(reader) : 0;
    return calls;
}

static int64_t chunk_bytes(const struct lw_reader *reader)
{
    int64_t bytes = sample_bytes(reader);
    for (int d = 0; d < reader->info.n_dims; d++)
        bytes *= reader->info.chunk[d];
    return bytes;
}

/* Enough for the chunks of all channels at one place of the axis: those that a cut divides, and the next read needs again. */
static int64_t chunk_cache_bytes(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    int64_t columns = 1;
    if (reader->info.n_dims == 2) {
        const int other = 1 - view->axis;
        const int64_t there_are = divide_up(reader->info.dims[other], reader->info.chunk[other]);
        columns = min64(there_are, divide_up(channel_extent(view, view->max_channels), reader->info.chunk[other]) + 1);
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

static int check_view(const struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err)
{
    const struct lw_dataset_info *const info = &reader->info;
    if (info->n_dims > 2)
        return lw_fail(err, LW_EDATA, "%s:%s has %d dimensions: 1 or 2 can be read", info->file, info->path, info->n_dims);
    if (view->axis < 0 || view->axis >= info->n_dims)
        return lw_fail(err, LW_ECONFIG, "%s:%s has no dimension %d to be the axis: it has %d", info->file, info->path,
                       view->axis, info->n_dims);
    if (view->channels.step < 1)
        return lw_fail(err, LW_ECONFIG, "channel step %" PRId64 " is not 1 or more", view->channels.step);
    const int64_t n_channels = info->n_dims == 2 ? info->dims[1 - view->axis] : 1;
    int rc;
    if ((rc = check_range(reader, "samples", view->start, view->start + view->count, info->dims[view->axis], err)) ||
        (rc = check_range(reader, "channels", view->channels.begin, view->channels.end, n_channels, err)))
        return rc;
    return LW_OK;
}

/* The cache of a dataset is fixed when it is opened. */
static int reopen_with_cache(struct lw_reader *reader, int64_t bytes, struct lw_error *err)
{
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, CHUNK_CACHE_SLOTS, (size_t)bytes, 1.0);      /* 1: drop chunks that were read whole */
    H5Dclose(reader->dataset);
    reader->dataset = H5Dopen2(reader->file, reader->info.path, access);
    H5Pclose(access);
    if (reader->dataset < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot open %s:%s again", reader->info.file, reader->info.path);
    return LW_OK;
}

int lw_reader_select(struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err)
{
    int rc = check_view(reader, view, err);
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
    hsize_t start[2], stride[2] = {1, 1}, count[2];

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
    const int skip = 2 - reader->info.n_dims;       /* rank 1: the fast dimension alone */
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start + skip, stride + skip, count + skip, NULL);
}

/* Rows of `n_fast` samples, `pitch` samples apart. */
static hid_t memory_space(int64_t n_slow, int64_t n_fast, int64_t pitch)
{
    const hsize_t dims[2] = {(hsize_t)n_slow, (hsize_t)pitch}, start[2] = {0, 0};
    const hsize_t count[2] = {(hsize_t)n_slow, (hsize_t)n_fast};
    const hid_t space = H5Screate_simple(2, dims, NULL);
    if (pitch > n_fast)
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    return space;
}

/* A failure inside a collective call cannot be told to the ranks that are still in it. */
static void transfer(struct lw_reader *reader, hid_t memory, hid_t space, void *into, struct lw_error *err)
{
    if (H5Dread(reader->dataset, reader->type, memory, space, reader->transfer, into) < 0) {
        lw_hdf5_fail(err, LW_EIO, "cannot read %s:%s", reader->info.file, reader->info.path);
        lw_comm_abort(reader->comm, err);
    }
}

static void transfer_nothing(struct lw_reader *reader, hid_t space, struct lw_error *err)
{
    char unused[16];
    const hid_t memory = H5Screate_simple(1, &(hsize_t){1}, NULL);
    H5Sselect_none(space);
    H5Sselect_none(memory);
    transfer(reader, memory, space, unused, err);
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
    return (char *)slab->into + (row * *pitch + column) * sample_bytes(reader);
}

/* Every `step`-th sample of rows in the bounce buffer to rows in the caller's. */
static void pick_channels(const struct lw_reader *reader, const struct piece *piece, char *into, int64_t pitch)
{
    const size_t bytes = (size_t)sample_bytes(reader);
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
    const hid_t memory = reader->bounce ? memory_space(piece->n_slow, extent, extent)
                                        : memory_space(piece->n_slow, piece->n_fast, pitch);
    select_in_file(reader, piece, space);
    transfer(reader, memory, space, reader->bounce ? reader->bounce : into, err);
    H5Sclose(memory);
    if (reader->bounce)
        pick_channels(reader, piece, into, pitch);
    reader->bytes_read += piece->n_slow * piece->n_fast * sample_bytes(reader);
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
