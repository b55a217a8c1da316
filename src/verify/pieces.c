#include "verify/pieces.h"

#include "base/integers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct lw_verify_pieces lw_verify_choose(const struct lw_verify *verify, int64_t length, int64_t span, int64_t products,
                                         int64_t rows_read)
{
    const int64_t n = max64(1, min64(verify->n_wanted, LW_VERIFY_PRODUCTS / max64(1, products)));
    const int64_t readable = LW_VERIFY_VALUES / max64(1, rows_read * verify->shape.columns);
    const int64_t useful = 4 * verify->shape.n_channels * divide_up(length, max64(1, span));
    struct lw_verify_pieces pieces = {.length = length, .n = max64(2, min64(n, min64(readable, useful)))};
    pieces.n_each = divide_up(n, pieces.n);
    pieces.rows = pieces.n_each == 1 && !verify->shape.is_image ? 1 : min64(length, max64(1, span));
    return pieces;
}

int64_t lw_verify_piece_at(struct lw_verify *verify, const struct lw_verify_pieces *pieces, int64_t i)
{
    const int64_t last = pieces->length - pieces->rows;
    return i == 0 ? 0 : i == 1 ? last : lw_verify_draw(verify, last + 1);
}

void lw_verify_place(const struct lw_verify *verify, const struct lw_product *product, int64_t filter, int64_t channel,
                     int64_t row, int64_t column, int64_t place[LW_MAX_DIMS])
{
    const struct lw_writer_dataset *const dataset = &product->dataset;
    memset(place, 0, LW_MAX_DIMS * sizeof *place);
    if (strcmp(dataset->dim_names[0], "filter") == 0)
        place[0] = filter;
    if (product->channel_dim >= 0)
        place[product->channel_dim] = channel;
    place[product->axis_dim] = row;
    if (verify->shape.is_image)
        place[product->axis_dim + 1] = column;
}

const char *lw_verify_where(const struct lw_verify *verify, int64_t filter, int64_t channel, int64_t row, int64_t column,
                            char text[160])
{
    int used = 0;
    if (verify->shape.is_image)
        snprintf(text, 160, "image %" PRId64 ", row %" PRId64 ", column %" PRId64, channel, row, column);
    else {
        if (filter >= 0)
            used = snprintf(text, 160, "filter %" PRId64 ", ", filter);
        snprintf(text + used, 160 - (size_t)used, "channel %" PRId64 ", index %" PRId64, channel, row);
    }
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
