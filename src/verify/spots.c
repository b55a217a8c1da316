/* spots.c - chooses the elements to check, and writes their places. */
#include "verify/state.h"

#include "sfft/number.h"

#include <inttypes.h>
#include <stdio.h>

struct lw_verify_deck lw_verify_shuffle(struct lw_verify *verify, int64_t n)
{
    return (struct lw_verify_deck){lw_random_bits(verify->seed, verify->n_drawn++), n};
}

/* A Feistel network of four rounds permutes the numbers of 2 x `half` bits. A result of n or more is permuted again. */
int64_t lw_verify_card(const struct lw_verify_deck *deck, int64_t i)
{
    int half = 1;
    while (half < 31 && (int64_t)1 << (2 * half) < deck->n)
        half++;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t number = (uint64_t)i;
    do {
        uint64_t left = number >> half, right = number & mask;
        for (uint64_t round = 0; round < 4; round++) {
            const uint64_t next = left ^ (lw_random_bits(deck->seed + round, right) & mask);
            left = right;
            right = next;
        }
        number = left << half | right;
    } while (number >= (uint64_t)deck->n);
    return (int64_t)number;
}

static int64_t pieces_of_channel(const struct lw_verify_pieces *pieces)
{
    return lw_divide_up(pieces->choice.n_rows, pieces->rows);
}

struct lw_verify_pieces lw_verify_choose(struct lw_verify *verify, const struct lw_verify_choice *choice)
{
    struct lw_verify_pieces pieces = {.choice = *choice};
    const int64_t span = lw_min64(choice->n_rows, lw_max64(1, choice->span)), all = lw_verify_all(&pieces);
    const int64_t n = lw_max64(1, lw_min64(lw_min64(verify->n_wanted, all), LW_VERIFY_PRODUCTS / lw_max64(1, choice->products)));
    const int64_t readable = lw_max64(1, LW_VERIFY_VALUES / lw_max64(1, choice->rows_read * verify->shape.columns));
    const int64_t useful = 4 * choice->n_channels * lw_divide_up(choice->n_rows, span);
    const bool is_alone = n <= lw_min64(readable, useful) && n < all && !verify->shape.is_image;
    pieces.rows = is_alone ? 1 : span;
    pieces.deck = lw_verify_shuffle(verify, choice->n_channels * pieces_of_channel(&pieces));
    pieces.n = lw_min64(pieces.deck.n, lw_max64(2, lw_min64(n, readable)));
    pieces.n_each = n == all ? pieces.rows * choice->in_row : lw_divide_up(n, pieces.n);
    return pieces;
}

int64_t lw_verify_all(const struct lw_verify_pieces *pieces)
{
    return pieces->choice.n_channels * pieces->choice.n_rows * pieces->choice.in_row;
}

/* Return the number of the i-th piece to take: the first and the last piece of random channels, then cards of the deck. The pieces
 * of a channel have consecutive numbers. */
static int64_t deal(struct lw_verify *verify, struct lw_verify_pieces *pieces, int64_t i)
{
    const int64_t n = pieces_of_channel(pieces);
    if (i < 2)
        pieces->ends[i] = lw_verify_draw(verify, pieces->choice.n_channels) * n + (i == 1 ? n - 1 : 0);
    if (i == 0 || (i == 1 && pieces->ends[1] != pieces->ends[0]))
        return pieces->ends[i];
    int64_t number;
    do
        number = lw_verify_card(&pieces->deck, pieces->n_dealt++);
    while (number == pieces->ends[0] || number == pieces->ends[1]);
    return number;
}

struct lw_verify_piece lw_verify_next(struct lw_verify *verify, struct lw_verify_pieces *pieces, int64_t i)
{
    const int64_t number = deal(verify, pieces, i), n = pieces_of_channel(pieces);
    struct lw_verify_piece piece = {.channel = number / n, .first = number % n * pieces->rows};
    piece.rows = lw_min64(pieces->rows, pieces->choice.n_rows - piece.first);
    piece.deck = lw_verify_shuffle(verify, piece.rows * pieces->choice.in_row);
    piece.n = lw_min64(pieces->n_each, piece.deck.n);
    return piece;
}

int64_t lw_verify_row_of(const struct lw_verify_pieces *pieces, const struct lw_verify_piece *piece, int64_t k, int64_t *rest)
{
    const int64_t element = lw_verify_card(&piece->deck, k);
    *rest = element % pieces->choice.in_row;
    return piece->first + element / pieces->choice.in_row;
}

const char *lw_verify_where(const struct lw_verify *verify, int64_t filter, int64_t channel, int64_t row, int64_t column,
                            char text[160])
{
    int used = 0;
    row -= verify->job.search.lead;
    if (filter >= 0 && (!verify->shape.is_image || verify->job.has_filter_dim))
        used = snprintf(text, 160, "%s %" PRId64 ", ", verify->job.ops->filter, filter);
    if (verify->shape.is_image)
        snprintf(text + used, 160 - (size_t)used, "image %" PRId64 ", row %" PRId64 ", column %" PRId64, channel, row, column);
    else
        snprintf(text + used, 160 - (size_t)used, "channel %" PRId64 ", index %" PRId64, channel, row);
    return text;
}

const char *lw_verify_number(double complex value, bool is_complex, char text[64])
{
    if (is_complex)
        snprintf(text, 64, "%.9g%+.9gi", creal(value), cimag(value));
    else
        snprintf(text, 64, "%.9g", creal(value));
    return text;
}
