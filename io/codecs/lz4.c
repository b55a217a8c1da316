#include "io/codecs/codec.h"

#include <limits.h>
#include <lz4.h>

/* LZ4 has one error code for damaged data and for too little room, so that LW_CODEC_FULL is never returned. */
static int64_t decode(void *state, const char *from, int64_t bytes, char *to, int64_t room)
{
    (void)state;
    if (bytes > INT_MAX || room > INT_MAX)
        return LW_CODEC_DAMAGED;
    const int made = LZ4_decompress_safe(from, to, (int)bytes, (int)room);
    return made < 0 ? LW_CODEC_DAMAGED : made;
}

const struct lw_codec lw_codec_lz4 = {
    .failure = "LZ4 finds its data damaged",
    .decode = decode,
};
