#include "io/archive/shared.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int lw_archive_read_start(const char *file, void *start, size_t bytes, bool *is_there, struct lw_error *err)
{
    int fd;
    const int rc = lw_file_open_input(file, &fd, err);
    *is_there = rc == LW_OK && pread(fd, start, bytes, 0) == (ssize_t)bytes;
    if (fd >= 0)
        close(fd);
    return rc;
}

int lw_archive_take_no_path(struct lw_dataset_info *info, const char *what, struct lw_error *err)
{
    if (info->path[0] && strcmp(info->path, "/") != 0)
        return lw_fail(err, LW_EDATA, "'%.600s' has no dataset %.200s: %s holds one, without a name", info->file, info->path, what);
    info->path[0] = '\0';
    return LW_OK;
}

int lw_archive_fail_changed(const char *file, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "'%.600s' changed while it was read", file);
}

int lw_archive_check_same(const struct lw_dataset_info *now, const struct lw_dataset_info *described, struct lw_error *err)
{
    const struct lw_type a = now->type, b = described->type;
    if (now->n_dims == described->n_dims && memcmp(now->dims, described->dims, sizeof now->dims) == 0 && a.scalar == b.scalar &&
        a.is_complex == b.is_complex && a.is_swapped == b.is_swapped)
        return LW_OK;
    return lw_archive_fail_changed(described->file, err);
}

void lw_archive_name(struct lw_dataset_info *info, int dimension, const char *name)
{
    struct lw_coordinate *const coordinate = &info->coordinates[dimension];
    snprintf(coordinate->name, sizeof coordinate->name, "%s", name);
}

void lw_archive_shape(const int64_t *dims, int n_dims, struct lw_listing *row)
{
    snprintf(row->shape, sizeof row->shape, "[");
    lw_append_dims(row->shape, sizeof row->shape, dims, n_dims);
    lw_append(row->shape, sizeof row->shape, "]");
}

void lw_archive_list(const struct lw_dataset_info *info, const char *storage, int64_t stored_bytes, lw_list_fn *visit,
                     void *context)
{
    struct lw_listing row = {.path = info->path, .stored_bytes = stored_bytes};
    struct lw_dataset_info settled = *info;
    char type[40];
    lw_archive_shape(info->dims, info->n_dims, &row);
    snprintf(row.type, sizeof row.type, "%s", lw_type_text(info->type, type));
    snprintf(row.storage, sizeof row.storage, "%s", storage);
    if (lw_sampling_settle(&settled, NULL) == LW_OK)
        lw_sampling_text(&settled.axis, row.sampling, sizeof row.sampling);
    visit(&row, context);
}

int lw_archive_info(const char *file, struct lw_dataset_info *info, struct lw_error *err)
{
    struct stat status;
    *info = (struct lw_dataset_info){.metadata_axis = -1};
    snprintf(info->file, sizeof info->file, "%s", file);
    if (stat(file, &status) != 0)
        return lw_fail(err, LW_EIO, "cannot read '%.600s': %s", file, strerror(errno));
    info->file_bytes = status.st_size;
    return LW_OK;
}

struct lw_box_rows lw_archive_rows(const struct lw_box *box, int n_dims)
{
    const int d = n_dims - 1;
    struct lw_box_rows rows = {.row_step = 1, .n = 1, .first = box->first[d], .step = box->step[d], .count = box->count[d],
                               .pitch = box->run == box->count[d] ? box->pitch : box->count[d]};
    if (n_dims == 2) {
        rows.row = box->first[0];
        rows.row_step = box->step[0];
        rows.n = box->count[0];
    }
    return rows;
}

int64_t lw_archive_find_last(const int64_t *numbers, size_t step, int64_t n, int64_t value)
{
    int64_t low = 0, high = n;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (*(const int64_t *)(const void *)((const char *)numbers + (size_t)middle * step) <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}
