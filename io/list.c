#include "io/list.h"

#include "base/memory.h"
#include "io/format.h"
#include "io/shield.h"

#include <stdio.h>

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

/* All of the name is the file's, whatever colons it has. */
int lw_list_check(const char *file, struct lw_error *err)
{
    char done;
    struct lw_object object = {.name = file};
    snprintf(object.file, sizeof object.file, "%s", file);
    return lw_shield(list_all, &object, &done, sizeof done, err);
}
