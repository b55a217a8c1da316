/* filter.h - undo, one by one, the filters (here compression, shuffles and checksums) that HDF5 applied to a chunk. */
#pragma once

#include "io/codecs/codec.h"

enum lw_filter_id {
    LW_FILTER_FLETCHER32,
    LW_FILTER_SHUFFLE,
    LW_FILTER_BITSHUFFLE,
    LW_FILTER_CODEC,                    /* the whole chunk is compressed at once */
    LW_FILTER_BLOCKS,                   /* LZ4, block by block; the data states a block's bytes */
    LW_FILTER_BITSHUFFLE_BLOCKS,        /* bitshuffle, then LZ4 or Zstandard, block by block; the data states a block's bytes */
};

struct lw_filter {
    enum lw_filter_id kind;
    enum lw_codec_id codec;             /* codec of LW_FILTER_CODEC and of the kinds after it */
    int64_t element_bytes;              /* shuffle and bitshuffle: bytes of an element */
    int64_t block_bytes;                /* block's bytes, by the settings: bitshuffle (a multiple of eight elements), LZ4; else 0 */
};

/** Return whether this build has what it needs to undo the filter. */
bool lw_filter_is_built_in(const struct lw_filter *filter);

/** Return by how many bytes applying the filter lengthens `bytes` bytes at most. */
int64_t lw_filter_growth(const struct lw_filter *filter, int64_t bytes);

/** Return the number of bytes after undoing the filter, if the data's head states it; 0: unknown. Without a codec: `bytes`. */
int64_t lw_filter_claim(const struct lw_filter *filter, const char *data, int64_t bytes);

/* State and buffers for undoing filters in one thread. */
struct lw_filter_tools;

/** Create the tools for n filters, which this build can all undo. LW_ESYSTEM: no memory. */
int lw_filter_tools_create(const struct lw_filter *filters, int n, struct lw_filter_tools **out, struct lw_error *err);
void lw_filter_tools_destroy(struct lw_filter_tools *tools);        /* NULL is legal */

/** Return the host bytes of the tools for n filters. */
int64_t lw_filter_tools_bytes(const struct lw_filter *filters, int n);

/* Bytes of a chunk while its filters are undone, and a spare buffer of the same size. */
struct lw_filtered {
    char *data, *spare;                 /* a filter writes to `spare`, and then the two pointers are exchanged */
    int64_t bytes, room;                /* bytes of the data; size of each buffer */
    bool is_full;                       /* undoing a filter would need a larger buffer; data and bytes are unchanged */
};

/** Undo one filter. LW_EDATA: damaged data, or too little room (is_full); the message holds the reason, not the file's name. */
int lw_filter_undo(const struct lw_filter *filter, struct lw_filter_tools *tools, struct lw_filtered *filtered,
                   struct lw_error *err);

/* ---- bits.c: put bits and bytes back in order.
 *
 * HDF5's shuffle stores the first bytes of all elements, then the second bytes, and so on; bytes after the last whole element stay.
 *
 * Bitshuffle (Masui et al. 2015, Astronomy and Computing 12, 181) stores a block of n elements of s bytes, n a multiple of 8, as
 * 8 s rows of n / 8 bytes. Row 8 k + b holds bit b of byte k of all elements, the first element in the lowest bit of a byte. */

/** Undo shuffle. @param size  bytes of an element, > 0 */
void lw_shuffle_restore(const char *restrict from, int64_t bytes, char *restrict to, int64_t size);

/** Undo bitshuffle in one block. @param n  elements, a multiple of 8 @param size  bytes of an element, > 0 */
void lw_bits_restore(const char *restrict from, int64_t n, int64_t size, char *restrict to);

/** Undo bitshuffle in all blocks. The last block ends with the last eight whole elements; the bytes after it are copied.
 * @param block_bytes  bytes of a block, a multiple of 8 size @param size  bytes of an element, > 0 */
void lw_bits_restore_blocks(const char *restrict from, int64_t bytes, int64_t size, int64_t block_bytes, char *restrict to);

/** Return bitshuffle's default number of elements in a block: at most 8 KiB of elements, but at least 128. */
int64_t lw_bits_default_block(int64_t size);
