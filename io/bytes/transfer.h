/* transfer.h - move bytes between memory and a place in a file. A call moves all bytes or fails. Stateless; any thread may call.
 *
 * io/bytes is the layer beneath all readers and writers:
 *
 *     file -> transfer, box (pieces of an array) -> decode (undo HDF5's filters) -> packing (stored numbers to values) -> memory
 *     memory -> spool (sorted tables), store (many threads, one file) -> file;  scatter measures which gaps to read across
 *
 * The message of an error (LW_EIO) is only the reason, like "No space left on device"; the caller adds the file's name. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/** Read bytes [offset, offset + bytes) of a file. LW_EIO: a read failed, or the file ends earlier; the message has its length. */
int lw_bytes_read(int fd, void *into, int64_t offset, int64_t bytes, struct lw_error *err);

/** Read as lw_bytes_read does, with a message that names the file. */
int lw_bytes_read_file(int fd, const char *file, void *into, int64_t offset, int64_t bytes, struct lw_error *err);

/** Write bytes [offset, offset + bytes) of a file. After LW_EIO any part of the bytes may have been written. */
int lw_bytes_write(int fd, const void *from, int64_t offset, int64_t bytes, struct lw_error *err);

/* ---- box.c: boxes of equally spaced elements in a file or in memory; other bytes may lie between the elements.
 *
 * A box has count[0] x count[1] x count[2] elements. Neighbours in dimension d begin from[d] bytes apart where the box is read, and
 * to[d] bytes apart where it is written. */

enum { LW_BOX_DIMS = 3 };

struct lw_bytes_box {
    int64_t count[LW_BOX_DIMS];
    int64_t from[LW_BOX_DIMS], to[LW_BOX_DIMS];
    int64_t element_bytes;
};

/** Copy a box from memory to memory. No count may be 0. Where from[] is all 0, one element fills the whole box. */
void lw_bytes_copy_box(const struct lw_bytes_box *box, const char *from, char *to);

/** Read a box of a file into memory; its first element is at byte `offset`. Adjoining elements are read together. Short elements
 * near each other pass through `bounce` with the bytes between them, at most bounce_bytes at a time. LW_EIO: a read failed. */
int lw_bytes_read_box(const struct lw_bytes_box *box, int fd, int64_t offset, char *to, char *bounce, int64_t bounce_bytes,
                      struct lw_error *err);

/** Return whether `bounce` is of use in lw_bytes_read_box: the box has short elements that do not adjoin. */
bool lw_bytes_box_bounces(const struct lw_bytes_box *box);
