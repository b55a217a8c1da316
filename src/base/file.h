/* file.h - opening files that a user named, renaming without overwriting, and the three standard streams. */
#pragma once

#include "base/error.h"

/** Open a regular file for reading. Pipes, devices and folders are refused without waiting for them.
 * @param why  set on failure: "No such file or directory", "it is a device or pipe, not a file" and the like
 * @return the descriptor, which the caller closes; -1 on failure */
int lw_file_open(const char *path, char why[96]);

/** Open a regular file like lw_file_open. LW_EIO: it cannot be read; the message names the file. @param fd  set; -1 on failure */
int lw_file_open_input(const char *path, int *fd, struct lw_error *err);

/** Rename a file, but never replace an existing one. @return 0; -1 with errno, EEXIST if something has the new name already */
int lw_file_rename_new(const char *from, const char *to);

/** Open /dev/null on each closed descriptor of 0 to 2; call this before anything else is opened. Otherwise the next file or
 * socket would get that descriptor, and messages would be written into it. If standard output was closed, writing to it still
 * fails. LW_ESYSTEM: /dev/null cannot be opened. */
int lw_standard_open(struct lw_error *err);

/** Flush standard output. LW_EIO: some of the text could not be written. */
int lw_standard_flush(struct lw_error *err);
