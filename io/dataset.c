#include "io/dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct lw_name lw_name_of(const char *file, const char *path)
{
    struct lw_name name;
    snprintf(name.text, sizeof name.text, "%.*s%s%.*s", LW_MAX_PATH - 1, file, path[0] ? ":" : "", LW_MAX_PATH - 1, path);
    return name;
}

struct lw_name lw_dataset_name(const struct lw_dataset_info *info)
{
    struct lw_name name = lw_name_of(info->file, info->path);
    const size_t used = strlen(name.text);
    if (info->n_files > 1)
        snprintf(name.text + used, sizeof name.text - used, " (and %" PRId64 " more file%s)", info->n_files - 1,
                 info->n_files == 2 ? "" : "s");
    return name;
}

int64_t lw_dataset_chunk_bytes(const struct lw_dataset_info *info)
{
    int64_t bytes = (int64_t)lw_type_bytes(info->type);
    for (int d = 0; d < info->n_dims; d++)
        bytes *= info->chunk[d];
    return bytes;
}

int lw_dataset_check_unchanged(const struct lw_dataset_info *info, const char *what, struct lw_error *err)
{
    struct stat now;
    if (stat(info->file, &now) != 0)
        return lw_fail(err, LW_EDATA, "%s'%s' has vanished while it was read (%s): there is no result", what, info->file,
                       strerror(errno));
    if (now.st_size != info->file_bytes || (int64_t)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec != info->modified_ns)
        return lw_fail(err, LW_EDATA, "%s'%s' has changed while it was read (%" PRId64 " bytes at first, %" PRId64 " now): there "
                       "is no result; run again when nobody writes it", what, info->file, info->file_bytes, (int64_t)now.st_size);
    return LW_OK;
}
