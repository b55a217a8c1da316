/* lines.c - checks random rows of a sparse spectrum by sums over all samples of their channels. */
#include "verify/state.h"

#include "base/memory.h"
#include "sfft/number.h"
#include "sfft/sfft.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>

/* BLOCK samples are read at a time. Phases are computed once for TURN samples; each next TURN samples add one common factor. */
enum { BLOCK = 1 << 16, TURN = 256 };

static const char *const fraction_column[] = {"fractional_index", NULL};     /* a column that results of earlier versions lack */
enum { LEAST_COLUMNS = 4, MOST_COLUMNS = 6 };
static const char *const channel_columns[] = {"residual", "detection_limit", "dense"};

/* A channel of the result, or one piece of it (sfft --window). */
struct channel {
    int64_t number, piece; /* number of the channel in the view; number of the piece, or 0 */
    double residual, limit;
    bool is_dense;
    bool is_refined; /* a checked line is a tone between two indices */
    double largest; /* largest magnitude of the checked lines */
    double power;   /* sum of |x|^2 */
    double most;    /* largest |x| */
    int64_t n_missing; /* samples that are not finite, or lie in a gap */
};

struct line {
    int64_t channel, piece, index;
    double complex value;
    double offset;      /* frequency minus index, in steps of the index */
    long double re, im; /* sum over all samples at the line's frequency */
};

struct lines {
    struct lw_verify *verify;
    struct line *all; /* owned; [n], lines to check, sorted by channel */
    int64_t n;
    int64_t n_rows;   /* rows of the table */
    const char *columns[MOST_COLUMNS];
    int n_columns;
    bool has_fractions;
};

static const struct lw_sfft_request *request_of(const struct lw_verify *verify) { return verify->job.request; }

/* Return the number of samples of a transform. */
static int64_t samples_of(const struct lw_verify *verify) { return request_of(verify)->spec.n; }

/* ---- which lines ------------------------------------------------------------------------------------------------- */

static int look_at_table(struct lines *lines, struct lw_error *err)
{
    static const char *const least[LEAST_COLUMNS] = {"channel", "index", "re", "im"};
    LW_FREED struct lw_notes *notes = NULL;
    const int rc = lw_verify_read_notes(lines->verify, "/spectrum", &notes, err);
    lines->n_rows = rc == LW_OK ? notes->n_rows : 0;
    lines->has_fractions = rc == LW_OK && lw_notes_have_columns(notes, fraction_column);
    memcpy(lines->columns, least, sizeof least);
    lines->n_columns = LEAST_COLUMNS;
    if (lines->has_fractions)
        lines->columns[lines->n_columns++] = fraction_column[0];
    if (request_of(lines->verify)->has_pieces)
        lines->columns[lines->n_columns++] = "piece";
    return rc;
}

static int read_line(const struct lines *lines, int64_t number, struct line *line, struct lw_error *err)
{
    const struct lw_sfft_request *const request = request_of(lines->verify);
    const struct lw_rows rows = {.first = number, .count = 1, .columns = lines->columns, .n_columns = lines->n_columns};
    const struct lw_range *const channels = &lines->verify->job.view.channels;
    double values[MOST_COLUMNS] = {0};
    const int rc = lw_notes_read_rows(lw_verify_name(lines->verify, "/spectrum").text, &rows, values, err);
    if (rc)
        return rc;
    *line = (struct line){
        .channel = ((int64_t)values[0] - channels->begin) / channels->step,
        .piece = request->has_pieces ? (int64_t)values[lines->n_columns - 1] : 0, .index = (int64_t)values[1],
        .value = CMPLX(values[2], values[3]), .offset = lines->has_fractions ? values[LEAST_COLUMNS] - values[1] : 0,
    };
    if (line->channel < 0 || line->channel >= lines->verify->job.op.n_channels || line->index < 0 ||
        line->index >= request->spec.n || line->piece < 0 || line->piece >= request->n_pieces)
        return lw_fail(err, LW_EDATA, "row %" PRId64 " of /spectrum has channel %.0f, piece %.0f, index %.0f, which do not exist",
                       number, values[0], (double)line->piece, values[1]);
    return LW_OK;
}

/* Choose runs of rows. The lines of a run belong to few channels, so that few channels have to be read. */
static int choose_lines(struct lines *lines, struct lw_error *err)
{
    struct lw_verify *const verify = lines->verify;
    const int64_t n_rows = lines->n_rows;
    const int64_t readable = lw_max64(1, LW_VERIFY_PRODUCTS / samples_of(verify));
    const int64_t n = lw_min64(lw_min64(verify->n_wanted, n_rows), readable);
    const int64_t channels = verify->job.op.n_channels * request_of(verify)->n_pieces;
    const int64_t runs = lw_max64(1, lw_min64(lw_min64(n, channels), LW_VERIFY_VALUES / samples_of(verify)));
    if (!(lines->all = lw_alloc_array(n, sizeof *lines->all, "lines", err)))
        return LW_ESYSTEM;
    int rc = LW_OK;
    for (int64_t run = 0; run < runs && rc == LW_OK; run++) {
        const int64_t count = n / runs + (run < n % runs), part = n_rows / runs * run;
        const int64_t room = n_rows / runs + (run == runs - 1 ? n_rows % runs : 0), step = lw_max64(1, room / lw_max64(1, count));
        const int64_t first = part + lw_verify_draw(verify, lw_max64(1, room - (count - 1) * step));
        for (int64_t i = 0; i < count && rc == LW_OK; i++)
            rc = read_line(lines, lw_min64(n_rows - 1, first + i * step), &lines->all[lines->n++], err);
    }
    return rc;
}

static int read_channel(const struct lw_verify *verify, struct channel *channel, struct lw_error *err)
{
    const int64_t first = channel->piece * verify->job.op.n_channels + channel->number;
    const struct lw_rows rows = {.first = first, .count = 1, .columns = channel_columns, .n_columns = 3};
    double values[3] = {0};
    const int rc = lw_notes_read_rows(lw_verify_name(verify, "/channels").text, &rows, values, err);
    channel->residual = values[0];
    channel->limit = values[1];
    channel->is_dense = rc == LW_OK && values[2] != 0;
    return rc;
}

/* ---- sums over all samples of a channel -------------------------------------------------------------------------- */

/* Return exp(-2 pi i f t / n) at the line's frequency f = index + offset. The index's part of the phase is reduced exactly. */
static double complex line_phase(const struct line *line, int64_t t, int64_t n)
{
    const long double angle = 2 * acosl(-1) * (long double)lw_mod_multiply(line->index, t % n, n) / (long double)n;
    return CMPLX((double)cosl(angle), (double)-sinl(angle)) *
           (line->offset == 0 ? 1 : cexp(-2 * M_PI * I * line->offset * (double)t / (double)n));
}

static void add_block(const double complex *x, int64_t first, int64_t count, int64_t n, struct line *line)
{
    double complex turns[TURN];
    for (int64_t k = 0; k < TURN; k++)
        turns[k] = line_phase(line, k, n);
    for (int64_t i = 0; i < count; i += TURN) {
        const double complex base = line_phase(line, first + i, n);
        double complex sum = 0;
        for (int64_t k = 0; k < lw_min64(TURN, count - i); k++)
            sum += x[i + k] * turns[k];
        sum *= base;
        line->re += creal(sum);
        line->im += cimag(sum);
    }
}

/* Return the number of the view's samples, from `first` on, that lie in gaps between files. */
static int64_t in_gaps(const struct lw_verify *verify, int64_t first, int64_t count)
{
    const struct lw_gap *gaps;
    const int64_t n_gaps = lw_reader_gaps(verify->reader, &gaps), begin = verify->job.view.start + first, end = begin + count;
    int64_t n = 0;
    for (int64_t g = 0; g < n_gaps; g++)
        n += lw_max64(0, lw_min64(end, gaps[g].first + gaps[g].count) - lw_max64(begin, gaps[g].first));
    return n;
}

static int sum_channel(struct lines *lines, struct channel *channel, int64_t begin, int64_t end, void *raw, double complex *x,
                       struct lw_error *err)
{
    const int64_t n = samples_of(lines->verify), start = channel->piece * request_of(lines->verify)->hop;
    int rc = LW_OK;
    for (int64_t first = 0; first < n && rc == LW_OK; first += BLOCK) {
        const int64_t count = lw_min64(BLOCK, n - first);
        const struct lw_slab slab = {
            .first = start + first, .count = count, .channel = channel->number, .n_channels = 1, .into = raw, .into_axis = count,
        };
        if ((rc = lw_reader_read(lines->verify->reader, &slab, err)))
            break;
        for (int64_t i = 0; i < count; i++) {
            /* A dense transform used every sample, non-finite ones set to 0 by --nan zero only. A sparse one left them out. */
            const struct lw_op_spec *const op = &lines->verify->job.op;
            const struct lw_type type = op->input;
            const double re = lw_type_number(type, raw, type.is_complex ? 2 * i : i),
                         im = type.is_complex ? lw_type_number(type, raw, 2 * i + 1) : 0;
            const bool is_finite = isfinite(re) && isfinite(im);
            x[i] = is_finite || (channel->is_dense && op->nan != LW_NAN_ZERO) ? CMPLX(re, im) : 0;
            channel->n_missing += !is_finite;
            channel->power += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
            channel->most = fmax(channel->most, cabs(x[i]));
        }
        channel->n_missing += in_gaps(lines->verify, slab.first, count);
        for (int64_t l = begin; l < end; l++)
            add_block(x, first, count, n, &lines->all[l]);
    }
    return rc;
}

/* Return the allowed error of a line's value.
 *
 * Rounding errors of a dense transform are like white noise. Tones fitted to it leave coefficients up to the detection limit, and
 * between indices up to twice the limit. A sparse transform finds a value to within the noise, up to the channel's detection limit.
 * Its lines leak into each other by a fraction of the largest, a property of the windows. The sum at a tone's frequency contains
 * the residual. A sparse transform leaves missing samples out, as if its lines went on there; the sum takes them as zeros. */
static double allowed_of(const struct lw_verify *verify, const struct channel *channel)
{
    const bool is_double = verify->job.op.precision == LW_DOUBLE;
    const double e = is_double ? 1e-16 : 5e-8, leakage = is_double ? 1e-6 : 1e-3;
    const double dense = 6 * e * log2(2 * (double)samples_of(verify)) * sqrt(channel->power) + 1e-15 * channel->largest;
    const double places = 4 * DBL_EPSILON * (double)samples_of(verify) * channel->largest;      /* frequencies are rounded */
    const double left = channel->is_refined ? 6 * sqrt(channel->residual * channel->power) + places : 0;
    const double missing = (double)channel->n_missing * channel->most;
    if (channel->is_dense)
        return dense + left + 2 * channel->limit;
    return dense + channel->limit + leakage * channel->largest + left + missing;
}

/* ---- tones between the indices: each contributes to the sums of all other lines ------------------------------------- */

/* Return the mean of exp(2 pi i d t / n) over 0 <= t < n. */
static double complex kernel(double d, double n)
{
    const double whole = n * sin(M_PI * d / n);
    const double size = fabs(whole) < 1e-300 ? 1 : sin(M_PI * d) / whole;
    return size * cexp(M_PI * I * d * (n - 1) / n);
}

/* Subtract another line, and for a real signal its mirror image, from the sum of `line`. */
static void remove_other(const struct lines *lines, const struct line *other, struct line *line)
{
    const double n = (double)samples_of(lines->verify);
    const bool is_same = other->index == line->index && other->offset == line->offset;
    const double apart = (double)(other->index - line->index) + (other->offset - line->offset);
    const double mirror = -(double)(other->index + line->index) - (other->offset + line->offset);
    const bool has_mirror = lw_sfft_multiplicity(&request_of(lines->verify)->spec, other->index) == 2;
    const double complex seen = (is_same ? 0 : other->value * kernel(apart, n)) +
                                (has_mirror ? conj(other->value) * kernel(mirror, n) : 0);
    line->re -= creal(seen);
    line->im -= cimag(seen);
}

/* Return the number of a transform, by which the table's rows are sorted. */
static int64_t transform_of(const struct lines *lines, int64_t piece, int64_t channel)
{
    return piece * lines->verify->job.op.n_channels + channel;
}

/* Find the first row of a transform by bisection. */
static int find_rows(const struct lines *lines, int64_t transform, int64_t *first, struct lw_error *err)
{
    int64_t end = lines->n_rows;
    for (*first = 0; *first < end; ) {
        const int64_t middle = *first + (end - *first) / 2;
        struct line line;
        const int rc = read_line(lines, middle, &line, err);
        if (rc)
            return rc;
        if (transform_of(lines, line.piece, line.channel) < transform)
            *first = middle + 1;
        else
            end = middle;
    }
    return LW_OK;
}

/* If a checked line of a channel lies between two indices, subtract all other lines of the table from the channel's sums. */
static int remove_others(struct lines *lines, struct channel *channel, int64_t begin, int64_t end, struct lw_error *err)
{
    const int64_t transform = transform_of(lines, channel->piece, channel->number);
    for (int64_t l = begin; l < end; l++)
        channel->is_refined = channel->is_refined || lines->all[l].offset != 0;
    int64_t row;
    int rc = channel->is_refined ? find_rows(lines, transform, &row, err) : LW_OK;
    for (; rc == LW_OK && channel->is_refined && row < lines->n_rows; row++) {
        struct line other;
        if ((rc = read_line(lines, row, &other, err)) || transform_of(lines, other.piece, other.channel) != transform)
            break;
        for (int64_t l = begin; l < end; l++)
            remove_other(lines, &other, &lines->all[l]);
    }
    return rc;
}

static int check_channel(struct lines *lines, int64_t begin, int64_t end, void *raw, double complex *x,
                         struct lw_verify_row *report, struct lw_error *err)
{
    struct channel channel = {.number = lines->all[begin].channel, .piece = lines->all[begin].piece};
    int rc = read_channel(lines->verify, &channel, err);
    if (rc || (rc = sum_channel(lines, &channel, begin, end, raw, x, err)) ||
        (rc = remove_others(lines, &channel, begin, end, err)))
        return rc;
    for (int64_t l = begin; l < end; l++)
        channel.largest = fmax(channel.largest, hypot((double)lines->all[l].re, (double)lines->all[l].im));
    char piece[32] = "";
    if (request_of(lines->verify)->has_pieces)
        snprintf(piece, sizeof piece, "piece %" PRId64 ", ", channel.piece);
    const double allowed = allowed_of(lines->verify, &channel);
    for (const struct line *line = lines->all + begin; line < lines->all + end; line++) {
        const double complex truth = CMPLX((double)line->re, (double)line->im);
        const double error = cabs(line->value - truth);
        lw_verify_count(report, error > 0 ? error / allowed : error,
                        "%schannel %" PRId64 ", index %" PRId64 ": %.9g%+.9gi instead of %.9g%+.9gi", piece, channel.number,
                        line->index, creal(line->value), cimag(line->value), creal(truth), cimag(truth));
    }
    return LW_OK;
}

static int check_lines(struct lines *lines, struct lw_verify_row *report, struct lw_error *err)
{
    struct lw_view_spec view = lines->verify->job.view;
    view.max_axis = lw_min64(BLOCK, samples_of(lines->verify));
    view.max_channels = 1;
    view.chunks = LW_CHUNKS_IN_PLACE;
    LW_FREED void *const raw = lw_alloc_array(BLOCK, lw_type_bytes(lines->verify->job.op.input), "samples", err);
    LW_FREED double complex *const x = lw_alloc_array(BLOCK, sizeof *x, "samples", err);
    int rc = raw && x ? lw_reader_select(lines->verify->reader, &view, err) : LW_ESYSTEM;
    int64_t end = 0;
    for (int64_t begin = 0; begin < lines->n && rc == LW_OK; begin = end) {
        const struct line *const first = &lines->all[begin];
        for (end = begin + 1; end < lines->n && lines->all[end].channel == first->channel && lines->all[end].piece == first->piece;
             end++)
            ;
        rc = check_channel(lines, begin, end, raw, x, report, err);
    }
    return rc;
}

int lw_verify_lines(struct lw_verify *verify, struct lw_error *err)
{
    struct lw_verify_row *const report = lw_verify_add_row(verify, "/spectrum");
    struct lines lines = {.verify = verify};
    if (samples_of(verify) > LW_VERIFY_PRODUCTS) {
        snprintf(report->remark, sizeof report->remark, "channels of %" PRId64 " samples are too long to be summed",
                 samples_of(verify));
        return LW_OK;
    }
    int rc = look_at_table(&lines, err);
    report->n_all = lines.n_rows;
    if (rc == LW_OK && lines.n_rows > 0 && (rc = choose_lines(&lines, err)) == LW_OK)
        rc = check_lines(&lines, report, err);
    lw_free(lines.all);
    return rc;
}
