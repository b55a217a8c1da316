#include "io/codecs/blocks.h"

#include "base/integers.h"
#include "io/codecs/bits.h"

#include <inttypes.h>
#include <string.h>

enum { HEAD_BYTES = 12, SIZE_BYTES = 4 };

static uint64_t take_number(const char *from, int n_bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < n_bytes; i++)
        number = number << 8 | (unsigned char)from[i];
    return number;
}

/* ---- the numbers in front ------------------------------------------------------------------------------------------- */

/* Bytes of a block, in whole elements; where the data does not say, what bitshuffle takes. */
static int64_t element_block(int64_t block_bytes, int64_t element_bytes)
{
    const int64_t said = block_bytes / element_bytes;
    return (said > 0 ? said : lw_bits_default_block(element_bytes)) * element_bytes;
}

static bool has_whole_elements(const struct lw_codec_blocks *blocks)
{
    return blocks->total_bytes % blocks->element_bytes == 0 && blocks->block_bytes / blocks->element_bytes % 8 == 0;
}

int lw_blocks_open(struct lw_codec_blocks *blocks, const char *from, int64_t bytes, struct lw_error *err)
{
    if (bytes < HEAD_BYTES)
        return lw_fail(err, LW_EDATA, "%" PRId64 " bytes are too few for compressed blocks", bytes);
    const uint64_t total = take_number(from, 8), block = take_number(from + 8, 4);
    if (total > UINT32_MAX)
        return lw_fail(err, LW_EDATA, "a chunk claims to have %" PRIu64 " bytes", total);
    blocks->from = from + HEAD_BYTES;
    blocks->bytes = bytes - HEAD_BYTES;
    blocks->total_bytes = (int64_t)total;
    blocks->block_bytes = blocks->element_bytes > 0 ? element_block((int64_t)block, blocks->element_bytes) : (int64_t)block;
    if (blocks->block_bytes == 0 || (blocks->element_bytes > 0 && !has_whole_elements(blocks)))
        return lw_fail(err, LW_EDATA, "%" PRId64 " bytes are said to be in blocks of %" PRIu64, blocks->total_bytes, block);
    return LW_OK;
}

/* ---- the blocks ----------------------------------------------------------------------------------------------------- */

/* Those that are not compressed are LZ4's only. */
static bool is_decoded(const struct lw_codec_blocks *blocks, const char *from, int64_t stored, char *to, int64_t bytes)
{
    if (stored != bytes || blocks->element_bytes > 0)
        return blocks->codec->decode(blocks->state, from, stored, to, bytes) == bytes;
    memcpy(to, from, (size_t)bytes);
    return true;
}

/* Decode the block at *from, of so many bytes, and step over it. */
static int decode_block(const struct lw_codec_blocks *blocks, const char **from, char *to, int64_t bytes, struct lw_error *err)
{
    const int64_t left = blocks->from + blocks->bytes - *from;
    const int64_t stored = left < SIZE_BYTES ? 0 : (int64_t)take_number(*from, SIZE_BYTES);
    if (stored > left - SIZE_BYTES)
        return lw_fail(err, LW_EDATA, "a compressed block ends behind its chunk");
    if (!is_decoded(blocks, *from + SIZE_BYTES, stored, to, bytes))
        return lw_fail(err, LW_EDATA, "%s", blocks->codec->failure);
    *from += SIZE_BYTES + stored;
    return LW_OK;
}

int lw_blocks_decode(const struct lw_codec_blocks *blocks, char *to, char *scratch, struct lw_error *err)
{
    const int64_t size = blocks->element_bytes;
    const int64_t rest = size > 0 ? blocks->total_bytes / size % 8 * size : 0, end = blocks->total_bytes - rest;
    const char *from = blocks->from;
    for (int64_t done = 0; done < end; done += blocks->block_bytes) {
        const int64_t bytes = lw_min64(blocks->block_bytes, end - done);
        const int rc = decode_block(blocks, &from, scratch ? scratch : to + done, bytes, err);
        if (rc)
            return rc;
        if (scratch)
            lw_bits_restore(scratch, bytes / size, size, to + done);
    }
    if (rest > blocks->from + blocks->bytes - from)
        return lw_fail(err, LW_EDATA, "the last elements are missing");
    memcpy(to + end, from, (size_t)rest);
    return LW_OK;
}
