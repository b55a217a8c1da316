#include "io/codecs/codec.h"

#include <libdeflate.h>
#include <stddef.h>

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
    .state_bytes = 16 << 10,            /* what libdeflate 1.14 takes for its tables, and some more */
    .create = create,
    .destroy = destroy,
    .decode = decode,
};
