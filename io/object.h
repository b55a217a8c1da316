/* object.h - names of datasets as they are given on the command line: "FILE:/path/in/file". */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

struct lw_object {
    const char *name;           /* as given, for messages; borrowed */
    char file[LW_MAX_PATH];
    char path[LW_MAX_PATH];     /* "": none is given */
    struct lw_hints hints;
};

/** The name is parted at the last colon that is followed by "/". LW_EUSAGE if a part is longer than LW_MAX_PATH or FILE is
 * empty. There are no hints. */
int lw_object_parse(const char *name, struct lw_object *object, struct lw_error *err);
