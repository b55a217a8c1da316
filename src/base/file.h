/* file.h - opening a file that somebody named, giving a file its name, and the standard streams (descriptors 0 to 2) as the program
 * was given them. */
#pragma once

#include "base/error.h"

/** Open a regular file for reading. A pipe, a device or a folder is refused, and never waited for.
 * @param why  set on failure: "No such file or directory", "it is a device or pipe, not a file"
 * @return the descriptor, to be closed; -1 on failure */
int lw_file_open(const char *path, char why[96]);

/** The same with a message that names the file. LW_EIO. @param fd  -1 on failure */
int lw_file_open_input(const char *path, int *fd, struct lw_error *err);

/** rename(2) that replaces nothing. @return 0; -1 with errno, EEXIST where there is something of the new name by now */
int lw_file_rename_new(const char *from, const char *to);

/** Open /dev/null on those of descriptors 0 to 2 that are closed. The next file or socket would get the number otherwise, and
 * messages would go into it. Writing on a standard output that was closed still fails. Before anything is opened.
 * LW_ESYSTEM: there is no /dev/null. */
int lw_standard_open(struct lw_error *err);

/** Write out what was printed on standard output. LW_EIO: not all of it has arrived there. */
int lw_standard_flush(struct lw_error *err);
