#include "io/codecs/codec.h"

#include <libdeflate.h>

static void *create(void) { return libdeflate_alloc_decompressor(); }

static void destroy(void *state) { libdeflate_free_decompressor(state); }

static int64_t decode(void *state, const char *from, int64_t bytes, char *to, int64_t room)
{
    size_t used, made;
    const enum libdeflate_result result = libdeflate_zlib_decompress_ex(state, from, (size_t)bytes, to, (size_t)room, &used, &made);
    if (result == LIBDEFLATE_SUCCESS)
        return (int64_t)made;
    return result == LIBDEFLATE_INSUFFICIENT_SPACE ? LW_CODEC_FULL : LW_CODEC_DAMAGED;
}

const struct lw_codec lw_codec_deflate = {
    .failure = "inflate() failed",
    .state_bytes = 16 << 10,            /* tables of libdeflate 1.14, and a margin */
    .create = create,
    .destroy = destroy,
    .decode = decode,
};

/* ---- gzip ---- */

/* Cast to libdeflate's type: a lw_gunzip is a libdeflate decompressor. */
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
