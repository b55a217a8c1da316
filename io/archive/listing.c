#include "io/archive/listing.h"

#include "io/axis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
