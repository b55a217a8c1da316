#include "io/codecs/codec.h"

#include <zstd.h>
#include <zstd_errors.h>

static void *create(void) { return ZSTD_createDCtx(); }

static void destroy(void *state) { ZSTD_freeDCtx(state); }

static int64_t decode(void *state, const char *from, int64_t bytes, char *to, int64_t room)
{
    const size_t made = ZSTD_decompressDCtx(state, to, (size_t)room, from, (size_t)bytes);
    if (!ZSTD_isError(made))
        return (int64_t)made;
    return ZSTD_getErrorCode(made) == ZSTD_error_dstSize_tooSmall ? LW_CODEC_FULL : LW_CODEC_DAMAGED;
}

static int64_t claim(const char *from, int64_t bytes)
{
    const unsigned long long made = ZSTD_getFrameContentSize(from, (size_t)bytes);
    return made == ZSTD_CONTENTSIZE_UNKNOWN || made == ZSTD_CONTENTSIZE_ERROR || made > INT64_MAX ? 0 : (int64_t)made;
}

const struct lw_codec lw_codec_zstd = {
    .failure = "Zstandard finds its data damaged",
    .state_bytes = 192 << 10,           /* 94 KiB in zstd 1.5, and a margin */
    .create = create,
    .destroy = destroy,
    .decode = decode,
    .claim = claim,
};
