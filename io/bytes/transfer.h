/* transfer.h - bytes between memory and a place in a file, all of them or an error. Any thread may call; nothing is kept.
 *
 * Errors (LW_EIO) are the reason alone, "No space left on device": the caller says which file and what of it. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/** Read [offset, offset + bytes) of a file. A file that ends earlier is an error that says at which byte. */
int lw_bytes_read(int fd, void *into, int64_t offset, int64_t bytes, struct lw_error *err);

/** The same with a message that names the file. */
int lw_bytes_read_file(int fd, const char *file, void *into, int64_t offset, int64_t bytes, struct lw_error *err);

/** Write [offset, offset + bytes) of a file. What is written when it fails is not known. */
int lw_bytes_write(int fd, const void *from, int64_t offset, int64_t bytes, struct lw_error *err);

/* ---- box.c: boxes of elements, in files and in memory, with anything between them.
 *
 *     count[0] x count[1] x count[2] elements of so many bytes; from[d] and to[d] are the bytes from one to the next in
 *     dimension d, there where they are and there where they go */

enum { LW_BOX_DIMS = 3 };

struct lw_bytes_box {
    int64_t count[LW_BOX_DIMS];
    int64_t from[LW_BOX_DIMS], to[LW_BOX_DIMS];
    int64_t element_bytes;
};

/** From memory to memory; no counts of 0. With from[] all 0, one element fills the box. */
void lw_bytes_copy_box(const struct lw_bytes_box *box, const char *from, char *to);

/** From a file, its first element from `offset` on, to memory. Elements that follow each other are read together; short ones
 * that lie near each other are read with what is between them, as far as the bounce buffer reaches. LW_EIO; the message is the
 * reason alone. */
int lw_bytes_read_box(const struct lw_bytes_box *box, int fd, int64_t offset, char *to, char *bounce, int64_t bounce_bytes,
                      struct lw_error *err);

/** Whether there are short elements that do not follow each other: whether a bounce buffer is of use. */
bool lw_bytes_box_bounces(const struct lw_bytes_box *box);
