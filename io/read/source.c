#include "io/read/source.h"

#include "base/file.h"
#include "base/memory.h"

#include <sys/stat.h>
#include <unistd.h>

void lw_source_squeeze(struct lw_dataset_info *info, int least, int most, int described_dim[LW_MAX_DIMS])
{
    int left = info->n_dims, kept = 0, axis = -1;
    const bool has_too_many = info->n_dims > most;
    for (int d = 0; d < info->n_dims; d++) {
        if (has_too_many && info->dims[d] == 1 && left > least) {
            left--;
            continue;
        }
        if (d == info->metadata_axis)
            axis = kept;
        info->dims[kept] = info->dims[d];
        info->chunk[kept] = info->chunk[d];
        info->coordinates[kept] = info->coordinates[d];
        if (described_dim)
            described_dim[kept] = d;
        kept++;
    }
    for (int d = kept; d < info->n_dims; d++) {
        info->dims[d] = info->chunk[d] = 0;
        info->coordinates[d] = (struct lw_coordinate){0};
    }
    info->n_dims = kept;
    info->metadata_axis = axis;
}

static int open_by_format(struct lw_source *source, struct lw_error *err)
{
    const int rc = lw_formats_find(source->described.file, &source->described.hints, &source->format, err);
    return rc ? rc : source->format->open(&source->described, &source->dataset, err);
}

/* A library takes a hundred times as long to open a file as the system does. What was described must still be there. */
static int open_flat(struct lw_source *source, struct lw_error *err)
{
    const struct lw_dataset_info *const info = &source->described;
    struct stat now;
    char why[96];
    source->fd = lw_file_open(info->file, why);
    if (source->fd < 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", info->file, why);
    if (fstat(source->fd, &now) != 0 || now.st_size != info->file_bytes)
        return lw_fail(err, LW_EDATA, "'%s' has changed since the run began: there is no result; run again when nobody writes it",
                       info->file);
    return LW_OK;
}

int lw_source_open(const struct lw_dataset_info *described, int least_dims, int most_dims, struct lw_pool *pool,
                   struct lw_source **out, struct lw_error *err)
{
    struct lw_source *const source = lw_alloc(sizeof *source, "the reader", err);
    if (!source)
        return LW_ESYSTEM;
    *source = (struct lw_source){.described = *described, .info = *described, .fd = -1};
    lw_source_squeeze(&source->info, least_dims, most_dims, source->described_dim);
    const int rc = pool && described->is_flat ? open_flat(source, err) : open_by_format(source, err);
    if (rc) {
        lw_source_close(source);
        return rc;
    }
    lw_source_use(source, pool);
    *out = source;
    return LW_OK;
}

void lw_source_close(struct lw_source *source)
{
    if (!source)
        return;
    lw_direct_release(source);
    if (source->dataset)
        source->format->close(source->dataset);
    if (source->fd >= 0)
        close(source->fd);
    lw_free(source->row.memory);
    lw_free(source->bounce);
    lw_free(source);
}

void lw_source_use(struct lw_source *source, struct lw_pool *pool)
{
    source->pool = pool;
    lw_direct_use(source);
}

int lw_source_read_box(const struct lw_source *source, const struct lw_box *box, struct lw_error *err)
{
    struct lw_box all = *box;
    for (int d = 0; d < LW_MAX_DIMS; d++) {
        all.first[d] = 0;
        all.step[d] = all.count[d] = 1;
    }
    for (int d = 0; d < source->info.n_dims; d++) {
        const int to = source->described_dim[d];
        all.first[to] = box->first[d];
        all.step[to] = box->step[d];
        all.count[to] = box->count[d];
    }
    return source->format->read(source->dataset, &all, err);
}
