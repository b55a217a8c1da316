#include "io/hdf5/reader_state.h"

#include "base/memory.h"
#include "io/hdf5/error.h"
#include "io/hdf5/probe.h"
#include "io/hdf5/shield.h"
#include "io/hdf5/type.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

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

static int check_type(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    char found[96];
    const hid_t stored = H5Dget_type(dataset);
    int rc = LW_OK;
    if (!lw_hdf5_type_parse(stored, &info->type))
        rc = lw_fail(err, LW_EDATA, "%s:%s holds %s; samples must be %s: convert it first", info->file, info->path,
                     lw_hdf5_type_text(stored, found, sizeof found), LW_LEGAL_TYPES);
    H5Tclose(stored);
    return rc ? rc : check_bytes(info, err);
}

/* By rank 0, which tells the others. */
static int examine(const char *name, void *result, struct lw_error *err)
{
    struct lw_dataset_info *const info = result;
    struct lw_probe probe;
    int rc = lw_probe_open(name, &probe, err);
    if (rc)
        return rc;
    *info = probe.info;
    rc = check_type(probe.dataset, info, err);
    lw_probe_close(&probe);
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

static int open_own(struct lw_reader *reader, struct lw_error *err)
{
    int rc = lw_probe_file(reader->info.file, &reader->file, err);
    if (rc == LW_OK)
        rc = open_dataset(reader, err);
    return lw_comm_agree(reader->comm, rc, err);
}

static int find_dataset(struct lw_reader *reader, const char *name, struct lw_error *err)
{
    int rc = LW_OK;
    if (lw_comm_rank(reader->comm) == 0)
        rc = lw_shield(examine, name, &reader->info, sizeof reader->info, err);
    if ((rc = lw_comm_agree(reader->comm, rc, err)))
        return rc;
    lw_comm_broadcast(reader->comm, &reader->info, sizeof reader->info);
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
    *reader = (struct lw_reader){.comm = comm, .file = -1, .dataset = -1, .type = -1};
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
    if (reader->type >= 0)
        H5Tclose(reader->type);
    if (reader->dataset >= 0)
        H5Dclose(reader->dataset);
    if (reader->file >= 0)
        H5Fclose(reader->file);
    lw_free(reader->row.memory);
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
