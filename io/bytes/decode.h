/* decode.h - chunks of samples as HDF5 stores them, put through filters, decoded.
 *
 *     a decoder for one thread at a time: create -> (stored bytes to its room -> decode) ... -> destroy
 *     decoders: some of them, shared by more threads than there are decoders */
#pragma once

#include "base/error.h"
#include "io/codecs/filter.h"

#include <stdint.h>

enum { LW_MAX_FILTERS = 4 };

/* What the chunks of a dataset were put through, in this order. */
struct lw_filters {
    int n;
    struct lw_filter filter[LW_MAX_FILTERS];
    int64_t chunk_bytes;                /* of every chunk, decoded */
};

struct lw_decoder;

/** Bytes that a chunk may take where it is stored; one that claims more is damaged. */
int64_t lw_decoder_room(const struct lw_filters *filters);

/** Host bytes of a decoder. */
int64_t lw_decoder_bytes(const struct lw_filters *filters);

int lw_decoder_create(const struct lw_filters *filters, struct lw_decoder **out, struct lw_error *err);
void lw_decoder_destroy(struct lw_decoder *decoder);        /* NULL is legal */

/** Where the stored bytes go: lw_decoder_room of them at most. */
char *lw_decoder_stored(struct lw_decoder *decoder);

/** LW_EDATA: damaged; the message is the reason alone, as HDF5 says it.
 * @param skipped  bit i: filter i was left out for this chunk
 * @param out      set to the chunk_bytes decoded ones, the decoder's until its room is used again */
int lw_decoder_decode(struct lw_decoder *decoder, int64_t stored_bytes, uint32_t skipped, const char **out, struct lw_error *err);

struct lw_decoders;

int lw_decoders_create(const struct lw_filters *filters, int n, struct lw_decoders **out, struct lw_error *err);
void lw_decoders_destroy(struct lw_decoders *decoders);     /* all have been given back; NULL is legal */

/** Host bytes that create allocates. */
int64_t lw_decoders_bytes(const struct lw_filters *filters, int n);

/** One that nobody else uses, until it is given back. Waits where there is none. */
struct lw_decoder *lw_decoders_take(struct lw_decoders *decoders);
void lw_decoders_give(struct lw_decoders *decoders, struct lw_decoder *decoder);
