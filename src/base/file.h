/* file.h - opening a file that somebody named, and giving a file its name. */
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
