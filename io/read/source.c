#include "io/read/source.h"

#include "base/file.h"
#include "base/memory.h"

#include <inttypes.h>
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

/* A flat dataset is opened without its format's library, which takes a hundred times as long. Its file may have changed since. */
int lw_source_open(const struct lw_dataset_info *described, int least_dims, int most_dims, struct lw_pool *pool,
                   struct lw_source **out, struct lw_error *err)
{
    struct lw_source *const source = lw_alloc(sizeof *source, "the reader", err);
    if (!source)
        return LW_ESYSTEM;
    *source = (struct lw_source){.described = *described, .info = *described, .fd = -1};
    lw_source_squeeze(&source->info, least_dims, most_dims, source->described_dim);
    struct stat now;
    int rc;
    if (pool && described->is_flat) {
        rc = lw_file_open_input(described->file, &source->fd, err);
        if (rc == LW_OK && (fstat(source->fd, &now) != 0 || now.st_size != described->file_bytes))
            rc = lw_fail(err, LW_EDATA, "'%s' has changed since the run began: there is no result; run again when nobody writes it",
                         described->file);
    } else if ((rc = lw_formats_find(described->file, &described->hints, &source->format, err)) == LW_OK) {
        rc = lw_format_open(source->format, &source->described, &source->dataset, err);
    }
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
    lw_format_close(source->format, source->dataset);
    if (source->fd >= 0)
        close(source->fd);
    lw_free(source);
}

void lw_source_use(struct lw_source *source, struct lw_pool *pool)
{
    const struct lw_format *const format = source->format;
    source->pool = pool;
    source->is_pooled = source->fd >= 0 || (pool && format->locate && format->locate(source->dataset, &source->stored));
    source->is_by_format = pool && !source->is_pooled && format->reads_in_threads;
    if (source->fd >= 0)
        source->stored = (struct lw_stored){.fd = source->fd, .offset = source->described.flat_offset};
    else if (!source->is_pooled)
        source->stored = (struct lw_stored){.fd = -1};
    source->is_pooled |= source->is_by_format;
}

/* The dimensions that are contiguous in memory, from the fastest on, form a run of the box. */
int lw_source_read(const struct lw_source *source, const struct lw_target *target, struct lw_error *err)
{
    const int64_t bytes = (int64_t)lw_type_bytes(source->described.type);
    struct lw_box box = {.run = 1, .n_runs = 1, .into = target->into};
    memcpy(box.first, target->first, sizeof box.first);
    memcpy(box.step, target->step, sizeof box.step);
    memcpy(box.count, target->count, sizeof box.count);
    int d = LW_MAX_DIMS - 1;
    for (; d >= 0 && (target->count[d] == 1 || target->pitch[d] == box.run * bytes); d--)
        box.run *= target->count[d];
    box.pitch = d >= 0 ? target->pitch[d] / bytes : box.run;
    for (; d >= 0; d--)
        box.n_runs *= target->count[d];
    return source->format->read(source->dataset, &box, err);
}

/* The message with names is cut, to leave room for the reason. */
int lw_source_fail(const struct lw_source *source, int64_t begin, int64_t end, const struct lw_error *reason, struct lw_error *err)
{
    struct lw_error what;
    if (reason->code == LW_EIO && lw_dataset_check_unchanged(&source->described, "", err) != LW_OK)
        return LW_EDATA;        /* a file that was cut or rewritten is bad data, whatever error its read gave */
    const int code = lw_fail(&what, reason->code, "cannot read samples %" PRId64 "..%" PRId64 " of %s", begin, end - 1,
                             lw_dataset_name(&source->info).text);
    return lw_fail(err, code, "%.699s%s%s", what.message, reason->message[0] ? ": " : "", reason->message);
}
