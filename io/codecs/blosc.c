#include "io/codecs/codec.h"

#include <blosc.h>

static int64_t claim(const char *from, int64_t bytes)
{
    size_t made;
    return bytes < BLOSC_MIN_HEADER_LENGTH || blosc_cbuffer_validate(from, (size_t)bytes, &made) < 0 ? 0 : (int64_t)made;
}

/* blosc_decompress_ctx gets 1 as its number of threads: only the calling thread decodes. */
static int64_t decode(void *state, const char *from, int64_t bytes, char *to, int64_t room)
{
    (void)state;
    const int64_t claimed = claim(from, bytes);
    if (claimed == 0)
        return LW_CODEC_DAMAGED;
    if (claimed > room)
        return LW_CODEC_FULL;
    const int made = blosc_decompress_ctx(from, to, (size_t)room, 1);
    return made <= 0 ? LW_CODEC_DAMAGED : made;
}

const struct lw_codec lw_codec_blosc = {
    .failure = "Blosc finds its data damaged",
    .state_bytes = 4 << 20,             /* a call allocates three blocks, of up to 1 MiB each if Blosc chose their size */
    .decode = decode,
    .claim = claim,
};
