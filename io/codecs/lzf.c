#include "io/codecs/codec.h"

#include <errno.h>
#include <liblzf/lzf.h>
#include <limits.h>

static int64_t decode(void *state, const char *from, int64_t bytes, char *to, int64_t room)
{
    (void)state;
    if (bytes < 1 || bytes > UINT_MAX)
        return LW_CODEC_DAMAGED;
    const unsigned made = lzf_decompress(from, (unsigned)bytes, to, room < UINT_MAX ? (unsigned)room : UINT_MAX);
    if (made > 0)
        return made;
    return errno == E2BIG ? LW_CODEC_FULL : LW_CODEC_DAMAGED;
}

const struct lw_codec lw_codec_lzf = {
    .failure = "LZF finds its data damaged",
    .decode = decode,
};
