/* decode.h - decode chunks of samples from the form in which HDF5 stores them: undo HDF5's filters, like compression.
 *
 *     a decoder, for one thread at a time:  create -> (stored bytes into lw_decoder_stored -> decode) ... -> destroy
 *     decoders, shared by more threads than there are decoders:  take -> use as above -> give */
#pragma once

#include "io/codecs/filter.h"

enum { LW_MAX_FILTERS = 4 };

/* HDF5's filters that the chunks of a dataset have passed, in the order of writing. */
struct lw_filters {
    int n;
    struct lw_filter filter[LW_MAX_FILTERS];
    int64_t chunk_bytes;                /* decoded bytes of a chunk, the same for every chunk */
};

struct lw_decoder;

/** Return the largest size of a stored chunk, in bytes. A chunk that claims more is damaged. */
int64_t lw_decoder_room(const struct lw_filters *filters);

/** Return the host bytes of one decoder. */
int64_t lw_decoder_bytes(const struct lw_filters *filters);

int lw_decoder_create(const struct lw_filters *filters, struct lw_decoder **out, struct lw_error *err);
void lw_decoder_destroy(struct lw_decoder *decoder);        /* NULL is legal */

/** Return the decoder's buffer for the stored bytes, of lw_decoder_room bytes. */
char *lw_decoder_stored(struct lw_decoder *decoder);

/** Decode the chunk in lw_decoder_stored. LW_EDATA: the chunk is damaged; the message is only the reason.
 * @param skipped  bit i is set: filter i was not applied to this chunk
 * @param out      set to the chunk_bytes decoded bytes, which the decoder owns and keeps until its buffer is filled again */
int lw_decoder_decode(struct lw_decoder *decoder, int64_t stored_bytes, uint32_t skipped, const char **out, struct lw_error *err);

struct lw_decoders;

int lw_decoders_create(const struct lw_filters *filters, int n, struct lw_decoders **out, struct lw_error *err);
void lw_decoders_destroy(struct lw_decoders *decoders);     /* every decoder must have been given back; NULL is legal */

/** Return the host bytes that lw_decoders_create allocates. */
int64_t lw_decoders_bytes(const struct lw_filters *filters, int n);

/** Take a free decoder, for the caller alone until lw_decoders_give. Waits while all are taken. */
struct lw_decoder *lw_decoders_take(struct lw_decoders *decoders);
void lw_decoders_give(struct lw_decoders *decoders, struct lw_decoder *decoder);
