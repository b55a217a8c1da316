#include "io/object.h"

#include <string.h>

static const char *find_path(const char *name)
{
    const char *found = NULL;
    for (const char *at = name; (at = strstr(at, ":/")); at++)
        found = at;
    return found;
}

int lw_object_parse(const char *name, struct lw_object *object, struct lw_error *err)
{
    const char *const colon = find_path(name);
    const size_t length = colon ? (size_t)(colon - name) : strlen(name);
    const char *const rest = colon ? colon + 1 : "";
    if (length == 0)
        return lw_fail(err, LW_EUSAGE, "'%.200s' names no file: give FILE:/path/in/file", name);
    if (length >= LW_MAX_PATH || strlen(rest) >= LW_MAX_PATH)
        return lw_fail(err, LW_EUSAGE, "the name '%.200s...' is longer than %d characters", name, LW_MAX_PATH - 1);
    *object = (struct lw_object){.name = name};
    memcpy(object->file, name, length);
    memcpy(object->path, rest, strlen(rest) + 1);
    return LW_OK;
}
