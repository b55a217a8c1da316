#include "verify/spots.h"

#include "base/integers.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t n_taps(const struct lw_verify_shape *shape) { return shape->tap_rows * shape->tap_columns; }

/* ---- the series and what is made of it --------------------------------------------------------------------------- */

static double scale_of(const struct lw_verify *verify) { return verify->job.op.output_scale; }

static int64_t columns_of(const struct lw_verify *verify, const struct lw_product *product)
{
    return verify->shape.is_image ? product->dataset.dims[product->axis_dim + 1] : 1;
}

/* @param rest  filter and column */
static int check_element(struct lw_verify *verify, const struct lw_product *product, struct lw_verify_stored *stored,
                         const struct lw_verify_samples *samples, int64_t row, int64_t rest, struct lw_verify_row *report,
                         struct lw_error *err)
{
    const int64_t columns = columns_of(verify, product), column = rest % columns;
    const int filter = (int)(rest / columns);
    const struct lw_type type = product->dataset.type;
    char where[160], got_text[64], want_text[64];
    int64_t place[LW_MAX_DIMS];
    double complex got;
    lw_verify_place(verify, product, filter, samples->channel, row, column, place);
    const int rc = lw_verify_stored_read(stored, place, &got, err);
    if (rc)
        return rc;
    const struct lw_verify_truth truth = lw_verify_made(verify, samples, filter, row, column);
    const double unit = lw_scalar_saturates(type.scalar) && scale_of(verify) > 0 ? scale_of(verify) : 1;
    lw_verify_count(report, lw_verify_part(verify, type, scale_of(verify), got, &truth), "%s: %s instead of %s",
                    lw_verify_where(verify, filter, samples->channel, row, column, where),
                    lw_verify_number(got, type.is_complex, got_text),
                    truth.is_nan ? "not a number" : lw_verify_number(truth.value / unit, type.is_complex, want_text));
    return LW_OK;
}

/* The rows of y that the elements from `at` to `last` are made of. An element that is an output of y takes less than the one
 * beside it. */
static void find_outputs(const struct lw_verify_shape *shape, int64_t at, int64_t last, int64_t *first, int64_t *end)
{
    int64_t other_first, other_end;
    lw_verify_made_of(shape, at, first, &other_end);
    lw_verify_made_of(shape, lw_min64(at + 1, last), &other_first, &other_end);
    *first = lw_min64(*first, other_first);
    lw_verify_made_of(shape, last, &other_first, end);
    lw_verify_made_of(shape, lw_max64(last - 1, at), &other_first, &other_end);
    *end = lw_max64(*end, other_end);
}

static int check_piece(struct lw_verify *verify, const struct lw_product *product, struct lw_verify_stored *stored,
                       const struct lw_verify_pieces *pieces, const struct lw_verify_piece *piece, struct lw_verify_row *report,
                       struct lw_error *err)
{
    struct lw_verify_samples samples;
    int64_t first, end, rest;
    find_outputs(&verify->shape, piece->first, piece->first + piece->rows - 1, &first, &end);
    int rc = lw_verify_read(verify, piece->channel, first, end, &samples, err);
    for (int64_t k = 0; k < piece->n && rc == LW_OK; k++) {
        const int64_t row = lw_verify_row_of(pieces, piece, k, &rest);
        rc = check_element(verify, product, stored, &samples, row, rest, report, err);
    }
    lw_verify_samples_release(&samples);
    return rc;
}

static int check_pieces(struct lw_verify *verify, const struct lw_product *product, struct lw_verify_stored *stored,
                        struct lw_verify_row *report, struct lw_error *err)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const struct lw_reach reach = lw_post_reach(shape->post);
    const int64_t rows = lw_verify_piece_rows(shape), around = reach.before + reach.after + 8, rate = lw_post_rate(shape->post);
    const int64_t span = lw_max64(1, rows / lw_post_every(shape->post)) * rate;
    struct lw_verify_pieces pieces = lw_verify_choose(verify, &(struct lw_verify_choice){
        .n_channels = shape->n_channels,
        .n_rows = product->dataset.dims[product->axis_dim],
        .in_row = shape->n_filters * columns_of(verify, product),
        .span = span,
        .products = n_taps(shape) * (rate > 1 || reach.before > 0 ? 8 : 1),
        .rows_read = lw_verify_rows_read(shape, shape->is_image ? rows : 1),
    });
    report->n_all = lw_verify_all(&pieces);
    int rc = lw_verify_open_window(verify, rows + around + shape->tap_rows, err);
    for (int64_t i = 0; i < pieces.n && rc == LW_OK; i++) {
        const struct lw_verify_piece piece = lw_verify_next(verify, &pieces, i);
        rc = check_piece(verify, product, stored, &pieces, &piece, report, err);
    }
    return rc;
}

int lw_verify_series_product(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err)
{
    struct lw_verify_row *const report = lw_verify_add_row(verify, product->dataset.path);
    struct lw_verify_stored *stored = NULL;
    int rc = lw_verify_stored_open(verify, &product->dataset, &stored, err);
    if (rc == LW_OK)
        rc = check_pieces(verify, product, stored, report, err);
    lw_verify_stored_close(stored);
    return rc;
}

/* ---- the best filter --------------------------------------------------------------------------------------------- */

struct best {
    const struct lw_product *value, *filter;
    struct lw_verify_stored *values, *filters;
};

/* What outputs are compared by, times sigma. */
static double strength_of(const struct lw_verify *verify, double complex y)
{
    const enum lw_sign sign = verify->shape.search->sign;
    return sign == LW_SIGN_BOTH ? cabs(y) : sign == LW_SIGN_POSITIVE ? creal(y) : -creal(y);
}

/* By how much some other filter is certainly better than the one stored, as a part of what is allowed: above 1 it is. */
static double rival_part(const struct lw_verify *verify, const struct lw_verify_samples *samples, int64_t row, int stored,
                         const struct lw_verify_truth *its)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const double sigma = stored < 0 ? 0 : lw_verify_sigma(verify, samples->channel, stored, row);
    double worst = 0;
    for (int f = 0; f < shape->n_filters; f++) {
        const double other = lw_verify_sigma(verify, samples->channel, f, row);
        const struct lw_verify_truth y = lw_verify_series(verify, samples, f, row, 0);
        if (f == stored || y.is_nan || other == 0)
            continue;
        if (stored < 0)
            return NAN;
        if (sigma > 0) {
            const double excess = strength_of(verify, y.value) / other - strength_of(verify, its->value) / sigma,
                         allowed = 2 * (y.allowed / other + its->allowed / sigma);
            worst = excess > 0 ? fmax(worst, excess / (allowed + 4 * FLT_EPSILON * cabs(y.value) / other)) : worst;
        }
    }
    return worst;
}

static int check_best(struct lw_verify *verify, const struct best *best, const struct lw_verify_samples *samples, int64_t row,
                      struct lw_verify_row *report, struct lw_error *err)
{
    const struct lw_type type = best->value->dataset.type;
    int64_t place[LW_MAX_DIMS];
    double complex got, number;
    char where[160], text[64];
    int rc;
    lw_verify_place(verify, best->value, 0, samples->channel, row, 0, place);
    if ((rc = lw_verify_stored_read(best->values, place, &got, err)) ||
        (rc = lw_verify_stored_read(best->filters, place, &number, err)))
        return rc;
    const int filter = (int)creal(number);
    struct lw_verify_truth truth = {.is_nan = true};
    double part = NAN;
    if (filter >= -1 && filter < verify->shape.n_filters) {
        if (filter >= 0)
            truth = lw_verify_series(verify, samples, filter, row, 0);
        const double rival = rival_part(verify, samples, row, filter, &truth), its = lw_verify_part(verify, type, 0, got, &truth);
        part = isnan(rival) || isnan(its) || (filter >= 0 && truth.is_nan) ? NAN : fmax(rival, its);
    }
    lw_verify_count(report, part, "%s: filter %d with %s is not the best",
                    lw_verify_where(verify, -1, samples->channel, row, 0, where), filter,
                    lw_verify_number(got, type.is_complex, text));
    return LW_OK;
}

static int check_best_pieces(struct lw_verify *verify, const struct best *best, struct lw_verify_row *report, struct lw_error *err)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t rows = lw_verify_piece_rows(shape);
    struct lw_verify_pieces pieces = lw_verify_choose(verify, &(struct lw_verify_choice){
        .n_channels = shape->n_channels, .n_rows = shape->n_outputs, .in_row = 1, .span = rows,
        .products = n_taps(shape) * shape->n_filters, .rows_read = lw_verify_rows_read(shape, 1),
    });
    report->n_all = lw_verify_all(&pieces);
    int rc = lw_verify_open_window(verify, rows + shape->tap_rows, err);
    for (int64_t i = 0; i < pieces.n && rc == LW_OK; i++) {
        const struct lw_verify_piece piece = lw_verify_next(verify, &pieces, i);
        struct lw_verify_samples samples;
        int64_t rest;
        rc = lw_verify_read(verify, piece.channel, piece.first, piece.first + piece.rows, &samples, err);
        for (int64_t k = 0; k < piece.n && rc == LW_OK; k++)
            rc = check_best(verify, best, &samples, lw_verify_row_of(&pieces, &piece, k, &rest), report, err);
        lw_verify_samples_release(&samples);
    }
    return rc;
}

int lw_verify_best(struct lw_verify *verify, const struct lw_product *value, const struct lw_product *filter, struct lw_error *err)
{
    struct lw_verify_row *const report = lw_verify_add_row(verify, "/best");
    struct best best = {.value = value, .filter = filter};
    int rc;
    if ((rc = lw_verify_stored_open(verify, &value->dataset, &best.values, err)) == LW_OK &&
        (rc = lw_verify_stored_open(verify, &filter->dataset, &best.filters, err)) == LW_OK)
        rc = check_best_pieces(verify, &best, report, err);
    lw_verify_stored_close(best.values);
    lw_verify_stored_close(best.filters);
    return rc;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Of the outputs [first, end) of a filter. */
static struct lw_verify_truth block_of(const struct lw_verify *verify, const struct lw_verify_samples *samples, const char *what,
                                       int filter, int64_t first, int64_t end)
{
    const double n = (double)(end - first);
    struct lw_verify_truth block = {0};
    double most = 0, power = 0;
    double complex sum = 0;
    for (int64_t row = first; row < end; row++) {
        const struct lw_verify_truth y = lw_verify_series(verify, samples, filter, row, 0);
        const double size = cabs(y.value);
        block.is_nan |= y.is_nan;
        block.allowed = fmax(block.allowed, y.allowed);
        most = fmax(most, size);
        power += size * size;
        sum += y.value;
    }
    const double rms = sqrt(power / n), epsilon = verify->job.op.precision == LW_SINGLE ? FLT_EPSILON : DBL_EPSILON;
    block.allowed = block.allowed * 1.5 + 16 * epsilon * rms; /* the sums are rounded, too */
    block.value = strstr(what, "max") ? most : strstr(what, "rms") ? rms : sum / n;
    return block;
}

static int check_block(struct lw_verify *verify, const struct lw_product *product, struct lw_verify_stored *stored, int64_t channel,
                       int64_t number, int filter, struct lw_verify_row *report, struct lw_error *err)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t every = shape->search->every, first = number * every, end = lw_min64(first + every, shape->n_outputs);
    const struct lw_type type = product->dataset.type;
    struct lw_verify_samples samples;
    int64_t place[LW_MAX_DIMS];
    double complex got;
    char where[160], text[64], want[64];
    int rc;
    lw_verify_place(verify, product, filter, channel, number, 0, place);
    if ((rc = lw_verify_read(verify, channel, first, end, &samples, err)) == LW_OK &&
        (rc = lw_verify_stored_read(stored, place, &got, err)) == LW_OK) {
        const struct lw_verify_truth truth = block_of(verify, &samples, product->dataset.path, filter, first, end);
        lw_verify_count(report, lw_verify_part(verify, type, 0, got, &truth), "%s: %s instead of %s",
                        lw_verify_where(verify, filter, channel, number, 0, where), lw_verify_number(got, type.is_complex, text),
                        truth.is_nan ? "not a number" : lw_verify_number(truth.value, type.is_complex, want));
    }
    lw_verify_samples_release(&samples);
    return rc;
}

int lw_verify_blocks(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err)
{
    struct lw_verify_row *const report = lw_verify_add_row(verify, product->dataset.path);
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t every = lw_min64(shape->search->every, shape->n_outputs), length = product->dataset.dims[product->axis_dim];
    if (every > LW_VERIFY_PRODUCTS / n_taps(shape)) {
        snprintf(report->remark, sizeof report->remark, "blocks of %" PRId64 " outputs are too long to be summed", every);
        return LW_OK;
    }
    struct lw_verify_pieces pieces = lw_verify_choose(verify, &(struct lw_verify_choice){
        .n_channels = shape->n_channels, .n_rows = length, .in_row = shape->n_filters, .span = 1,
        .products = n_taps(shape) * every, .rows_read = lw_verify_rows_read(shape, every),
    });
    report->n_all = lw_verify_all(&pieces);
    struct lw_verify_stored *stored = NULL;
    int rc = lw_verify_stored_open(verify, &product->dataset, &stored, err);
    rc = rc ? rc : lw_verify_open_window(verify, every + shape->tap_rows, err);
    for (int64_t i = 0; i < pieces.n && rc == LW_OK; i++) {
        const struct lw_verify_piece piece = lw_verify_next(verify, &pieces, i);
        for (int64_t k = 0; k < piece.n && rc == LW_OK; k++) {
            int64_t filter;
            const int64_t number = lw_verify_row_of(&pieces, &piece, k, &filter);
            rc = check_block(verify, product, stored, piece.channel, number, (int)filter, report, err);
        }
    }
    lw_verify_stored_close(stored);
    return rc;
}

/* ---- filters, kernel --------------------------------------------------------------------------------------------- */

/* Taps are made again in double precision, by transforms where they are whitened. */
static const double same_taps = 1e-9, same_whitened_taps = 1e-6;

static double largest_of(const double *values, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(values[i]));
    return largest;
}

int lw_verify_given(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err)
{
    const struct lw_writer_dataset *const dataset = &product->dataset;
    struct lw_verify_row *const report = lw_verify_add_row(verify, dataset->path);
    const int parts = dataset->type.is_complex ? 2 : 1;
    struct lw_verify_stored *stored = NULL;
    int64_t n = 1;
    for (int d = 0; d < dataset->n_dims; d++)
        n *= dataset->dims[d];
    const double allowed = (verify->job.whitening ? same_whitened_taps : same_taps) * largest_of(product->values, n * parts);
    const struct lw_verify_deck deck = lw_verify_shuffle(verify, n);
    report->n_all = n;
    int rc = lw_verify_stored_open(verify, dataset, &stored, err);
    for (int64_t k = 0; k < lw_min64(verify->n_wanted, n) && rc == LW_OK; k++) {
        const int64_t i = lw_verify_card(&deck, k);
        const double *const value = product->values + i * parts;
        int64_t place[LW_MAX_DIMS], rest = i;
        double complex got;
        for (int d = dataset->n_dims - 1; d >= 0; rest /= dataset->dims[d], d--)
            place[d] = rest % dataset->dims[d];
        if ((rc = lw_verify_stored_read(stored, place, &got, err)))
            break;
        const double error = cabs(got - CMPLX(value[0], parts == 2 ? value[1] : 0));
        lw_verify_count(report, error > 0 ? error / allowed : error, "tap %" PRId64 ": %.9g instead of %.9g", i, creal(got),
                        value[0]);
    }
    lw_verify_stored_close(stored);
    return rc;
}
