/* transfer.h - bytes between memory and a place in a file, all of them or an error. Any thread may call; nothing is kept.
 *
 * Errors (LW_EIO) are the reason alone, "No space left on device": the caller says which file and what of it. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/** Read [offset, offset + bytes) of a file. A file that ends earlier is an error that says at which byte. */
int lw_bytes_read(int fd, void *into, int64_t offset, int64_t bytes, struct lw_error *err);

/** The same with a message that names the file. */
int lw_bytes_read_file(int fd, const char *file, void *into, int64_t offset, int64_t bytes, struct lw_error *err);

/** Write [offset, offset + bytes) of a file. What is written when it fails is not known. */
int lw_bytes_write(int fd, const void *from, int64_t offset, int64_t bytes, struct lw_error *err);
