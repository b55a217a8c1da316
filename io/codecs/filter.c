#include "io/codecs/filter.h"

#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

/* Largest block whose bits are restored right after decoding, from the processor's cache. Bitshuffle's default block is 8 KiB. */
enum { SCRATCH_BYTES = 64 << 10 };

struct lw_filter_tools {
    void *state[LW_N_CODECS];
    char scratch[SCRATCH_BYTES];
};

static bool has_codec(const struct lw_filter *filter) { return filter->kind >= LW_FILTER_CODEC; }

bool lw_filter_is_built_in(const struct lw_filter *filter) { return !has_codec(filter) || lw_codec_find(filter->codec); }

/* Incompressible data grows by an eighth at most with any codec, and by less than 32 bytes per block. 1 KiB covers headers. */
int64_t lw_filter_growth(const struct lw_filter *filter, int64_t bytes)
{
    if (filter->kind == LW_FILTER_FLETCHER32)
        return 4;
    if (!has_codec(filter))
        return 0;
    return bytes / 8 + 1024 + (filter->block_bytes > 0 ? 32 * (bytes / filter->block_bytes) : 0);
}

/* ---- tools ---------------------------------------------------------------------------------------------------------- */

int lw_filter_tools_create(const struct lw_filter *filters, int n, struct lw_filter_tools **out, struct lw_error *err)
{
    struct lw_filter_tools *const tools = lw_alloc(sizeof *tools, "decoding chunks", err);
    if (!tools)
        return LW_ESYSTEM;
    for (int f = 0; f < n; f++) {
        const struct lw_codec *const codec = has_codec(&filters[f]) ? lw_codec_find(filters[f].codec) : NULL;
        void **const state = &tools->state[filters[f].codec];
        if (!codec || !codec->create || *state || (*state = codec->create()))
            continue;
        lw_filter_tools_destroy(tools);
        return lw_fail(err, LW_ESYSTEM, "no memory for decoding chunks: lower --memory or run fewer ranks on a node");
    }
    *out = tools;
    return LW_OK;
}

void lw_filter_tools_destroy(struct lw_filter_tools *tools)
{
    if (!tools)
        return;
    for (int c = 0; c < LW_N_CODECS; c++)
        if (tools->state[c])
            lw_codec_find((enum lw_codec_id)c)->destroy(tools->state[c]);
    lw_free(tools);
}

int64_t lw_filter_tools_bytes(const struct lw_filter *filters, int n)
{
    int64_t bytes = sizeof(struct lw_filter_tools);
    for (int f = 0; f < n; f++)
        bytes += has_codec(&filters[f]) ? lw_codec_find(filters[f].codec)->state_bytes : 0;
    return bytes;
}

/* ---- undo ----------------------------------------------------------------------------------------------------------- */

static void exchange(struct lw_filtered *f, int64_t bytes)
{
    char *const data = f->spare;
    f->spare = f->data;
    f->data = data;
    f->bytes = bytes;
}

static int fail_full(struct lw_filtered *f, struct lw_error *err)
{
    f->is_full = true;
    return lw_fail(err, LW_EDATA, "the compressed data holds more than a chunk");
}

static int undo_codec(const struct lw_filter *filter, struct lw_filter_tools *tools, struct lw_filtered *f, struct lw_error *err)
{
    const struct lw_codec *const codec = lw_codec_find(filter->codec);
    const int64_t bytes = codec->decode(tools->state[filter->codec], f->data, f->bytes, f->spare, f->room);
    if (bytes == LW_CODEC_FULL)
        return fail_full(f, err);
    if (bytes < 0)
        return lw_fail(err, LW_EDATA, "%s", codec->failure);
    exchange(f, bytes);
    return LW_OK;
}

/* ---- Fletcher's checksum, which HDF5 stores behind the bytes that it covers ------------------------------------------ */

/* Reduce a sum modulo 65535 to 1..65535, as ones' complement addition does: the result is 0 only if all words are 0. */
static uint64_t fold(uint64_t sum) { return sum == 0 ? 0 : 1 + (sum - 1) % 65535; }

static uint32_t word(const unsigned char *data) { return (uint32_t)data[0] << 8 | data[1]; }

/* Fletcher's sums: `first` is the sum of the words, `second` the sum of the values that `first` had after each word. */
struct sums {
    uint64_t first, second;
};

static struct sums fold_sums(uint64_t first, uint64_t second) { return (struct sums){fold(first), fold(second)}; }

/* Add a block of words in LANES vector lanes: word i belongs to lane i % LANES. Where a[j] and b[j] are the sums of lane j alone,
 * the block's sums are sum(a[j]) and sum(LANES b[j] - j a[j]). LANE_WORDS words cannot overflow the 32 bits of b[j]. */
enum { LANES = 16, LANE_WORDS = 256, BLOCK_WORDS = LANES * LANE_WORDS };

static struct sums add_block(struct sums sums, const unsigned char *data)
{
    uint32_t a[LANES] = {0}, b[LANES] = {0};
    for (int w = 0; w < LANE_WORDS; w++, data += 2 * LANES)
        for (int j = 0; j < LANES; j++) {
            a[j] += word(data + 2 * j);
            b[j] += a[j];
        }
    sums.second += BLOCK_WORDS * sums.first;
    for (uint64_t j = 0; j < LANES; j++) {
        sums.first += a[j];
        sums.second += LANES * (uint64_t)b[j] - j * a[j];
    }
    return fold_sums(sums.first, sums.second);
}

/* Compare the last four bytes, the checksum, with the sums of the bytes before. The sums add 16-bit words, most significant byte
 * first; an odd last byte is a word's high byte. The checksum is stored least significant byte first. HDF5 before 1.6.3
 * exchanged the two bytes of each sum on little-endian machines; today's HDF5 accepts both orders, and so does this function.
 * @return  the number of bytes before the checksum; -1: the checksum does not match or is missing */
static int64_t check_fletcher(const char *from, int64_t bytes)
{
    const int64_t n = bytes - 4;
    if (n < 0)
        return -1;
    const unsigned char *data = (const unsigned char *)from, *const end = data + n;
    struct sums sums = {0, 0};
    for (; end - data >= 2 * BLOCK_WORDS; data += 2 * BLOCK_WORDS)
        sums = add_block(sums, data);
    for (; end - data > 0; data += 2) {
        sums.first += end - data > 1 ? word(data) : (uint32_t)data[0] << 8;
        sums.second += sums.first;
    }
    sums = fold_sums(sums.first, sums.second);
    const uint32_t sum = (uint32_t)(sums.second << 16 | sums.first);
    const uint32_t stored = (uint32_t)end[0] | (uint32_t)end[1] << 8 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24;
    const uint32_t swapped = (sum & 0x00ff00ffu) << 8 | (sum >> 8 & 0x00ff00ffu);
    return stored == sum || stored == swapped ? n : -1;
}

/* ---- data compressed block by block ---------------------------------------------------------------------------------- */

/* Data compressed block by block, as the filters LZ4 (32004) and bitshuffle (32008) store them (a number: its width in bytes):
 *
 *     | decoded bytes: 8 | decoded bytes of a block: 4 | stored bytes: 4, the block | stored bytes: 4, the block | ... | rest |
 *
 * Numbers are stored most significant byte first. LZ4: the last block may be shorter, and there is no rest. A block whose stored
 * and decoded bytes are equally many is not compressed. Bitshuffle: each block is transposed bit by bit, then compressed. The last
 * ends with the last eight whole elements; the rest, up to seven, is not compressed. Sources: HDF5_LZ4.pdf, bitshuffle's README. */
struct blocks {
    const struct lw_codec *codec;
    void *state;                        /* state of the codec, from lw_filter_tools */
    int64_t element_bytes;              /* bitshuffle: bytes of an element; LZ4: 0 */
    const char *from, *end;             /* the bytes after the first two numbers; their end */
    int64_t total_bytes, block_bytes;   /* decoded bytes: all (with the rest), and of one block */
};

enum { HEAD_BYTES = 12, SIZE_BYTES = 4 };

static uint64_t take_number(const char *from, int n_bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < n_bytes; i++)
        number = number << 8 | (unsigned char)from[i];
    return number;
}

/* Read the two numbers before the blocks. A bitshuffle block is cut to whole elements, whose number must be a multiple of 8; less
 * than one element means bitshuffle's default. LW_EDATA: numbers missing or impossible. @param tools  NULL: nothing to decode */
static int open_blocks(const struct lw_filter *filter, const struct lw_filter_tools *tools, const char *from, int64_t bytes,
                       struct blocks *blocks, struct lw_error *err)
{
    const int64_t size = filter->kind == LW_FILTER_BITSHUFFLE_BLOCKS ? filter->element_bytes : 0;
    if (bytes < HEAD_BYTES)
        return lw_fail(err, LW_EDATA, "%" PRId64 " bytes are too few for compressed blocks", bytes);
    const uint64_t total = take_number(from, 8), block = take_number(from + 8, 4);
    if (total > UINT32_MAX)
        return lw_fail(err, LW_EDATA, "the data claims %" PRIu64 " bytes, too many for a chunk", total);
    *blocks = (struct blocks){.codec = lw_codec_find(filter->codec), .state = tools ? tools->state[filter->codec] : NULL,
                              .element_bytes = size, .from = from + HEAD_BYTES, .end = from + bytes,
                              .total_bytes = (int64_t)total, .block_bytes = (int64_t)block};
    bool is_whole = true;
    if (size > 0) {
        const int64_t elements = (int64_t)block >= size ? (int64_t)block / size : lw_bits_default_block(size);
        blocks->block_bytes = elements * size;
        is_whole = blocks->total_bytes % size == 0 && elements % 8 == 0;
    }
    if (blocks->block_bytes == 0 || !is_whole)
        return lw_fail(err, LW_EDATA, "%" PRId64 " bytes cannot be in blocks of %" PRIu64, blocks->total_bytes, block);
    return LW_OK;
}

/* Decode all blocks and copy the rest. Only LZ4 has blocks that are not compressed.
 * @param scratch  [block_bytes] bytes for undoing bitshuffle block by block; NULL: bitshuffle is not undone */
static int decode_blocks(const struct blocks *blocks, char *to, char *scratch, struct lw_error *err)
{
    const int64_t size = blocks->element_bytes;
    const int64_t rest = size > 0 ? blocks->total_bytes / size % 8 * size : 0, end = blocks->total_bytes - rest;
    const char *from = blocks->from;
    for (int64_t done = 0; done < end; done += blocks->block_bytes) {
        const int64_t bytes = lw_min64(blocks->block_bytes, end - done), left = blocks->end - from;
        const int64_t stored = left < SIZE_BYTES ? 0 : (int64_t)take_number(from, SIZE_BYTES);
        char *const into = scratch ? scratch : to + done;
        if (stored > left - SIZE_BYTES)
            return lw_fail(err, LW_EDATA, "a compressed block reaches beyond its chunk");
        if (stored == bytes && size == 0)
            memcpy(into, from + SIZE_BYTES, (size_t)bytes);
        else if (blocks->codec->decode(blocks->state, from + SIZE_BYTES, stored, into, bytes) != bytes)
            return lw_fail(err, LW_EDATA, "%s", blocks->codec->failure);
        from += SIZE_BYTES + stored;
        if (scratch)
            lw_bits_restore(scratch, bytes / size, size, to + done);
    }
    if (rest > blocks->end - from)
        return lw_fail(err, LW_EDATA, "the last elements are missing");
    memcpy(to + end, from, (size_t)rest);
    return LW_OK;
}

/* Undo a filter of blocks. If blocks are longer than the scratch buffer, bitshuffle is undone after all of them are decoded. */
static int undo_blocks(const struct lw_filter *filter, struct lw_filter_tools *tools, struct lw_filtered *f, struct lw_error *err)
{
    struct blocks blocks;
    int rc = open_blocks(filter, tools, f->data, f->bytes, &blocks, err);
    if (rc)
        return rc;
    if (blocks.total_bytes > f->room)
        return fail_full(f, err);
    const bool is_shuffled = blocks.element_bytes > 0, is_long = lw_min64(blocks.block_bytes, blocks.total_bytes) > SCRATCH_BYTES;
    if ((rc = decode_blocks(&blocks, f->spare, is_shuffled && !is_long ? tools->scratch : NULL, err)))
        return rc;
    exchange(f, blocks.total_bytes);
    if (is_shuffled && is_long) {
        lw_bits_restore_blocks(f->data, f->bytes, blocks.element_bytes, blocks.block_bytes, f->spare);
        exchange(f, f->bytes);
    }
    return LW_OK;
}

/* ---- any filter ------------------------------------------------------------------------------------------------------- */

int lw_filter_undo(const struct lw_filter *filter, struct lw_filter_tools *tools, struct lw_filtered *filtered,
                   struct lw_error *err)
{
    const int64_t size = filter->element_bytes;
    int64_t left;
    filtered->is_full = false;
    switch (filter->kind) {
    case LW_FILTER_CODEC: return undo_codec(filter, tools, filtered, err);
    case LW_FILTER_BLOCKS:
    case LW_FILTER_BITSHUFFLE_BLOCKS: return undo_blocks(filter, tools, filtered, err);
    case LW_FILTER_FLETCHER32:
        if ((left = check_fletcher(filtered->data, filtered->bytes)) < 0)
            return lw_fail(err, LW_EDATA, "data error detected by Fletcher32 checksum");
        filtered->bytes = left;
        return LW_OK;
    case LW_FILTER_BITSHUFFLE:
        if (filtered->bytes % size != 0)
            return lw_fail(err, LW_EDATA, "%" PRId64 " bytes are no whole number of elements of %" PRId64, filtered->bytes, size);
        lw_bits_restore_blocks(filtered->data, filtered->bytes, size, filter->block_bytes, filtered->spare);
        break;
    case LW_FILTER_SHUFFLE: lw_shuffle_restore(filtered->data, filtered->bytes, filtered->spare, size);
    }
    exchange(filtered, filtered->bytes);
    return LW_OK;
}

int64_t lw_filter_claim(const struct lw_filter *filter, const char *data, int64_t bytes)
{
    struct blocks blocks;
    if (!has_codec(filter))
        return bytes;
    if (filter->kind == LW_FILTER_CODEC) {
        const struct lw_codec *const codec = lw_codec_find(filter->codec);
        return codec->claim ? codec->claim(data, bytes) : 0;
    }
    return open_blocks(filter, NULL, data, bytes, &blocks, NULL) == LW_OK ? blocks.total_bytes : 0;
}
