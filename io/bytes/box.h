/* box.h - boxes of elements, in files and in memory, with anything between them.
 *
 *     count[0] x count[1] x count[2] elements of so many bytes; from[d] and to[d] are the bytes from one to the next in
 *     dimension d, there where they are and there where they go */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

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
