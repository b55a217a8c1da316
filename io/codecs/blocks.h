/* blocks.h - data compressed block by block, as the filters LZ4 (32004) and bitshuffle (32008) store it.
 *
 *     | all bytes: 8 | bytes of a block: 4 | stored bytes: 4, the block | stored bytes: 4, the block | ... | rest |
 *
 * Numbers have their most significant byte first. LZ4: the last block is what is left, there is no rest, and a block stored in as
 * many bytes as it has is not compressed. Bitshuffle: each block has its bits transposed and is then compressed; the last one ends
 * with the last whole eight elements, and the rest is as it is. Sources: HDF5_LZ4.pdf of the HDF Group and bitshuffle's README. */
#pragma once

#include "base/error.h"
#include "io/codecs/codec.h"

#include <stdbool.h>
#include <stdint.h>

struct lw_codec_blocks {
    const struct lw_codec *codec;
    void *state;                        /* the codec's */
    int64_t element_bytes;              /* of bitshuffle; 0: LZ4's */
    const char *from;                   /* the blocks, behind the two numbers */
    int64_t bytes;
    int64_t total_bytes, block_bytes;   /* decoded */
};

/** What the data at `from` says of itself; codec, state and element_bytes are set before. LW_EDATA: it makes no sense. */
int lw_blocks_open(struct lw_codec_blocks *blocks, const char *from, int64_t bytes, struct lw_error *err);

/** Decode all total_bytes. LW_EDATA: damaged.
 * @param scratch  of block_bytes: bits are put in order, too; NULL: blocks stay as bitshuffle makes them */
int lw_blocks_decode(const struct lw_codec_blocks *blocks, char *to, char *scratch, struct lw_error *err);
