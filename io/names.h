/* names.h - the names of files and datasets as a user gives them: one, "FILE:/path/in/file", or several at once.
 *
 *     a.h5:/data b.h5:/data           several, with blanks between them; a blank or backslash in a name has a backslash before it
 *     'day?.h5:/data'                 a pattern of files, as shells have them, the path in each behind it
 *     @list.txt                       a file with a name or pattern in each line; empty lines and those that begin with # say
 *                                     nothing
 *
 * A file whose name looks like a pattern, or like several names without a backslash, is that file where it exists. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <stdint.h>

struct lw_object {
    const char *name;           /* as given, for messages; borrowed */
    char file[LW_MAX_PATH];
    char path[LW_MAX_PATH];     /* "": none is given */
    struct lw_hints hints;
    enum lw_use use;
};

/** The name is parted at the last colon that is followed by "/". LW_EUSAGE if a part is longer than LW_MAX_PATH or FILE is
 * empty. There are no hints. */
int lw_object_parse(const char *name, struct lw_object *object, struct lw_error *err);

/* Many texts, one after the other. */
struct lw_names {
    char *memory;               /* each ends with a zero; owned */
    int64_t bytes;
    int64_t n;
};

/** All names that are meant, patterns and lists resolved, in the order given, the files of a pattern by name. Reads folders and
 * lists: by one process. LW_EUSAGE: none; LW_EIO: a list that cannot be read, a pattern that matches no file; LW_ESYSTEM. */
int lw_names_expand(const char *names, struct lw_names *out, struct lw_error *err);
void lw_names_release(struct lw_names *names);

/** The one after `name`, the first after NULL; NULL after the last. */
const char *lw_names_next(const struct lw_names *names, const char *name);
