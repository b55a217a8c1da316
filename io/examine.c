#include "io/examine.h"

#include "io/axis.h"
#include "io/format.h"
#include "io/shield.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What is opened later need not be recognised again. */
static int describe(const struct lw_object *object, const struct lw_format *format, enum lw_use use, struct lw_dataset_info *info,
                    struct lw_error *err)
{
    struct stat status;
    *info = (struct lw_dataset_info){.metadata_axis = -1, .hints = object->hints, .n_files = 1};
    snprintf(info->file, sizeof info->file, "%s", object->file);
    snprintf(info->path, sizeof info->path, "%s", object->path);
    if (stat(info->file, &status) != 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", info->file, strerror(errno));
    info->file_bytes = status.st_size;
    info->modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    int rc = format->describe(info, use, err);
    if (rc == LW_OK)
        rc = lw_sampling_settle(info, err);
    snprintf(info->hints.format, sizeof info->hints.format, "%s", format->name);
    return rc;
}

static int look(const struct lw_object *object, enum lw_use use, struct lw_dataset_info *info, struct lw_error *err)
{
    const struct lw_format *format;
    const int rc = lw_formats_find(object->file, &object->hints, &format, err);
    return rc ? rc : describe(object, format, use, info, err);
}

static int look_at_samples(const struct lw_object *object, void *result, struct lw_error *err)
{
    return look(object, LW_USE_SAMPLES, result, err);
}

static int look_at_numbers(const struct lw_object *object, void *result, struct lw_error *err)
{
    return look(object, LW_USE_NUMBERS, result, err);
}

int lw_examine_dataset(const char *name, const struct lw_hints *hints, enum lw_use use, struct lw_dataset_info *info,
                       struct lw_error *err)
{
    struct lw_object object;
    const struct lw_format *format;
    int rc = lw_object_parse(name, &object, err);
    if (rc)
        return rc;
    if (hints)
        object.hints = *hints;
    lw_formats_start();
    if ((rc = lw_formats_find(object.file, &object.hints, &format, err)))
        return rc;
    if (!format->library)
        return describe(&object, format, use, info, err);
    return lw_shield(use == LW_USE_SAMPLES ? look_at_samples : look_at_numbers, &object, info, sizeof *info, err);
}
