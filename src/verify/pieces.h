/* pieces.h - which outputs are checked: random ones of random pieces of a dataset's axis, among which are the first and the
 * last. */
#ifndef LW_VERIFY_PIECES_H
#define LW_VERIFY_PIECES_H

#include "verify/state.h"

/* Of each piece, elements [first, first + rows) of a channel's axis, `n_each` are checked. */
struct lw_verify_pieces {
    int64_t length; /* of the axis */
    int64_t rows;
    int64_t n, n_each;
};

/** Choose them. @param span  elements of a piece whose memory stays small
 *  @param products, rows_read  that one element costs, and rows of the input that a piece costs at least */
struct lw_verify_pieces lw_verify_choose(const struct lw_verify *verify, int64_t length, int64_t span, int64_t products,
                                         int64_t rows_read);

/** The first element of piece number i. */
int64_t lw_verify_piece_at(struct lw_verify *verify, const struct lw_verify_pieces *pieces, int64_t i);

/** The element's place in the dataset. */
void lw_verify_place(const struct lw_verify *verify, const struct lw_product *product, int64_t filter, int64_t channel,
                     int64_t row, int64_t column, int64_t place[LW_MAX_DIMS]);

/** "filter 2, channel 0, sample 1234". Returns `text`. */
const char *lw_verify_where(const struct lw_verify *verify, int64_t filter, int64_t channel, int64_t row, int64_t column,
                            char text[160]);

/** "1.5" or "1.5 + 2i". Returns `text`. */
const char *lw_verify_number(double complex value, bool is_complex, char text[64]);

#endif
