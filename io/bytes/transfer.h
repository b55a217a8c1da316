/* transfer.h - move bytes between memory and a place in a file, all of them or with an error. Any thread may call; no state.
 *
 * io/bytes is the layer beneath all readers and writers:
 *
 *     file -> transfer, box (pieces of an array) -> decode (filtered chunks) -> packing (stored numbers to values) -> memory
 *     memory -> spool (sorted tables), store (many threads, one file) -> file;  scatter finds which reads cost less
 *
 * The message of an error (LW_EIO) is only the reason, like "No space left on device"; the caller adds the file's name. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/** Read bytes [offset, offset + bytes) of a file. LW_EIO where the file ends earlier, with the byte at which it ends. */
int lw_bytes_read(int fd, void *into, int64_t offset, int64_t bytes, struct lw_error *err);

/** Read as lw_bytes_read does, with a message that names the file. */
int lw_bytes_read_file(int fd, const char *file, void *into, int64_t offset, int64_t bytes, struct lw_error *err);

/** Write bytes [offset, offset + bytes) of a file. After an error any part of them may have been written. */
int lw_bytes_write(int fd, const void *from, int64_t offset, int64_t bytes, struct lw_error *err);

/* ---- box.c: boxes of elements in a file or in memory, with anything between the elements.
 *
 * A box has count[0] x count[1] x count[2] elements. From one element to the next in dimension d there are from[d] bytes where the
 * box is read, and to[d] bytes where it is written. */

enum { LW_BOX_DIMS = 3 };

struct lw_bytes_box {
    int64_t count[LW_BOX_DIMS];
    int64_t from[LW_BOX_DIMS], to[LW_BOX_DIMS];
    int64_t element_bytes;
};

/** Copy a box from memory to memory. No count may be 0. Where from[] is all 0, one element fills the whole box. */
void lw_bytes_copy_box(const struct lw_bytes_box *box, const char *from, char *to);

/** Read a box of a file, whose first element is at byte `offset`, into memory. Elements that follow each other are read together.
 * Short elements near each other are read into `bounce` with the bytes between them, as far as `bounce` has room. LW_EIO. */
int lw_bytes_read_box(const struct lw_bytes_box *box, int fd, int64_t offset, char *to, char *bounce, int64_t bounce_bytes,
                      struct lw_error *err);

/** Return whether the box has short elements that do not follow each other, so that a bounce buffer is of use. */
bool lw_bytes_box_bounces(const struct lw_bytes_box *box);
