/* arrays.c - checks random elements of a result's arrays: post-processed y, best filters, blocks, filters and kernels. */
#include "verify/state.h"

#include "base/integers.h"
#include "base/text.h"
#include "io/read/box.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- stored values ------------------------------------------------------------------------------------------------- */

/* A dataset of the result, open for reading. */
struct stored {
    struct lw_dataset_info info;
    struct lw_boxes *samples;
    double unit;            /* value of a FITS integer's step, by which the reader scales; 0: read as stored */
};

/* Open a dataset of the result. LW_EDATA: its shape is not that of `dataset`. Close `stored` in any case. */
static int open_stored(const struct lw_verify *verify, const struct lw_writer_dataset *dataset, struct stored *stored,
                       struct lw_error *err)
{
    const struct lw_dataset_info *const info = &stored->info;
    char found[128] = "", wanted[128] = "";
    *stored = (struct stored){0};
    const int rc = lw_examine_dataset(lw_verify_name(verify, dataset->path).text, NULL, LW_USE_NUMBERS, &stored->info, err);
    if (rc)
        return rc;
    bool is_same = info->n_dims == dataset->n_dims && info->type.is_complex == dataset->type.is_complex;
    for (int d = 0; is_same && d < info->n_dims; d++)
        is_same = info->dims[d] == dataset->dims[d];
    if (!is_same)
        return lw_fail(err, LW_EDATA, "%.500s has %s %s values, but the result's configuration gives %s %s values",
                       lw_dataset_name(info).text, lw_append_dims(found, sizeof found, info->dims, info->n_dims),
                       info->type.is_complex ? "complex" : "real",
                       lw_append_dims(wanted, sizeof wanted, dataset->dims, dataset->n_dims),
                       dataset->type.is_complex ? "complex" : "real");
    if (verify->is_fits && lw_scalar_saturates(dataset->type.scalar))
        stored->unit = verify->job.op.output_scale;
    stored->info.packing.is_on = false;
    const struct lw_boxes_spec spec = {.info = &stored->info, .keeps_parts = true};
    return lw_boxes_open(&spec, &stored->samples, err);
}

static int read_stored(struct stored *stored, const int64_t *place, double complex *value, struct lw_error *err)
{
    struct lw_sample_box box = {.count = {1, 1, 1, 1}, .step = {1, 1, 1, 1}};
    double parts[2] = {0};
    memcpy(box.first, place, (size_t)stored->info.n_dims * sizeof *place);
    const int rc = lw_boxes_read(stored->samples, &box, 1, parts, err);
    *value = stored->unit > 0 ? nearbyint(parts[0] / stored->unit) : CMPLX(parts[0], parts[1]);
    return rc;
}

static int64_t n_taps(const struct lw_verify_shape *shape) { return shape->tap_rows * shape->tap_columns * shape->n_series; }

/* ---- elements, piece by piece -------------------------------------------------------------------------------------- */

struct check {
    struct lw_verify *verify;
    struct lw_verify_row *report;
    const struct lw_product *product, *filter;     /* the product to check; /best/filter beside /best/value, else NULL */
    struct stored values, filters;
    int64_t columns;                               /* columns of the product; 1: a series */
    bool is_of_blocks;                             /* elements are statistics of blocks of outputs */

    /* Find the rows [*first, *end) of y on which rows `at` to `last` of the product depend. */
    void (*find_outputs)(const struct lw_verify_shape *shape, int64_t at, int64_t last, int64_t *first, int64_t *end);
    /* Check an element. @param rest  filter x columns + column */
    int (*element)(struct check *check, const struct lw_verify_samples *samples, int64_t row, int64_t rest, struct lw_error *err);
};

/* Check the chosen elements. @param most_rows  most rows of y on which a piece depends */
static int check_pieces(struct check *check, const struct lw_verify_choice *choice, int64_t most_rows, struct lw_error *err)
{
    struct lw_verify *const verify = check->verify;
    struct lw_verify_pieces pieces = lw_verify_choose(verify, choice);
    check->report->n_all = lw_verify_all(&pieces);
    int rc = open_stored(verify, &check->product->dataset, &check->values, err);
    if (rc == LW_OK && check->filter)
        rc = open_stored(verify, &check->filter->dataset, &check->filters, err);
    rc = rc ? rc : lw_verify_open_window(verify, most_rows + verify->shape.reach, err);
    for (int64_t i = 0; i < pieces.n && rc == LW_OK; i++) {
        const struct lw_verify_piece piece = lw_verify_next(verify, &pieces, i);
        struct lw_verify_samples samples;
        int64_t first, end, rest;
        check->find_outputs(&verify->shape, piece.first, piece.first + piece.rows - 1, &first, &end);
        rc = lw_verify_read(verify, piece.channel, first, end, &samples, err);
        for (int64_t k = 0; k < piece.n && rc == LW_OK; k++) {
            const int64_t row = lw_verify_row_of(&pieces, &piece, k, &rest);
            rc = check->element(check, &samples, row, rest, err);
        }
        lw_verify_samples_release(&samples);
    }
    lw_boxes_close(check->values.samples);
    lw_boxes_close(check->filters.samples);
    return rc;
}

/* Read the stored value of an element. @param element  filter, channel, row and column */
static int read_element(const struct check *check, struct stored *stored, const int64_t element[4], double complex *value,
                        struct lw_error *err)
{
    enum { FILTER, CHANNEL, ROW, COLUMN };
    const struct lw_product *const product = check->product;
    int64_t place[LW_MAX_DIMS] = {0};
    if (product->has_filters)
        place[0] = element[FILTER];
    if (product->channel_dim >= 0)
        place[product->channel_dim] = element[CHANNEL];
    place[product->axis_dim] = element[ROW];
    if (check->verify->shape.is_image)
        place[product->axis_dim + 1] = element[COLUMN];
    return read_stored(stored, place, value, err);
}

/* ---- y and what post-processing makes of it -------------------------------------------------------------------------- */

static void find_block(const struct lw_verify_shape *shape, int64_t at, int64_t last, int64_t *first, int64_t *end)
{
    *first = at * shape->search->every;
    *end = lw_min64((last + 1) * shape->search->every, shape->n_outputs);
}

/* Compute an element of /blocks by the definition: the largest, rms or mean of a block of outputs. @param what  dataset's path */
static struct lw_verify_truth block_of(const struct lw_verify *verify, const struct lw_verify_samples *samples, const char *what,
                                       int filter, int64_t number)
{
    int64_t first, end;
    find_block(&verify->shape, number, number, &first, &end);
    const double n = (double)(end - first);
    struct lw_verify_truth block = {0};
    double most = 0, power = 0;
    double complex sum = 0;
    for (int64_t row = first; row < end; row++) {
        const struct lw_verify_truth y = lw_verify_series(verify, samples, filter, row, 0);
        const double size = cabs(y.value);
        block.is_nan |= y.is_nan;
        block.allowed = lw_verify_larger(block.allowed, y.allowed);
        most = lw_verify_larger(most, size);
        power += size * size;
        sum += y.value;
    }
    const double rms = sqrt(power / n), epsilon = verify->job.op.precision == LW_SINGLE ? FLT_EPSILON : DBL_EPSILON;
    block.allowed = block.allowed * 1.5 + 16 * epsilon * rms; /* the sums are rounded, too */
    block.value = strstr(what, "max") ? most : strstr(what, "rms") ? rms : sum / n;
    return block;
}

static int check_element(struct check *check, const struct lw_verify_samples *samples, int64_t row, int64_t rest,
                         struct lw_error *err)
{
    const struct lw_verify *const verify = check->verify;
    const int64_t element[] = {rest / check->columns, samples->channel, row, rest % check->columns};
    char where[160];
    double complex got;
    const int rc = read_element(check, &check->values, element, &got, err);
    if (rc)
        return rc;
    const struct lw_writer_dataset *const dataset = &check->product->dataset;
    const struct lw_verify_truth truth = check->is_of_blocks ? block_of(verify, samples, dataset->path, (int)element[0], row)
                                         : lw_verify_made(verify, samples, (int)element[0], row, element[3]);
    lw_verify_where(verify, element[0], samples->channel, row, element[3], where);
    lw_verify_compare(verify, dataset->type, check->is_of_blocks ? 0 : verify->job.op.output_scale, got, &truth, where,
                      check->report);
    return LW_OK;
}

/* Find the outputs for a piece. An element that coincides with an output needs fewer outputs than its neighbour: both are tried. */
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

int lw_verify_series_product(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    struct check check = {
        .verify = verify, .report = lw_verify_add_row(verify, product->dataset.path), .product = product,
        .columns = shape->is_image ? product->dataset.dims[product->axis_dim + 1] : 1,
        .find_outputs = find_outputs, .element = check_element,
    };
    const struct lw_reach reach = lw_post_reach(shape->post);
    const int64_t rows = lw_verify_piece_rows(shape), rate = lw_post_rate(shape->post);
    const struct lw_verify_choice choice = {
        .n_channels = shape->n_channels, .n_rows = product->dataset.dims[product->axis_dim],
        .in_row = shape->n_filters * check.columns, .span = lw_max64(1, rows / lw_post_every(shape->post)) * rate,
        .products = n_taps(shape) * (rate > 1 || reach.before > 0 ? 8 : 1),
        .rows_read = lw_verify_rows_read(shape, shape->is_image ? rows : 1),
    };
    return check_pieces(&check, &choice, rows + reach.before + reach.after + 8, err);
}

/* ---- the best filter --------------------------------------------------------------------------------------------- */

/* Return the strength by which outputs are compared, times sigma. */
static double strength_of(const struct lw_verify *verify, double complex y)
{
    const enum lw_sign sign = verify->shape.search->sign;
    return sign == LW_SIGN_BOTH ? cabs(y) : sign == LW_SIGN_POSITIVE ? creal(y) : -creal(y);
}

/* Return the most by which another filter exceeds the stored one, relative to the allowed error: above 1, the stored one is wrong.
 * NaN is wrong, too: no filter is stored although there is a best one, or values cannot be compared. */
static double rival_part(const struct lw_verify *verify, const struct lw_verify_samples *samples, int64_t row, int64_t column,
                         int stored, const struct lw_verify_truth *its)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const double sigma = stored < 0 ? 0 : lw_verify_sigma(verify, samples->channel, stored, row);
    double worst = 0;
    for (int f = 0; f < shape->n_filters; f++) {
        const double other = lw_verify_sigma(verify, samples->channel, f, row);
        const struct lw_verify_truth y = lw_verify_series(verify, samples, f, row, column);
        if (f == stored || y.is_nan || other == 0)
            continue;
        if (stored < 0)
            return NAN;
        if (sigma == 0)
            continue;
        const double excess = strength_of(verify, y.value) / other - strength_of(verify, its->value) / sigma,
                     allowed = 2 * (y.allowed / other + its->allowed / sigma);
        if (!(excess <= 0))
            worst = lw_verify_larger(worst, excess / (allowed + 4 * FLT_EPSILON * cabs(y.value) / other));
    }
    return worst;
}

static int check_best(struct check *check, const struct lw_verify_samples *samples, int64_t row, int64_t column,
                      struct lw_error *err)
{
    struct lw_verify *const verify = check->verify;
    const struct lw_type type = check->product->dataset.type;
    const int64_t element[] = {0, samples->channel, row, column};
    double complex got, number;
    char where[160], text[64];
    int rc;
    if ((rc = read_element(check, &check->values, element, &got, err)) ||
        (rc = read_element(check, &check->filters, element, &number, err)))
        return rc;
    const int filter = (int)creal(number);
    struct lw_verify_truth truth = {.is_nan = true};
    double part = NAN;
    if (filter >= -1 && filter < verify->shape.n_filters) {
        if (filter >= 0)
            truth = lw_verify_series(verify, samples, filter, row, column);
        const double rival = rival_part(verify, samples, row, column, filter, &truth);
        const double its = lw_verify_part(verify, type, 0, got, &truth);
        part = filter >= 0 && truth.is_nan ? NAN : lw_verify_larger(rival, its);
    }
    lw_verify_count(check->report, part, "%s: %s %d with the value %s is not the best",
                    lw_verify_where(verify, -1, samples->channel, row, column, where),
                    verify->job.ops->filter, filter,
                    lw_verify_number(got, type.is_complex, text));
    return LW_OK;
}

static void find_same(const struct lw_verify_shape *shape, int64_t at, int64_t last, int64_t *first, int64_t *end)
{
    (void)shape;
    *first = at;
    *end = last + 1;
}

int lw_verify_best(struct lw_verify *verify, const struct lw_product *value, const struct lw_product *filter, struct lw_error *err)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    struct check check = {
        .verify = verify, .report = lw_verify_add_row(verify, "/best"), .product = value, .filter = filter,
        .find_outputs = find_same, .element = check_best,
    };
    const int64_t rows = lw_verify_piece_rows(shape);
    const struct lw_verify_choice choice = {
        .n_channels = shape->n_channels, .n_rows = shape->n_outputs, .in_row = shape->output_columns, .span = rows,
        .products = n_taps(shape) * shape->n_filters, .rows_read = lw_verify_rows_read(shape, shape->is_image ? rows : 1),
    };
    return check_pieces(&check, &choice, rows, err);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

int lw_verify_blocks(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    struct check check = {
        .verify = verify, .report = lw_verify_add_row(verify, product->dataset.path), .product = product,
        .columns = 1, .is_of_blocks = true, .find_outputs = find_block, .element = check_element,
    };
    const int64_t every = lw_min64(shape->search->every, shape->n_outputs);
    if (every > LW_VERIFY_PRODUCTS / n_taps(shape)) {
        snprintf(check.report->remark, sizeof check.report->remark, "blocks of %" PRId64 " outputs are too long to be summed",
                 every);
        return LW_OK;
    }
    const struct lw_verify_choice choice = {
        .n_channels = shape->n_channels, .n_rows = product->dataset.dims[product->axis_dim], .in_row = shape->n_filters, .span = 1,
        .products = n_taps(shape) * every, .rows_read = lw_verify_rows_read(shape, every),
    };
    return check_pieces(&check, &choice, every, err);
}

/* ---- filters, kernel, maps --------------------------------------------------------------------------------------- */

/* Allowed differences, relative to the largest value. Taps are recomputed in double, whitened ones by transforms; maps of a mesh in
 * single precision. */
static const double same_taps = 1e-9, same_whitened_taps = 1e-6, same_map = 1e-6;

/* Return the value of a given product at a place; that of a map is made of its mesh. @param i  its number */
static double complex given_value(const struct lw_verify *verify, const struct lw_product *product, int64_t i, const int64_t *place)
{
    const struct lw_job *const job = &verify->job;
    const int row = product->axis_dim;
    if (product->mesh) {
        float value;
        const int64_t image = row > 0 ? place[0] : 0, first = job->window_start - job->view.start;
        lw_mesh_row(product->mesh, image, first + place[row], place[row + 1], 1, &value);
        return (double)value;
    }
    const double *const value = product->values + i * (product->dataset.type.is_complex ? 2 : 1);
    return CMPLX(value[0], product->dataset.type.is_complex ? value[1] : 0);
}

/* Return the largest size of a number among the given values, or among a mesh's nodes. */
static double largest_given(const struct lw_product *product, int64_t n)
{
    const struct lw_mesh *const mesh = product->mesh;
    double largest = 0;
    for (int64_t i = 0; mesh && i < lw_mesh_values(mesh); i++)
        largest = fmax(largest, fabs((double)mesh->tables[i]));
    for (int64_t i = 0; !mesh && i < n * (product->dataset.type.is_complex ? 2 : 1); i++)
        largest = fmax(largest, fabs(product->values[i]));
    return largest;
}

int lw_verify_given(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err)
{
    const struct lw_writer_dataset *const dataset = &product->dataset;
    struct lw_verify_row *const report = lw_verify_add_row(verify, dataset->path);
    struct stored stored;
    const int64_t n = lw_product64(dataset->dims, dataset->n_dims);
    const double same = product->mesh ? same_map : verify->job.whitening ? same_whitened_taps : same_taps;
    const double allowed = same * largest_given(product, n);
    const struct lw_verify_deck deck = lw_verify_shuffle(verify, n);
    report->n_all = n;
    int rc = open_stored(verify, dataset, &stored, err);
    for (int64_t k = 0; k < lw_min64(verify->n_wanted, n) && rc == LW_OK; k++) {
        const int64_t i = lw_verify_card(&deck, k);
        int64_t place[LW_MAX_DIMS], rest = i;
        double complex got;
        for (int d = dataset->n_dims - 1; d >= 0; rest /= dataset->dims[d], d--)
            place[d] = rest % dataset->dims[d];
        if ((rc = read_stored(&stored, place, &got, err)))
            break;
        const double complex value = given_value(verify, product, i, place);
        const double error = cabs(got - value);
        lw_verify_count(report, error > 0 ? error / allowed : error, "%s %" PRId64 ": %.9g instead of %.9g",
                        product->mesh ? "pixel" : "tap", i, creal(got), creal(value));
    }
    lw_boxes_close(stored.samples);
    return rc;
}
