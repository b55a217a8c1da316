/* filter.h - what HDF5 and the filters registered with it make of a chunk, undone one filter at a time. */
#pragma once

#include "base/error.h"
#include "io/codecs/codec.h"

#include <stdbool.h>
#include <stdint.h>

enum lw_filter_id {
    LW_FILTER_FLETCHER32,
    LW_FILTER_SHUFFLE,
    LW_FILTER_BITSHUFFLE,
    LW_FILTER_CODEC,                    /* all of the chunk compressed at once */
    LW_FILTER_BLOCKS,                   /* block by block, by LZ4 */
    LW_FILTER_BITSHUFFLE_BLOCKS,        /* block by block, by bitshuffle and then LZ4 or Zstandard */
};

struct lw_filter {
    enum lw_filter_id kind;
    enum lw_codec_id codec;             /* where there is one */
    int64_t element_bytes;              /* of shuffle and bitshuffle */
    int64_t block_bytes;                /* of bitshuffle, eight elements or a multiple; of LZ4's blocks; else 0 */
};

/** Whether this build can undo it. */
bool lw_filter_is_built_in(const struct lw_filter *filter);

/** Bytes that it adds in the worst case to so many. */
int64_t lw_filter_growth(const struct lw_filter *filter, int64_t bytes);

/** How many bytes this data claims to be when it is undone; 0: it does not say. */
int64_t lw_filter_claim(const struct lw_filter *filter, const char *data, int64_t bytes);

/* What undoing takes in one thread. */
struct lw_filter_tools;

/** For these filters, all of them built in. */
int lw_filter_tools_create(const struct lw_filter *filters, int n, struct lw_filter_tools **out, struct lw_error *err);
void lw_filter_tools_destroy(struct lw_filter_tools *tools);        /* NULL is legal */

/** Host bytes of them. */
int64_t lw_filter_tools_bytes(const struct lw_filter *filters, int n);

/* The data, and as much room again. */
struct lw_filtered {
    char *data, *spare;                 /* the two change places when they need to */
    int64_t bytes, room;                /* of the data; of either */
    bool is_full;                       /* set where the data needs more room; it is then as it was */
};

/** Undo one filter. LW_EDATA: damaged, or full; the message is the reason alone, as HDF5 says it. */
int lw_filter_undo(const struct lw_filter *filter, struct lw_filter_tools *tools, struct lw_filtered *filtered,
                   struct lw_error *err);

/* ---- bits.c: bits and bytes put back in order.
 *
 * HDF5's shuffle puts the first bytes of all elements first, then the second ones, and so on. What is left over behind the last
 * whole element stays where it is.
 *
 * Bitshuffle (Masui et al. 2015, Astronomy and Computing 12, 181) stores a block of n elements of s bytes, n a multiple of 8, as
 * 8 s rows of n / 8 bytes: row 8 k + b holds bit b of byte k of all elements, eight elements to a byte, the first one lowest. */

/** Undo shuffle. @param size  of an element, > 0 */
void lw_shuffle_restore(const char *restrict from, int64_t bytes, char *restrict to, int64_t size);

/** One block of bitshuffle. @param n  elements, a multiple of 8 @param size  of an element, > 0 */
void lw_bits_restore(const char *restrict from, int64_t n, int64_t size, char *restrict to);

/** Block after block; the last one ends with the last whole eight elements, and what is behind it stays as it is.
 * @param block_bytes  eight elements, or a multiple of that */
void lw_bits_restore_blocks(const char *restrict from, int64_t bytes, int64_t size, int64_t block_bytes, char *restrict to);

/** Elements of a block where nobody says: of about 8 KiB, and at least 128. */
int64_t lw_bits_default_block(int64_t size);
