#include "io/bytes/transfer.h"

#include <string.h>

/* A read call costs as much as copying about SHORT_BYTES. Gaps up to a page cost nothing: storage delivers whole pages. */
enum { SHORT_BYTES = 32 << 10, PAGE_BYTES = 4 << 10 };

/* ---- the same box in fewer dimensions ------------------------------------------------------------------------------ */

/* Join elements that adjoin both where read and where written. A joined innermost dimension becomes an outer one of count 1. */
static struct lw_bytes_box merge(struct lw_bytes_box box)
{
    for (int d = 0; d < LW_BOX_DIMS; d++) {
        const int64_t count = box.count[LW_BOX_DIMS - 1];
        const bool follows = box.from[LW_BOX_DIMS - 1] == box.element_bytes && box.to[LW_BOX_DIMS - 1] == box.element_bytes;
        if (count > 1 && !follows)
            break;
        box.element_bytes *= count;
        for (int e = LW_BOX_DIMS - 1; e > 0; e--) {
            box.count[e] = box.count[e - 1];
            box.from[e] = box.from[e - 1];
            box.to[e] = box.to[e - 1];
        }
        box.count[0] = 1;
    }
    return box;
}

/* ---- copying --------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void copy_elements(int64_t n, const char *from, int64_t from_pitch, char *to,
                                                                int64_t to_pitch, size_t bytes)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * to_pitch, from + i * from_pitch, bytes);
}

/* Copy elements along the last dimension. Sizes that the compiler knows make this several times faster for common samples. */
static void copy_line(const struct lw_bytes_box *box, const char *from, char *to)
{
    const int64_t n = box->count[2], f = box->from[2], t = box->to[2];
    switch (box->element_bytes) {
    case 1: copy_elements(n, from, f, to, t, 1); break;
    case 2: copy_elements(n, from, f, to, t, 2); break;
    case 4: copy_elements(n, from, f, to, t, 4); break;
    case 8: copy_elements(n, from, f, to, t, 8); break;
    case 16: copy_elements(n, from, f, to, t, 16); break;
    default: copy_elements(n, from, f, to, t, (size_t)box->element_bytes);
    }
}

static void copy_merged(const struct lw_bytes_box *box, const char *from, char *to)
{
    for (int64_t i = 0; i < box->count[0]; i++)
        for (int64_t j = 0; j < box->count[1]; j++)
            copy_line(box, from + i * box->from[0] + j * box->from[1], to + i * box->to[0] + j * box->to[1]);
}

void lw_bytes_copy_box(const struct lw_bytes_box *box, const char *from, char *to)
{
    const struct lw_bytes_box merged = merge(*box);
    copy_merged(&merged, from, to);
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

static int outermost(const struct lw_bytes_box *box)
{
    int d = 0;
    while (d < LW_BOX_DIMS - 1 && box->count[d] == 1)
        d++;
    return d;
}

bool lw_bytes_box_bounces(const struct lw_bytes_box *box)
{
    const struct lw_bytes_box merged = merge(*box);
    return merged.element_bytes < SHORT_BYTES && merged.count[outermost(&merged)] > 1;
}

/* Read a merged box. A box that is too long or too sparse for one read is split along its outermost dimension. */
static int read_merged(const struct lw_bytes_box *box, int fd, int64_t offset, char *to, char *bounce, int64_t bounce_bytes,
                       struct lw_error *err)
{
    const int64_t n = box->count[0] * box->count[1] * box->count[2];
    const int outer = outermost(box);
    int64_t span = box->element_bytes;          /* bytes from the first element to the end of the last */
    if (n == 1)
        return lw_bytes_read(fd, to, offset, box->element_bytes, err);
    for (int d = 0; d < LW_BOX_DIMS; d++)
        span += (box->count[d] - 1) * box->from[d];
    int rc = LW_OK;
    if (span <= bounce_bytes && box->element_bytes < SHORT_BYTES && span / n <= box->element_bytes + PAGE_BYTES) {
        if ((rc = lw_bytes_read(fd, bounce, offset, span, err)) == LW_OK)
            copy_merged(box, bounce, to);
        return rc;
    }
    struct lw_bytes_box part = *box;
    part.count[outer] = 1;
    for (int64_t i = 0; rc == LW_OK && i < box->count[outer]; i++)
        rc = read_merged(&part, fd, offset + i * box->from[outer], to + i * box->to[outer], bounce, bounce_bytes, err);
    return rc;
}

int lw_bytes_read_box(const struct lw_bytes_box *box, int fd, int64_t offset, char *to, char *bounce, int64_t bounce_bytes,
                      struct lw_error *err)
{
    const struct lw_bytes_box merged = merge(*box);
    return read_merged(&merged, fd, offset, to, bounce, bounce_bytes, err);
}
