/* examine.c - describe one dataset of a file of any format, or list all of its datasets. */
#include "base/memory.h"
#include "io/format.h"
#include "io/shield.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* Describe a dataset. The format's name is put into the hints, so that later calls need not recognise the file again. */
static int describe(const struct lw_object *object, const struct lw_format *format, struct lw_dataset_info *info,
                    struct lw_error *err)
{
    struct stat status;
    *info = (struct lw_dataset_info){.metadata_axis = -1, .hints = object->hints, .use = object->use, .n_files = 1};
    snprintf(info->file, sizeof info->file, "%s", object->file);
    snprintf(info->path, sizeof info->path, "%s", object->path);
    if (stat(info->file, &status) != 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", info->file, strerror(errno));
    info->file_bytes = status.st_size;
    info->modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    int rc = format->describe(info, err);
    if (rc == LW_OK)
        rc = lw_sampling_settle(info, err);
    snprintf(info->hints.format, sizeof info->hints.format, "%s", format->name);
    return rc;
}

static int look(const struct lw_object *object, void *info, struct lw_error *err)
{
    const struct lw_format *format;
    const int rc = lw_formats_find(object->file, &object->hints, &format, err);
    return rc ? rc : describe(object, format, info, err);
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
    object.use = use;
    lw_formats_start();
    if ((rc = lw_formats_find(object.file, &object.hints, &format, err)))
        return rc;
    if (!format->library)
        return describe(&object, format, info, err);
    return lw_shield(look, &object, info, sizeof *info, err);
}

/* ---- all datasets ---------------------------------------------------------------------------------------------------- */

int lw_list_file(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    const struct lw_format *format;
    const int rc = lw_formats_find(file, NULL, &format, err);
    return rc ? rc : format->list(file, visit, context, err);
}

bool lw_list_origin(const char *file, struct lw_listing_origin *origin)
{
    const struct lw_format *format;
    *origin = (struct lw_listing_origin){0};
    return lw_formats_find(file, NULL, &format, NULL) == LW_OK && format->find_origin && format->find_origin(file, origin);
}

void lw_list_origin_release(struct lw_listing_origin *origin)
{
    lw_free(origin->command);
    lw_free(origin->configuration);
    *origin = (struct lw_listing_origin){0};
}

static void pass_over(const struct lw_listing *dataset, void *context)
{
    (void)dataset;
    (void)context;
}

static int list_all(const struct lw_object *object, void *result, struct lw_error *err)
{
    struct lw_listing_origin origin;
    *(char *)result = 1;
    lw_list_origin(object->name, &origin);
    lw_list_origin_release(&origin);
    return lw_list_file(object->name, pass_over, NULL, err);
}

/* `file` names only a file: any colon belongs to the name, and no path follows it. */
int lw_list_check(const char *file, struct lw_error *err)
{
    char done;
    struct lw_object object = {.name = file};
    snprintf(object.file, sizeof object.file, "%s", file);
    return lw_shield(list_all, &object, &done, sizeof done, err);
}
