/* codecs.c - fuzz target of the decoder of stored chunks. Input: a byte for the number of filters (one or two); for each filter a
 * byte for kind and codec, one for the element size and one for the block size; a byte for the chunk's size; the stored chunk. */
#include "target.h"

#include "io/bytes/decode.h"

#include <string.h>

static struct lw_filter take_filter(const uint8_t bytes[3])
{
    static const enum lw_filter_id kinds[] = {LW_FILTER_FLETCHER32, LW_FILTER_SHUFFLE, LW_FILTER_BITSHUFFLE, LW_FILTER_CODEC,
                                              LW_FILTER_BLOCKS, LW_FILTER_BITSHUFFLE_BLOCKS};
    struct lw_filter filter = {.kind = kinds[bytes[0] % 6], .codec = (enum lw_codec_id)(bytes[0] / 6 % LW_N_CODECS),
                               .element_bytes = 1 + bytes[1] % 16};
    if (filter.kind == LW_FILTER_BLOCKS)
        filter.codec = LW_CODEC_LZ4;
    if (filter.kind == LW_FILTER_BITSHUFFLE_BLOCKS)
        filter.codec = bytes[0] / 6 % 2 ? LW_CODEC_LZ4 : LW_CODEC_ZSTD;
    if (filter.kind == LW_FILTER_BITSHUFFLE || filter.kind == LW_FILTER_BITSHUFFLE_BLOCKS)
        filter.block_bytes = 8 * filter.element_bytes * (1 + bytes[2]);
    if (filter.kind == LW_FILTER_BLOCKS)
        filter.block_bytes = 1 + bytes[2];
    return filter;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lw_filters filters = {0};
    struct lw_decoder *decoder;
    struct lw_error err = {0};
    const char *out;
    if (size < 5)
        return 0;
    const int n = 1 + *data++ % 2;
    size--;
    for (; filters.n < n && size > 3; data += 3, size -= 3)
        filters.filter[filters.n++] = take_filter(data);
    filters.chunk_bytes = 16 * (1 + (int64_t)*data++);
    size--;
    for (int f = 0; f < filters.n; f++)
        if (!lw_filter_is_built_in(&filters.filter[f]))
            return 0;
    const size_t room = (size_t)lw_decoder_room(&filters), stored = size < room ? size : room;
    lw_filter_claim(&filters.filter[filters.n - 1], (const char *)data, (int64_t)stored);
    REQUIRE(lw_decoder_create(&filters, &decoder, &err) == LW_OK, "%s", err.message);
    memcpy(lw_decoder_stored(decoder), data, stored);
    const int rc = lw_decoder_decode(decoder, (int64_t)stored, 0, &out, &err);
    REQUIRE(rc == LW_OK || (rc == LW_EDATA && err.message[0]), "code %d: %s", rc, err.message);
    uint32_t sum = 0;                       /* reading every byte lets the sanitizer check that all are there */
    for (int64_t i = 0; rc == LW_OK && i < filters.chunk_bytes; i++)
        sum += (uint8_t)out[i];
    lw_decoder_destroy(decoder);
    return sum == UINT32_MAX;               /* never true, as there are too few bytes; it keeps the sum from being optimised away */
}
