/* decode.h - chunks of samples as HDF5 stores them, put through deflate, shuffle and Fletcher's checksum.
 *
 *     a decoder for each thread: create -> (stored bytes to its room -> decode) ... -> destroy
 *
 * The filters are those of the HDF5 specification: deflate makes zlib streams; shuffle puts the first bytes of all elements
 * first, then the second ones, and so on; the checksum stands behind the bytes that it is of. */
#ifndef LW_IO_BYTES_DECODE_H
#define LW_IO_BYTES_DECODE_H

#include "base/error.h"

#include <stdint.h>

enum lw_filter { LW_FILTER_DEFLATE, LW_FILTER_SHUFFLE, LW_FILTER_FLETCHER32 };

enum { LW_MAX_FILTERS = 4 };

/* What the chunks of a dataset were put through, in this order. */
struct lw_filters {
    int n;
    enum lw_filter filter[LW_MAX_FILTERS];
    int64_t element_bytes;              /* as shuffle takes them */
    int64_t chunk_bytes;                /* of every chunk, decoded */
};

struct lw_decoder;

/** Bytes that a chunk may take where it is stored; one that claims more is damaged. Compressing what cannot be compressed adds
 * an eighth in the worst case. */
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
int lw_decoder_decode(struct lw_decoder *decoder, int64_t stored_bytes, uint32_t skipped, const char **out,
                      struct lw_error *err);

#endif
