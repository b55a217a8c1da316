/* picture.h - the file of a picture, and gnuplot's process, which draws it.
 *
 * The file has its final name only when it is complete. gnuplot is started without a shell, with two open files: it reads its text
 * from standard input and writes the picture to standard output. */
#pragma once

#include "base/error.h"
#include "plot/script.h"

struct lw_picture_file {
    const char *name;           /* borrowed */
    bool overwrite;
    char *part;                 /* owned; temporary name; NULL: there is no file */
    int fd;
};

/** Find the format of a picture by the ending of its name: .png, .pdf, .svg, or .gp. LW_EUSAGE: another ending. */
int lw_picture_kind(const char *name, enum lw_picture *kind, struct lw_error *err);

/** Read --size in pixels, "1200x800". LW_EUSAGE. */
int lw_picture_parse_size(const char *text, int *width, int *height, struct lw_error *err);

/** Create an empty file with a temporary name beside `name`. LW_EIO: `name` exists and may not be overwritten, or the folder
 * cannot be written. */
int lw_picture_create(const char *name, bool overwrite, struct lw_picture_file *file, struct lw_error *err);

/** Copy gnuplot's text to the file (.gp). LW_EIO. */
int lw_picture_copy(const struct lw_picture_file *file, FILE *script, struct lw_error *err);

/** Give the file its final name. LW_EIO; LW_ESYSTEM: the file is empty. */
int lw_picture_publish(struct lw_picture_file *file, struct lw_error *err);
void lw_picture_discard(struct lw_picture_file *file);      /* delete the file, unless it has its final name */

/** Check that gnuplot can be started. LW_ESYSTEM: it is not installed; the message names the package. */
int lw_gnuplot_check(struct lw_error *err);

/** Draw the picture with gnuplot. LW_ESYSTEM: gnuplot fails; the message has its reason.
 * @param script  gnuplot's text, read from its beginning
 * @param picture  descriptor of an empty file */
int lw_gnuplot_draw(FILE *script, int picture, struct lw_error *err);
