#include "io/notes/quality.h"

#include "io/format.h"
#include "io/shield.h"

#include <stdio.h>
#include <string.h>

/* The tests stand where an object has its path. */
static int look(const struct lw_object *object, void *result, struct lw_error *err)
{
    const struct lw_format *format;
    const int rc = lw_formats_find(object->file, &object->hints, &format, err);
    if (rc)
        return rc;
    if (format->library)
        return format->library->find_quality(object->file, object->path, result, err);
    return lw_fail(err, LW_EDATA,
                   "--mask good-data: '%.600s' is %s, which says nothing of the quality of samples; --mask takes marks from "
                   "another file",
                   object->file, format->file_text);
}

int lw_quality_find(const char *file, const struct lw_hints *hints, const char *tests, struct lw_qualities *out,
                    struct lw_error *err)
{
    struct lw_object object = {.name = file, .hints = *hints};
    if (strlen(file) >= sizeof object.file || strlen(tests) >= sizeof object.path)
        return lw_fail(err, LW_EUSAGE, "--mask good-data=%.100s... is longer than %d characters", tests, LW_MAX_PATH - 1);
    memcpy(object.file, file, strlen(file) + 1);
    memcpy(object.path, tests, strlen(tests) + 1);
    return lw_shield(look, &object, out, sizeof *out, err);
}
