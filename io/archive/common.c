#include "io/archive/common.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/sampling.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Of a dataset that is read as numbers, at a time. */
#define BLOCK_BYTES ((int64_t)1 << 20)

/* ---- a row ----------------------------------------------------------------------------------------------------------- */

void lw_archive_shape(const int64_t *dims, int n_dims, struct lw_listing *row)
{
    size_t used = 0;
    for (int d = 0; d < n_dims; d++)
        used += (size_t)snprintf(row->shape + used, sizeof row->shape - used, "%s%" PRId64, d ? " x " : "[", dims[d]);
    snprintf(row->shape + used, sizeof row->shape - used, "]");
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

int lw_archive_file_bytes(struct lw_dataset_info *info, struct lw_error *err)
{
    struct stat status;
    if (stat(info->file, &status) != 0)
        return lw_fail(err, LW_EIO, "cannot read '%.600s': %s", info->file, strerror(errno));
    info->file_bytes = status.st_size;
    return LW_OK;
}

/* ---- numbers --------------------------------------------------------------------------------------------------------- */

static int64_t row_samples(const struct lw_dataset_info *info)
{
    int64_t samples = 1;
    for (int d = 1; d < info->n_dims; d++)
        samples *= info->dims[d];
    return samples;
}

/* Rows [first, first + count) of the first dimension. */
static struct lw_box box_of_rows(const struct lw_dataset_info *info, int64_t first, int64_t count, void *into)
{
    struct lw_box box = {.n_runs = 1, .run = count * row_samples(info), .into = into};
    for (int d = 0; d < info->n_dims; d++) {
        box.step[d] = 1;
        box.count[d] = d == 0 ? count : info->dims[d];
    }
    box.first[0] = first;
    box.pitch = box.run;
    return box;
}

static int read_blocks(const struct lw_format *format, const struct lw_dataset_info *info, void *dataset, double *values,
                       struct lw_error *err)
{
    const int64_t samples = row_samples(info);
    const int64_t row_bytes = samples * (int64_t)lw_type_bytes(info->type), rows = max64(1, BLOCK_BYTES / row_bytes);
    void *const block = lw_alloc_array(min64(rows, info->dims[0]), (size_t)row_bytes, "a dataset that is read as numbers", err);
    int rc = block ? LW_OK : LW_ESYSTEM;
    struct lw_error reason;
    for (int64_t r = 0; rc == LW_OK && r < info->dims[0]; r += rows) {
        const struct lw_box box = box_of_rows(info, r, min64(rows, info->dims[0] - r), block);
        if ((rc = format->read(dataset, &box, &reason)))
            lw_fail(err, rc, "cannot read %.600s: %.300s", lw_dataset_name(info).text, reason.message);
        for (int64_t i = 0; rc == LW_OK && i < box.run; i++)
            values[r * samples + i] = lw_type_number(info->type, block, i);
    }
    lw_free(block);
    return rc;
}

int lw_archive_read_numbers(const struct lw_format *format, const struct lw_dataset_info *info, double *values,
                            struct lw_error *err)
{
    void *dataset;
    int rc = format->open(info, &dataset, err);
    if (rc)
        return rc;
    rc = read_blocks(format, info, dataset, values, err);
    format->close(dataset);
    return rc;
}
