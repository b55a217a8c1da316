/* peaks.c - checks random rows of a table of peaks: values, that no neighbour is stronger, and what is measured of sources. */
#include "verify/state.h"

#include "base/integers.h"
#include "base/memory.h"
#include "stream/search/sources.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>

/* Columns to check, in this order; COLUMN is for images only. */
enum { CHANNEL, FILTER, ROW, RE, IM, SNR, SIZE, COLUMN, N_COLUMNS };
static const char *const peak_columns[] = {"channel", "filter", "index", "re", "im", "snr", "cluster_size"};
static const char *const source_columns[] = {"image", "kernel", "row", "re", "im", "snr", "cluster_size", "column"};

/* Measured columns of sources, behind the others; the last NULL is for lw_notes_have_columns. */
enum { X, Y, FLUX, FLUX_ERROR, PEAK, FLAGS, N_MEASURED };
static const char *const measured_columns[] = {"x", "y", "flux", "flux_error", "peak", "flags", NULL};

struct peak {
    int64_t channel, row, column, cluster_size;
    int filter;
    double complex value;
    double snr;
};

struct table {
    struct lw_verify *verify;
    struct lw_name name;
    int64_t cluster; /* outputs on each side that are neighbours; -1: compare none */
    int64_t channels;               /* channels on each side that are compared */
    bool has_exclusions;
    struct lw_sources *sources; /* measures sources again; NULL: the table has none */
    struct lw_op_plan plan;     /* plan of a block that is the rows in verify->raw */
};

/* Convert a row to a peak. @return  false: the result has no such output */
static bool take_peak(const struct lw_verify *verify, const double row[N_COLUMNS], struct peak *peak)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t lead = verify->job.search.lead;
    const bool is_stack = shape->sums && verify->job.op.ols.stacks;         /* its channel is -1 */
    *peak = (struct peak){
        .channel = (int64_t)row[CHANNEL] + (is_stack ? 1 : 0), .filter = (int)row[FILTER], .row = lead + (int64_t)row[ROW],
        .column = shape->is_image ? (int64_t)row[COLUMN] : 0,
        .value = CMPLX(row[RE], row[IM]), .snr = row[SNR], .cluster_size = (int64_t)row[SIZE],
    };
    return peak->channel >= 0 && peak->channel < shape->n_channels && peak->filter >= 0 && peak->filter < shape->n_filters &&
           peak->row >= lead && peak->row < lead + verify->job.search.n_wanted && peak->column >= 0 &&
           peak->column < shape->output_columns;
}

/* ---- neighbours -------------------------------------------------------------------------------------------------- */

/* Findings on the neighbours of a peak, the peak included. */
struct neighbours {
    int64_t least, most; /* numbers of outputs that certainly, and that possibly, reach the threshold */
    double excess;       /* the most by which an output exceeds the peak, relative to the allowed error */
    int64_t channel, row, column; /* place of this output */
    int filter;
};

/* Compare an output of the samples' channel with the peak. @param its  allowed error of the peak's SNR */
static void compare(const struct table *table, const struct lw_verify_samples *samples, const struct peak *peak, int filter,
                    int64_t row, int64_t column, double its, struct neighbours *found)
{
    struct lw_verify *const verify = table->verify;
    const double sigma = lw_verify_sigma(verify, samples->channel, filter, row), threshold = verify->shape.search->threshold;
    if (sigma == 0 || (table->has_exclusions && lw_verify_is_excluded(verify, samples, filter, row, column)))
        return;
    const struct lw_verify_truth y = lw_verify_series(verify, samples, filter, row, column);
    const double snr = cabs(y.value) / sigma, allowed = y.allowed * 1.5 / sigma + 4 * FLT_EPSILON * snr;
    if (y.is_nan || !lw_sign_fits(verify->shape.search->sign, creal(y.value)))
        return;
    found->least += snr - allowed >= threshold;
    found->most += snr + allowed >= threshold;
    const double excess = snr > peak->snr ? (snr - peak->snr) / (allowed + its) : 0;
    if (excess > found->excess) {
        found->excess = excess;
        found->channel = samples->channel;
        found->row = row;
        found->column = column;
        found->filter = filter;
    }
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

/* Check a row's value and SNR, and that threshold, sign and mask allow a peak there. */
static void check_value(const struct table *table, const struct lw_verify_samples *samples, const struct peak *peak,
                        const struct lw_verify_truth *y, struct lw_verify_row *report)
{
    struct lw_verify *const verify = table->verify;
    const bool is_single = verify->job.op.precision == LW_SINGLE;
    const struct lw_type type = {.scalar = is_single ? LW_FLOAT32 : LW_FLOAT64,
                                 .is_complex = verify->job.op.input.is_complex || verify->shape.parts == 2};
    const bool has_errors = verify->shape.is_weighted;        /* then the imaginary part is the error of the flux */
    const double complex value = has_errors ? creal(peak->value) : peak->value;
    const double sigma = lw_verify_sigma(verify, peak->channel, peak->filter, peak->row), ratio = cabs(value) / sigma;
    const double epsilon = is_single ? 1e-6 : 1e-14;
    char where[160], got[64];
    lw_verify_where(verify, peak->filter, peak->channel, peak->row, peak->column, where);
    lw_verify_compare(verify, type, 0, value, y, where, report);
    if (has_errors && !(fabs(cimag(peak->value) - y->error) <= 1e-3 * y->error))
        lw_verify_count(report, NAN, "%s: an error of %.9g instead of %.9g", where, cimag(peak->value), y->error);
    if (!(fabs(peak->snr - ratio) <= epsilon * ratio))
        lw_verify_count(report, NAN, "%s: an SNR of %.9g instead of %.9g", where, peak->snr, ratio);
    if (!(peak->snr >= verify->shape.search->threshold * (1 - epsilon)))
        lw_verify_count(report, NAN, "%s: an SNR of %.9g is below the threshold %g", where, peak->snr,
                        verify->shape.search->threshold);
    if (!lw_sign_fits(verify->shape.search->sign, creal(peak->value)))
        lw_verify_count(report, NAN, "%s: %s is no peak by --sign %s", where, lw_verify_number(peak->value, type.is_complex, got),
                        lw_sign_text(verify->shape.search->sign));
    if (table->has_exclusions && lw_verify_is_excluded(verify, samples, peak->filter, peak->row, peak->column))
        lw_verify_count(report, NAN, "%s: the peak touches samples that do not count", where);
}

/* Compare outputs [first, end) of the samples' channel with the peak. */
static void compare_all(const struct table *table, const struct lw_verify_samples *samples, const struct peak *peak,
                        int64_t first, int64_t end, double its, struct neighbours *found)
{
    const struct lw_verify_shape *const shape = &table->verify->shape;
    const bool all = shape->search->clusters_filters;
    const int64_t reach = shape->is_image ? table->cluster : 0;
    const int64_t left = lw_max64(0, peak->column - reach), right = lw_min64(shape->output_columns - 1, peak->column + reach);
    for (int64_t row = first; row < end; row++)
        for (int64_t column = left; column <= right; column++)
            for (int f = all ? 0 : peak->filter; f < (all ? shape->n_filters : peak->filter + 1); f++)
                compare(table, samples, peak, f, row, column, its, found);
}

/* Check that no neighbour is stronger, and how many there are. Chains lead from neighbours to further crossings, so that clusters
 * over channels may be larger. @param samples  those of the peak's channel */
static int check_neighbours(const struct table *table, const struct lw_verify_samples *samples, const struct peak *peak,
                            int64_t first, int64_t end, const struct lw_verify_truth *y, struct lw_verify_row *report,
                            struct lw_error *err)
{
    struct lw_verify *const verify = table->verify;
    const int64_t reach = table->channels, n = verify->shape.n_channels;
    const double its =
        y->allowed * 1.5 / lw_verify_sigma(verify, peak->channel, peak->filter, peak->row) + 4 * FLT_EPSILON * peak->snr;
    struct neighbours found = {0};
    char where[160], other[160];
    int rc = LW_OK;
    for (int64_t c = lw_max64(0, peak->channel - reach); rc == LW_OK && c < lw_min64(n, peak->channel + reach + 1); c++) {
        struct lw_verify_samples others = {0};
        const bool is_own = c == peak->channel;
        if (is_own || (rc = lw_verify_read(verify, c, first, end, &others, err)) == LW_OK)
            compare_all(table, is_own ? samples : &others, peak, first, end, its, &found);
        lw_verify_samples_release(&others);
    }
    lw_verify_where(verify, peak->filter, peak->channel, peak->row, peak->column, where);
    if (found.excess > 1)
        lw_verify_count(report, found.excess, "%s: a stronger output is within reach, at %s", where,
                        lw_verify_where(verify, found.filter, found.channel, found.row, found.column, other));
    if (peak->cluster_size < found.least || (verify->shape.search->cluster_channels == 0 && peak->cluster_size > found.most))
        lw_verify_count(report, NAN, "%s: a cluster_size of %" PRId64 " instead of %" PRId64, where, peak->cluster_size,
                        found.most);
    return rc;
}

/* Measure a source again, from the rows of its image that have been read for it. Centroids end a step apart where sums were
 * rounded otherwise. */
static int check_source(const struct table *table, const struct lw_verify_samples *samples, const struct peak *peak, int64_t number,
                        struct lw_verify_row *report, struct lw_error *err)
{
    struct lw_verify *const verify = table->verify;
    const struct lw_rows rows = {.first = number, .count = 1, .columns = measured_columns, .n_columns = N_MEASURED};
    const struct lw_slot slot = {.input = verify->raw, .map = verify->raw_map,
                                 .block = {.first = samples->begin - verify->job.look_ahead, .channel = peak->channel}};
    const struct lw_peak measured = {.index = peak->row, .column = peak->column, .channel = (int32_t)peak->channel,
                                     .filter = peak->filter, .re = creal(peak->value), .im = cimag(peak->value), .snr = peak->snr};
    struct lw_source_row row;
    double got[N_MEASURED];
    char where[160];
    lw_search_fill_rows(&verify->job, &measured, 1, &row);
    lw_sources_measure(table->sources, &slot, &measured, 1, &row);
    const double truth[N_MEASURED] = {row.x, row.y, row.flux, row.flux_error, row.peak, (double)row.flags};
    const int rc = lw_notes_read_rows(table->name.text, &rows, got, err);
    lw_verify_where(verify, peak->filter, peak->channel, peak->row, peak->column, where);
    for (int i = 0; i < N_MEASURED && rc == LW_OK; i++)
        if (!(fabs(got[i] - truth[i]) <= (i <= Y ? 1e-3 : 1e-6 * fabs(truth[i]))) && !(isnan(got[i]) && isnan(truth[i])))
            lw_verify_count(report, NAN, "%s: %s %.9g instead of %.9g", where, measured_columns[i], got[i], truth[i]);
    return rc;
}

/* @param number  row of the table */
static int check_peak(const struct table *table, const struct peak *peak, int64_t number, struct lw_verify_row *report,
                      struct lw_error *err)
{
    struct lw_verify *const verify = table->verify;
    const int64_t reach = lw_max64(0, table->cluster);
    const int64_t first = lw_max64(0, peak->row - reach), end = lw_min64(verify->shape.n_outputs, peak->row + reach + 1);
    struct lw_verify_samples samples;
    int rc = lw_verify_read(verify, peak->channel, first, end, &samples, err);
    if (rc == LW_OK) {
        const struct lw_verify_truth y = lw_verify_series(verify, &samples, peak->filter, peak->row, peak->column);
        check_value(table, &samples, peak, &y, report);
        if (table->sources)     /* its rows are the last that were read */
            rc = check_source(table, &samples, peak, number, report, err);
        if (rc == LW_OK && table->cluster >= 0)
            rc = check_neighbours(table, &samples, peak, first, end, &y, report, err);
    }
    lw_verify_samples_release(&samples);
    return rc;
}

static int check_row(const struct table *table, int64_t number, struct lw_verify_row *report, struct lw_error *err)
{
    const struct lw_rows rows = {
        .first = number, .count = 1, .columns = table->verify->shape.is_image ? source_columns : peak_columns,
        .n_columns = table->verify->shape.is_image ? N_COLUMNS : N_COLUMNS - 1,
    };
    double values[N_COLUMNS];
    struct peak peak;
    const int rc = lw_notes_read_rows(table->name.text, &rows, values, err);
    if (rc)
        return rc;
    if (take_peak(table->verify, values, &peak))
        return check_peak(table, &peak, number, report, err);
    lw_verify_count(report, NAN, "row %" PRId64 " of the table belongs to no output of the result", number);
    return LW_OK;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

int lw_verify_peaks(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err)
{
    struct lw_verify_row *const report = lw_verify_add_row(verify, product->dataset.path);
    const struct lw_verify_shape *const shape = &verify->shape;
    const struct lw_search *const search = shape->search;
    const int64_t n_taps = shape->tap_rows * shape->tap_columns * shape->n_series;
    const double width = 2 * (double)search->cluster + 1, filters = search->clusters_filters ? shape->n_filters : 1;
    const double cost = width * (shape->is_image ? width : 1) * filters * (double)n_taps; /* products for a channel's neighbours */
    const int64_t affordable = cost < 1e18 ? LW_VERIFY_PRODUCTS / lw_max64(1, (int64_t)cost) : 0;
    const int64_t channels = lw_min64(search->cluster_channels, lw_max64(0, affordable - 1) / 2);
    const int64_t n_compared = affordable / (2 * channels + 1);
    struct table table = {
        .verify = verify, .name = lw_verify_name(verify, product->dataset.path), .channels = channels,
        .has_exclusions = verify->mask || verify->job.op.nan == LW_NAN_ZERO,
    };
    if (verify->is_fits) {
        snprintf(report->remark, sizeof report->remark, "tables in FITS files are not checked");
        return LW_OK;
    }
    struct lw_notes *notes;
    int rc = lw_verify_read_notes(verify, product->dataset.path, &notes, err);
    const int64_t n_rows = rc == LW_OK ? notes->n_rows : 0;
    const bool is_measured = n_rows > 0 && lw_notes_have_columns(notes, measured_columns);
    lw_free(notes);
    if (n_rows == 0)
        return rc;
    const int64_t reach = n_compared > 0 ? 2 * search->cluster + 1 : 1;
    const struct lw_verify_pieces pieces = lw_verify_choose(verify, &(struct lw_verify_choice){
        .n_channels = 1, .n_rows = n_rows, .in_row = 1, .span = 1, .products = n_taps,
        .rows_read = lw_verify_rows_read(shape, reach),
    });
    report->n_all = n_rows;
    if (n_compared < pieces.n || channels < search->cluster_channels)
        snprintf(report->remark, sizeof report->remark, "neighbours were compared for %" PRId64 " of them%s",
                 lw_min64(n_compared, pieces.n), channels < search->cluster_channels ? ", in fewer trials" : "");
    rc = lw_verify_open_window(verify, reach + shape->reach, err);
    if (rc == LW_OK && is_measured)
        rc = lw_sources_create(&verify->job, &table.plan, NULL, NULL, &table.sources, err);
    for (int64_t i = 0; i < pieces.n && rc == LW_OK; i++) {
        table.cluster = i < n_compared ? search->cluster : -1;
        rc = check_row(&table, lw_verify_card(&pieces.deck, i), report, err);
    }
    lw_sources_destroy(table.sources);
    return rc;
}
