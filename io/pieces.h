/* pieces.h - a block of a dataset, cut into pieces that one file call can carry. Pure arithmetic.
 *
 * The block is packed row-major in memory. It is cut at one dimension: pieces take as many whole rows of it as fit the
 * limit, and one index of each dimension before it; so every piece is a contiguous part of the memory. */
#ifndef LW_IO_PIECES_H
#define LW_IO_PIECES_H

#include "io/dataset.h"

#include <stdint.h>

struct lw_pieces {
    int n_dims;
    int64_t count[LW_MAX_DIMS];     /* of the block */
    int cut_dim;
    int64_t rows;                   /* of the cut dimension, in one piece */
    int64_t row_bytes;
    int64_t n_pieces;               /* 0: the block is empty */
};

struct lw_piece {
    int64_t first[LW_MAX_DIMS];     /* in the block */
    int64_t count[LW_MAX_DIMS];
    int64_t offset_bytes;           /* in memory */
    int64_t bytes;
};

/** @param limit  bytes of a piece at most, >= sample_bytes */
struct lw_pieces lw_pieces_plan(int n_dims, const int64_t *count, int64_t sample_bytes, int64_t limit);

/** Piece number `index`, 0 <= index < n_pieces. */
struct lw_piece lw_pieces_get(const struct lw_pieces *pieces, int64_t index);

#endif
