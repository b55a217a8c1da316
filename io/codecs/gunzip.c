#include "io/codecs/gunzip.h"

#include <libdeflate.h>

/* libdeflate's own. */
static struct libdeflate_decompressor *inner(struct lw_gunzip *gunzip) { return (struct libdeflate_decompressor *)gunzip; }

int lw_gunzip_create(struct lw_gunzip **out, struct lw_error *err)
{
    *out = (struct lw_gunzip *)libdeflate_alloc_decompressor();
    return *out ? LW_OK : lw_fail(err, LW_ESYSTEM, "no memory to decompress");
}

void lw_gunzip_destroy(struct lw_gunzip *gunzip)
{
    if (gunzip)
        libdeflate_free_decompressor(inner(gunzip));
}

enum lw_gunzip_result lw_gunzip_member(struct lw_gunzip *gunzip, const void *from, size_t bytes, void *to, size_t room,
                                       size_t *taken, size_t *made)
{
    switch (libdeflate_gzip_decompress_ex(inner(gunzip), from, bytes, to, room, taken, made)) {
    case LIBDEFLATE_SUCCESS: return LW_GUNZIP_DONE;
    case LIBDEFLATE_INSUFFICIENT_SPACE: return LW_GUNZIP_FULL;
    default: return LW_GUNZIP_DAMAGED;
    }
}
