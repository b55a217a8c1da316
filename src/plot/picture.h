/* picture.h - the file that a picture goes to: it bears its name only when it is complete. */
#pragma once

#include "base/error.h"
#include "plot/script.h"

#include <stdbool.h>
#include <stdio.h>

struct lw_picture_file {
    const char *name;           /* borrowed */
    bool overwrite;
    char *part;                 /* owned; the temporary name, NULL: there is no file */
    int fd;
};

/** What the name's ending asks for: .png, .pdf, .svg, .gp. LW_EUSAGE. */
int lw_picture_kind(const char *name, enum lw_picture *kind, struct lw_error *err);

/** Make an empty file beside the name. LW_EIO: it exists and may not be overwritten, or its folder cannot be written. */
int lw_picture_create(const char *name, bool overwrite, struct lw_picture_file *file, struct lw_error *err);

/** Write the text itself. */
int lw_picture_copy(const struct lw_picture_file *file, FILE *script, struct lw_error *err);

/** Give the file its name. LW_EIO; LW_ESYSTEM: it is empty. */
int lw_picture_publish(struct lw_picture_file *file, struct lw_error *err);
void lw_picture_discard(struct lw_picture_file *file);      /* unless it is published */
