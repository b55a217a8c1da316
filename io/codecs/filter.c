#include "io/codecs/filter.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/codecs/bits.h"
#include "io/codecs/blocks.h"
#include "io/codecs/fletcher.h"
#include "io/codecs/shuffle.h"

#include <inttypes.h>

/* Bitshuffle's blocks up to this size, 8 KiB if nobody says otherwise, are decoded one by one and stay in the processor's cache. */
enum { SCRATCH_BYTES = 64 << 10 };

struct lw_filter_tools {
    void *state[LW_N_CODECS];
    char scratch[SCRATCH_BYTES];
};

static bool has_codec(const struct lw_filter *filter)
{
    return filter->kind >= LW_FILTER_CODEC;
}

bool lw_filter_is_built_in(const struct lw_filter *filter)
{
    return !has_codec(filter) || lw_codec_find(filter->codec);
}

/* What cannot be compressed grows by an eighth at most; in blocks, by less than 32 bytes for each. */
int64_t lw_filter_growth(const struct lw_filter *filter, int64_t bytes)
{
    if (filter->kind == LW_FILTER_FLETCHER32)
        return 4;
    if (!has_codec(filter))
        return 0;
    return bytes / 8 + 1024 + (filter->block_bytes > 0 ? 32 * (bytes / filter->block_bytes) : 0);
}

/* ---- tools ---------------------------------------------------------------------------------------------------------- */

static int create_state(struct lw_filter_tools *tools, enum lw_codec_id id, struct lw_error *err)
{
    const struct lw_codec *const codec = lw_codec_find(id);
    if (!codec->create || tools->state[id] || (tools->state[id] = codec->create()))
        return LW_OK;
    return lw_fail(err, LW_ESYSTEM, "no memory for decoding chunks: lower --memory or run fewer ranks on a node");
}

int lw_filter_tools_create(const struct lw_filter *filters, int n, struct lw_filter_tools **out, struct lw_error *err)
{
    struct lw_filter_tools *const tools = lw_alloc(sizeof *tools, "decoding chunks", err);
    if (!tools)
        return LW_ESYSTEM;
    for (int f = 0; f < n; f++)
        if (has_codec(&filters[f]) && create_state(tools, filters[f].codec, err)) {
            lw_filter_tools_destroy(tools);
            return LW_ESYSTEM;
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
    return lw_fail(err, LW_EDATA, "more is compressed there than a chunk holds");
}

static int undo_fletcher32(struct lw_filtered *f, struct lw_error *err)
{
    const int64_t bytes = lw_fletcher_check(f->data, f->bytes);
    if (bytes < 0)
        return lw_fail(err, LW_EDATA, "data error detected by Fletcher32 checksum");
    f->bytes = bytes;
    return LW_OK;
}

static int undo_bitshuffle(const struct lw_filter *filter, struct lw_filtered *f, struct lw_error *err)
{
    if (f->bytes % filter->element_bytes != 0)
        return lw_fail(err, LW_EDATA, "%" PRId64 " bytes are not elements of %" PRId64, f->bytes, filter->element_bytes);
    lw_bits_restore_blocks(f->data, f->bytes, filter->element_bytes, filter->block_bytes, f->spare);
    exchange(f, f->bytes);
    return LW_OK;
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

static struct lw_codec_blocks blocks_of(const struct lw_filter *filter, struct lw_filter_tools *tools)
{
    const bool is_shuffled = filter->kind == LW_FILTER_BITSHUFFLE_BLOCKS;
    return (struct lw_codec_blocks){.codec = lw_codec_find(filter->codec), .state = tools ? tools->state[filter->codec] : NULL,
                              .element_bytes = is_shuffled ? filter->element_bytes : 0};
}

/* Long blocks are put in order when all of them are decoded. */
static int undo_blocks(const struct lw_filter *filter, struct lw_filter_tools *tools, struct lw_filtered *f, struct lw_error *err)
{
    struct lw_codec_blocks blocks = blocks_of(filter, tools);
    int rc = lw_blocks_open(&blocks, f->data, f->bytes, err);
    if (rc)
        return rc;
    if (blocks.total_bytes > f->room)
        return fail_full(f, err);
    const bool is_shuffled = blocks.element_bytes > 0, is_long = lw_min64(blocks.block_bytes, blocks.total_bytes) > SCRATCH_BYTES;
    if ((rc = lw_blocks_decode(&blocks, f->spare, is_shuffled && !is_long ? tools->scratch : NULL, err)))
        return rc;
    exchange(f, blocks.total_bytes);
    if (is_shuffled && is_long) {
        lw_bits_restore_blocks(f->data, f->bytes, blocks.element_bytes, blocks.block_bytes, f->spare);
        exchange(f, f->bytes);
    }
    return LW_OK;
}

int lw_filter_undo(const struct lw_filter *filter, struct lw_filter_tools *tools, struct lw_filtered *filtered,
                   struct lw_error *err)
{
    filtered->is_full = false;
    switch (filter->kind) {
    case LW_FILTER_FLETCHER32: return undo_fletcher32(filtered, err);
    case LW_FILTER_BITSHUFFLE: return undo_bitshuffle(filter, filtered, err);
    case LW_FILTER_CODEC: return undo_codec(filter, tools, filtered, err);
    case LW_FILTER_BLOCKS:
    case LW_FILTER_BITSHUFFLE_BLOCKS: return undo_blocks(filter, tools, filtered, err);
    case LW_FILTER_SHUFFLE: break;
    }
    lw_shuffle_restore(filtered->data, filtered->bytes, filtered->spare, filter->element_bytes);
    exchange(filtered, filtered->bytes);
    return LW_OK;
}

int64_t lw_filter_claim(const struct lw_filter *filter, const char *data, int64_t bytes)
{
    struct lw_codec_blocks blocks = blocks_of(filter, NULL);
    if (!has_codec(filter))
        return bytes;
    if (filter->kind == LW_FILTER_CODEC)
        return blocks.codec->claim ? blocks.codec->claim(data, bytes) : 0;
    return lw_blocks_open(&blocks, data, bytes, NULL) == LW_OK ? blocks.total_bytes : 0;
}
