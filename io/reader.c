#include "io/reader_state.h"

#include "base/file.h"
#include "base/memory.h"
#include "io/examine.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A dataset that was never written may have any dimensions. */
static int check_bytes(const struct lw_dataset_info *info, struct lw_error *err)
{
    int64_t bytes = (int64_t)lw_type_bytes(info->type);
    for (int d = 0; d < info->n_dims; d++)
        if (__builtin_mul_overflow(bytes, info->dims[d], &bytes))
            return lw_fail(err, LW_EDATA, "%s:%s has more bytes than 64 bits can count: its dimension %d has length %" PRId64,
                           info->file, info->path, d, info->dims[d]);
    return LW_OK;
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

/* Each rank for itself. */
static int open_own(struct lw_reader *reader, struct lw_error *err)
{
    int rc = lw_formats_find(reader->info.file, &reader->format, err);
    if (rc == LW_OK)
        rc = reader->format->open(&reader->info, &reader->dataset, err);
    return lw_comm_agree(reader->comm, rc, err);
}

static int find_dataset(struct lw_reader *reader, const char *name, struct lw_error *err)
{
    struct lw_dataset_info *const info = &reader->info;
    int rc = LW_OK;
    if (lw_comm_rank(reader->comm) == 0)
        (void)((rc = lw_examine_dataset(name, LW_USE_SAMPLES, info, err)) || (rc = check_bytes(info, err)));
    if ((rc = lw_comm_agree(reader->comm, rc, err)))
        return rc;
    lw_comm_broadcast(reader->comm, info, sizeof *info);
    return lw_comm_agree(reader->comm, check_same_file(info, err), err);
}

int lw_reader_open(struct lw_comm *comm, const char *name, struct lw_reader **out, struct lw_error *err)
{
    struct lw_reader *const reader = lw_alloc(sizeof *reader, "the reader", err);
    int rc = lw_comm_agree(comm, reader ? LW_OK : LW_ESYSTEM, err);
    if (rc) {
        lw_free(reader);
        return rc;
    }
    *reader = (struct lw_reader){.comm = comm, .fd = -1};
    if ((rc = find_dataset(reader, name, err)) || (rc = open_own(reader, err))) {
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
    if (reader->dataset)
        reader->format->close(reader->dataset);
    lw_free(reader->row.memory);
    if (reader->fd >= 0)
        close(reader->fd);
    lw_free(reader->bounce);
    lw_free(reader);
}

void lw_reader_use(struct lw_reader *reader, struct lw_pool *pool)
{
    char why[96];
    reader->pool = pool;
    reader->fd = lw_file_open(reader->info.file, why);
}

bool lw_reader_locate(const struct lw_reader *reader, struct lw_reader_place *place)
{
    const struct lw_view_spec *const view = &reader->view;
    const int64_t sample = lw_view_sample_bytes(reader, view);
    const int64_t offset = reader->pool && reader->fd >= 0 && reader->format->offset ? reader->format->offset(reader->dataset) : -1;
    if (offset < 0)
        return false;
    const bool slow = lw_view_is_time_slow(reader, view);
    const int64_t axis = slow ? reader->info.dims[1] : 1, channel = slow ? 1 : reader->info.dims[view->axis];
    *place = (struct lw_reader_place){
        .fd = reader->fd, .axis_bytes = axis * sample, .channel_bytes = channel * view->channels.step * sample,
        .offset = offset + (view->start * axis + view->channels.begin * channel) * sample,
    };
    return true;
}

const struct lw_dataset_info *lw_reader_info(const struct lw_reader *reader)
{
    return &reader->info;
}

int64_t lw_reader_bytes_read(const struct lw_reader *reader)
{
    return reader->bytes_read;
}
