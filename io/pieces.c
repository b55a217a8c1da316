#include "io/pieces.h"

#include "base/integers.h"

static int64_t pieces_per_row(const struct lw_pieces *pieces)
{
    return (pieces->count[pieces->cut_dim] + pieces->rows - 1) / pieces->rows;
}

struct lw_pieces lw_pieces_plan(int n_dims, const int64_t *count, int64_t sample_bytes, int64_t limit)
{
    struct lw_pieces pieces = {.n_dims = n_dims, .row_bytes = sample_bytes};
    int64_t samples = 1;
    for (int d = 0; d < n_dims; d++)
        samples *= pieces.count[d] = count[d];
    if (samples == 0)
        return pieces;

    pieces.cut_dim = n_dims - 1;
    while (pieces.cut_dim > 0 && pieces.row_bytes * count[pieces.cut_dim] <= limit)
        pieces.row_bytes *= count[pieces.cut_dim--];
    pieces.rows = min64(limit / pieces.row_bytes, count[pieces.cut_dim]);
    pieces.n_pieces = pieces_per_row(&pieces);
    for (int d = 0; d < pieces.cut_dim; d++)
        pieces.n_pieces *= count[d];
    return pieces;
}

struct lw_piece lw_pieces_get(const struct lw_pieces *pieces, int64_t index)
{
    const int cut = pieces->cut_dim;
    const int64_t row = index % pieces_per_row(pieces) * pieces->rows;
    const int64_t outer = index / pieces_per_row(pieces);
    struct lw_piece piece;
    for (int d = 0; d < pieces->n_dims; d++) {
        piece.first[d] = 0;
        piece.count[d] = pieces->count[d];
    }
    piece.first[cut] = row;
    piece.count[cut] = min64(pieces->rows, pieces->count[cut] - row);
    int64_t left = outer;
    for (int d = cut - 1; d >= 0; d--) {
        piece.first[d] = left % pieces->count[d];
        piece.count[d] = 1;
        left /= pieces->count[d];
    }
    piece.offset_bytes = (outer * pieces->count[cut] + row) * pieces->row_bytes;
    piece.bytes = piece.count[cut] * pieces->row_bytes;
    return piece;
}
