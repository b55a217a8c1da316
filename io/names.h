/* names.h - the names of files and datasets as a user gives them: one "FILE:/path/in/file", or several.
 *
 *     a.h5:/data b.h5:/data           several names, separated by blanks; a backslash protects a blank or backslash in a name
 *     'day?.h5:/data'                 a shell pattern of files; the path behind it applies to each file
 *     @list.txt                       a file with one name or pattern per line; empty lines and lines that begin with # are skipped
 *
 * A text that is the name of an existing file means that file, even if it looks like a pattern or like several names. */
#pragma once

#include "io/dataset.h"

struct lw_object {
    const char *name;           /* the user's text, for messages; borrowed */
    char file[LW_MAX_PATH];
    char path[LW_MAX_PATH];     /* "": no path is given */
    struct lw_hints hints;
    enum lw_use use;
};

/** Split a name at the last colon that is followed by "/". Sets no hints. LW_EUSAGE: FILE is empty, or a part is too long. */
int lw_object_parse(const char *name, struct lw_object *object, struct lw_error *err);

/* A list of texts. */
struct lw_names {
    char *memory;               /* the texts, each with its final zero; owned */
    int64_t bytes;
    int64_t n;
};

/** List all files that the text `names` stands for, in the order given; matches of one pattern are sorted by name. Not collective.
 * LW_EUSAGE: no name. LW_EIO: a list or folder is unreadable, or a pattern matches no file. LW_ESYSTEM: no memory. */
int lw_names_expand(const char *names, struct lw_names *out, struct lw_error *err);
void lw_names_release(struct lw_names *names);

/** Return the name after `name`, the first name if `name` is NULL, or NULL behind the last. */
const char *lw_names_next(const struct lw_names *names, const char *name);
