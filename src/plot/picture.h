/* picture.h - the file that a picture goes to, which bears its name only when it is complete; and gnuplot, which draws it, started
 * without a shell: it reads the text on its standard input and writes the picture to its standard output, both files that are open
 * already. */
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

/** What --size says, "1200x800". LW_EUSAGE. */
int lw_picture_parse_size(const char *text, int *width, int *height, struct lw_error *err);

/** Make an empty file beside the name. LW_EIO: it exists and may not be overwritten, or its folder cannot be written. */
int lw_picture_create(const char *name, bool overwrite, struct lw_picture_file *file, struct lw_error *err);

/** Write the text itself. */
int lw_picture_copy(const struct lw_picture_file *file, FILE *script, struct lw_error *err);

/** Give the file its name. LW_EIO; LW_ESYSTEM: it is empty. */
int lw_picture_publish(struct lw_picture_file *file, struct lw_error *err);
void lw_picture_discard(struct lw_picture_file *file);      /* unless it is published */

/** Whether gnuplot can be started. LW_ESYSTEM: it is not installed; names the package. */
int lw_gnuplot_check(struct lw_error *err);

/** Draw. LW_ESYSTEM: gnuplot fails; gives its reason.
 * @param script  written to so far; read from its beginning @param picture  descriptor of an empty file */
int lw_gnuplot_draw(FILE *script, int picture, struct lw_error *err);
