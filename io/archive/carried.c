#include "io/archive/carried.h"

#include "base/memory.h"
#include "io/format.h"

#include <stdlib.h>
#include <string.h>

struct collection {
    struct lw_carried *carried;
    bool has_failed;                    /* no memory */
};

static bool is_known(const struct lw_carried *carried, const char *name)
{
    for (int a = 0; a < carried->n_attributes; a++)
        if (strcmp(carried->attributes[a].name, name) == 0)
            return true;
    return false;
}

static void *copy(const void *from, size_t bytes)
{
    void *const to = malloc(bytes);
    return to ? memcpy(to, from, bytes) : NULL;
}

static void release(const struct lw_attribute *attribute)
{
    free((void *)attribute->name);
    free((void *)attribute->text);
    free((void *)attribute->reals);
}

/* Its names, texts and numbers are the collection's own. */
static void keep(const struct lw_attribute *attribute, void *context)
{
    struct collection *const collection = context;
    struct lw_carried *const carried = collection->carried;
    if (collection->has_failed || carried->n_attributes == LW_CARRIED_MOST || is_known(carried, attribute->name))
        return;
    struct lw_attribute own = *attribute;
    own.name = copy(attribute->name, strlen(attribute->name) + 1);
    own.text = attribute->kind == LW_ATTRIBUTE_TEXT ? copy(attribute->text, strlen(attribute->text) + 1) : NULL;
    own.reals = attribute->kind == LW_ATTRIBUTE_REALS ? copy(attribute->reals, (size_t)attribute->n_reals * sizeof *own.reals) : NULL;
    if (own.name && (own.text || own.kind != LW_ATTRIBUTE_TEXT) && (own.reals || own.kind != LW_ATTRIBUTE_REALS)) {
        carried->attributes[carried->n_attributes++] = own;
        return;
    }
    release(&own);
    collection->has_failed = true;
}

int lw_carried_collect(const struct lw_dataset_info *info, struct lw_carried *carried, struct lw_error *err)
{
    const struct lw_format *format;
    struct collection collection = {.carried = carried};
    *carried = (struct lw_carried){0};
    const int rc = lw_formats_find(info->file, &info->hints, &format, err);
    if (rc || !format->visit_attributes)
        return rc;
    if (!(carried->attributes = lw_alloc_array(LW_CARRIED_MOST, sizeof *carried->attributes, "the input's attributes", err)))
        return LW_ESYSTEM;
    format->visit_attributes(info, keep, &collection);
    return collection.has_failed ? lw_fail(err, LW_ESYSTEM, "no memory for the attributes of '%s'", info->file) : LW_OK;
}

void lw_carried_release(struct lw_carried *carried)
{
    for (int a = 0; a < carried->n_attributes; a++)
        release(&carried->attributes[a]);
    lw_free(carried->attributes);
    *carried = (struct lw_carried){0};
}
