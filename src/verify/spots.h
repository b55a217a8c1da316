/* spots.h - which outputs are checked: random ones of random pieces of a dataset's axis, among which are the first and the
 * last, and none twice. */
#pragma once

#include "verify/state.h"

/* The numbers 0 .. n - 1 in a random order. */
struct lw_verify_deck {
    uint64_t seed;
    int64_t n;
};

struct lw_verify_deck lw_verify_shuffle(struct lw_verify *verify, int64_t n);

/** Number `i` of them, 0 <= i < n. */
int64_t lw_verify_card(const struct lw_verify_deck *deck, int64_t i);

/* What is to be chosen from: the elements of a dataset, n_rows of each channel with `in_row` each. */
struct lw_verify_choice {
    int64_t n_channels, n_rows, in_row;
    int64_t span;      /* rows of a piece whose memory stays small */
    int64_t products;  /* that one element costs */
    int64_t rows_read; /* of the input, that a piece costs at least */
};

/* Pieces of so many rows, of each channel; n of them are taken, and so many elements of each. */
struct lw_verify_pieces {
    struct lw_verify_choice choice;
    int64_t rows;
    int64_t n, n_each;
    struct lw_verify_deck deck; /* of all pieces */
    int64_t ends[2], n_dealt;   /* the first two that are taken; and cards of the deck that are gone */
};

struct lw_verify_piece {
    int64_t channel, first, rows, n;
    struct lw_verify_deck deck; /* of its elements */
};

/** Choose them. Where --sample asks for all elements, and they do not cost too much, all are taken. */
struct lw_verify_pieces lw_verify_choose(struct lw_verify *verify, const struct lw_verify_choice *choice);

/** Elements that there are. */
int64_t lw_verify_all(const struct lw_verify_pieces *pieces);

/** The next piece, of pieces->n. */
struct lw_verify_piece lw_verify_next(struct lw_verify *verify, struct lw_verify_pieces *pieces, int64_t i);

/** Number k of its elements that are taken. @param rest  which one of its row */
int64_t lw_verify_row_of(const struct lw_verify_pieces *pieces, const struct lw_verify_piece *piece, int64_t k, int64_t *rest);

/** The element's place in the dataset. */
void lw_verify_place(const struct lw_verify *verify, const struct lw_product *product, int64_t filter, int64_t channel,
                     int64_t row, int64_t column, int64_t place[LW_MAX_DIMS]);

/** "filter 2, channel 0, sample 1234". Returns `text`. */
const char *lw_verify_where(const struct lw_verify *verify, int64_t filter, int64_t channel, int64_t row, int64_t column,
                            char text[160]);

/** "1.5" or "1.5 + 2i". Returns `text`. */
const char *lw_verify_number(double complex value, bool is_complex, char text[64]);
