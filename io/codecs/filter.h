/* filter.h - undo the filters that HDF5 applies to a chunk, its own and registered ones, one filter at a time. */
#pragma once

#include "base/error.h"
#include "io/codecs/codec.h"

#include <stdbool.h>
#include <stdint.h>

enum lw_filter_id {
    LW_FILTER_FLETCHER32,
    LW_FILTER_SHUFFLE,
    LW_FILTER_BITSHUFFLE,
    LW_FILTER_CODEC,                    /* the whole chunk is compressed at once */
    LW_FILTER_BLOCKS,                   /* the chunk is compressed by LZ4, block by block */
    LW_FILTER_BITSHUFFLE_BLOCKS,        /* bitshuffle, then LZ4 or Zstandard, block by block */
};

struct lw_filter {
    enum lw_filter_id kind;
    enum lw_codec_id codec;             /* library of LW_FILTER_CODEC and the kinds after it */
    int64_t element_bytes;              /* shuffle and bitshuffle: bytes of an element */
    int64_t block_bytes;                /* block of bitshuffle (a multiple of eight elements) or of LZ4; else 0 */
};

/** Return whether this build can undo the filter. */
bool lw_filter_is_built_in(const struct lw_filter *filter);

/** Return the bytes that the filter adds to `bytes` bytes in the worst case. */
int64_t lw_filter_growth(const struct lw_filter *filter, int64_t bytes);

/** Return the decoded size that the data claims, in bytes; 0: the data claims none. */
int64_t lw_filter_claim(const struct lw_filter *filter, const char *data, int64_t bytes);

/* State and buffers for undoing filters in one thread. */
struct lw_filter_tools;

/** Create the tools for n filters, all of which are built in. */
int lw_filter_tools_create(const struct lw_filter *filters, int n, struct lw_filter_tools **out, struct lw_error *err);
void lw_filter_tools_destroy(struct lw_filter_tools *tools);        /* NULL is legal */

/** Return the host bytes of the tools. */
int64_t lw_filter_tools_bytes(const struct lw_filter *filters, int n);

/* Data under way through the filters, and a buffer of the same size. */
struct lw_filtered {
    char *data, *spare;                 /* filters that cannot work in place exchange the two */
    int64_t bytes, room;                /* bytes of the data; size of each buffer */
    bool is_full;                       /* the data needs more room; data and bytes are unchanged */
};

/** Undo one filter. LW_EDATA: the data is damaged, or is_full is set; the message is only the reason, in HDF5's words. */
int lw_filter_undo(const struct lw_filter *filter, struct lw_filter_tools *tools, struct lw_filtered *filtered,
                   struct lw_error *err);

/* ---- bits.c: put bits and bytes back in order.
 *
 * HDF5's shuffle stores the first bytes of all elements, then the second bytes, and so on; bytes after the last whole element stay.
 *
 * Bitshuffle (Masui et al. 2015, Astronomy and Computing 12, 181) stores a block of n elements of s bytes, n a multiple of 8, in 8
 * s rows of n / 8 bytes. Row 8 k + b holds bit b of byte k of all elements, eight elements to a byte, the first one lowest. */

/** Undo shuffle. @param size  bytes of an element, > 0 */
void lw_shuffle_restore(const char *restrict from, int64_t bytes, char *restrict to, int64_t size);

/** Restore the bits of one block of bitshuffle. @param n  elements, a multiple of 8 @param size  bytes of an element, > 0 */
void lw_bits_restore(const char *restrict from, int64_t n, int64_t size, char *restrict to);

/** Restore the bits of all blocks. The last block ends with the last group of eight elements; the bytes behind it are copied.
 * @param block_bytes  bytes of a multiple of eight elements */
void lw_bits_restore_blocks(const char *restrict from, int64_t bytes, int64_t size, int64_t block_bytes, char *restrict to);

/** Return bitshuffle's default number of elements in a block: about 8 KiB, and at least 128 elements. */
int64_t lw_bits_default_block(int64_t size);
