/* outcome.c - the outcomes of the channels: lines and figures. They are gathered from the channels' ranks and written to the result
 * as a table of lines and a table of channels (rows: job/line_rows.h). */
#include "sparse/state.h"

#include "base/integers.h"
#include "base/memory.h"
#include "job/line_rows.h"

int64_t lw_sparse_most_own(const struct lw_sparse *run)
{
    return run->has_own_pieces ? lw_divide_up(run->n_pieces, run->n_ranks) * run->piece_channels
                               : lw_divide_up(run->n_channels, run->n_ranks);
}

struct lw_sfft_line *lw_sparse_lines_of(const struct lw_sparse *run, int64_t channel)
{
    const int64_t place = run->has_own_pieces ? channel - run->own_begin : channel / run->n_ranks;
    return run->lines + place * run->request.spec.sparsity;
}

void lw_sparse_keep(struct lw_sparse *run, int64_t channel, const struct lw_sfft_result *result, struct lw_sparse_outcome outcome)
{
    outcome.lines = (double)result->n_lines;
    outcome.residual = result->residual;
    outcome.noise_power = result->noise_power;
    outcome.detection_limit = result->detection_limit;
    outcome.is_explained = result->is_explained;
    run->mine[channel] = outcome;
    struct lw_sfft_line *const lines = lw_sparse_lines_of(run, channel);
    if (result->lines != lines)
        memcpy(lines, result->lines, (size_t)result->n_lines * sizeof *lines);
}

void lw_sparse_share_outcomes(struct lw_sparse *run)
{
    const int64_t count = run->n_channels * (int64_t)(sizeof *run->all / sizeof(double));
    memcpy(run->all, run->mine, (size_t)run->n_channels * sizeof *run->all);
    lw_comm_collect(run->setup.comm, (double *)run->all, count, 0);
    lw_comm_broadcast(run->setup.comm, run->all, count * (int64_t)sizeof(double));
}

struct lw_sparse_totals lw_sparse_add_up(const struct lw_sparse *run)
{
    struct lw_sparse_totals totals = {0};
    for (int64_t c = 0; c < run->n_channels; c++) {
        const struct lw_sparse_outcome *const outcome = &run->all[c];
        const bool is_dense = outcome->is_dense > 0, is_refined = outcome->is_refined > 0;
        totals.lines += outcome->lines;
        totals.residual = fmax(totals.residual, outcome->residual);
        totals.detection_limit = fmax(totals.detection_limit, outcome->detection_limit);
        totals.samples = fmax(totals.samples, outcome->samples);
        totals.attempts = fmax(totals.attempts, outcome->attempts);
        if (outcome->is_explained == 0) {
            totals.unexplained++;
            totals.unexplained_residual = fmax(totals.unexplained_residual, outcome->residual);
            totals.unexplained_lines += outcome->lines;
        }
        totals.dense += is_dense;
        totals.off_grid += outcome->off_grid > 0;
        totals.refined += is_refined;
        totals.dense_refined += is_dense && is_refined;
    }
    return totals;
}

bool lw_sparse_is_tried(const struct lw_sparse *run, int64_t channel, int n_attempts)
{
    return run->all[channel].is_explained != 0 || run->all[channel].attempts >= n_attempts;
}

int64_t lw_sparse_next_untried(const struct lw_sparse *run, int64_t from, int n_attempts)
{
    for (int64_t c = from; c < run->n_channels; c++)
        if (lw_sparse_owner(run, c) == run->rank && !lw_sparse_is_tried(run, c, n_attempts))
            return c;
    return -1;
}

int64_t lw_sparse_next_unexplained(const struct lw_sparse *run, int64_t from)
{
    for (int64_t c = from; c < run->n_channels; c++)
        if (lw_sparse_owner(run, c) == run->rank && run->all[c].is_explained == 0 && run->all[c].is_dense == 0)
            return c;
    return -1;
}

/* ---- the tables ------------------------------------------------------------------------------------------------------ */

/* Number of a channel in the input. */
static int64_t input_channel(const struct lw_sparse *run, int64_t channel)
{
    const struct lw_range *const channels = &run->setup.job.view.channels;
    return channels->begin + lw_sparse_input(run, channel) * channels->step;
}

/* Frequency as numpy.fft.fftfreq (real signals: rfftfreq) gives it, plus the offset of a tone in bins. */
static double frequency(const struct lw_sparse *run, int64_t index, double offset)
{
    const struct lw_sfft_spec *const spec = &run->request.spec;
    const double rate = run->setup.job.inputs[0].axis.sample_rate_hz;
    const int64_t turns = !spec->is_real && 2 * index >= spec->n ? index - spec->n : index;
    return ((double)turns + offset) / (double)spec->n * (rate > 0 ? rate : 1);
}

/* Put a row at `to` in the result's format; with pieces, the piece number comes first. @return  place behind the row */
static char *put_row(const struct lw_sparse *run, int64_t channel, const void *row, size_t size, char *to)
{
    const int64_t piece = lw_sparse_piece(run, channel);
    if (run->request.has_pieces) {
        memcpy(to, &piece, sizeof piece);
        to += sizeof piece;
    }
    memcpy(to, row, size);
    return to + size;
}

static int64_t row_bytes(const struct lw_sparse *run, size_t size)
{
    return (int64_t)(size + (run->request.has_pieces ? sizeof(int64_t) : 0));
}

/* Most rows that are filled and written together. */
enum { BLOCK_ROWS = 1 << 16 };

int64_t lw_sparse_table_bytes(const struct lw_sparse *run)
{
    const int64_t lines = lw_min64(run->request.spec.sparsity, BLOCK_ROWS) * row_bytes(run, sizeof(struct lw_sfft_line_row));
    return lw_max64(lines, row_bytes(run, sizeof(struct lw_sfft_channel_row)));
}

int64_t lw_sparse_most_written(const struct lw_sparse *run)
{
    return run->n_channels * (run->request.spec.sparsity * row_bytes(run, sizeof(struct lw_sfft_line_row)) +
                              row_bytes(run, sizeof(struct lw_sfft_channel_row)));
}

/* ---- rows of the tables: blocks of lines, one for each channel; one block of channels, on rank 0 ---- */

static int64_t count_lines(const void *context, int64_t channel)
{
    const struct lw_sparse *const run = context;
    return (int64_t)run->all[channel].lines;
}

static bool has_lines(const void *context, int64_t channel)
{
    const struct lw_sparse *const run = context;
    return lw_sparse_owner(run, channel) == run->rank;
}

static void fill_lines(const void *context, int64_t channel, int64_t first, int64_t count, void *into)
{
    const struct lw_sparse *const run = context;
    const struct lw_sfft_line *const lines = lw_sparse_lines_of(run, channel);
    const int64_t all = (int64_t)run->mine[channel].lines;
    int64_t turn = 0;       /* lines are sorted by index, rows by frequency: negative frequencies come first */
    while (turn < all && frequency(run, lines[turn].frequency, 0) >= 0)
        turn++;
    char *to = into;
    for (int64_t i = 0; i < count; i++) {
        const struct lw_sfft_line *const line = &lines[(turn + first + i) % all];
        const struct lw_sfft_line_row row = {
            input_channel(run, channel), line->frequency, frequency(run, line->frequency, line->offset), line->re,
            line->im, hypot(line->re, line->im), (double)line->frequency + line->offset,
        };
        to = put_row(run, channel, &row, sizeof row, to);
    }
}

static int64_t count_channels(const void *context, int64_t unused)
{
    (void)unused;
    return ((const struct lw_sparse *)context)->n_channels;
}

static bool has_channels(const void *context, int64_t unused)
{
    (void)unused;
    return ((const struct lw_sparse *)context)->rank == 0;
}

static void fill_channels(const void *context, int64_t unused, int64_t first, int64_t count, void *into)
{
    const struct lw_sparse *const run = context;
    char *to = into;
    (void)unused;
    for (int64_t i = 0; i < count; i++) {
        const struct lw_sparse_outcome *const o = &run->all[first + i];
        const struct lw_sfft_channel_row row = {
            input_channel(run, first + i), (int64_t)o->lines, o->residual, o->noise_power, o->detection_limit,
            (int64_t)o->samples, (int64_t)o->attempts, (int64_t)o->is_dense, (int64_t)o->is_explained, (int64_t)o->off_grid,
            (int64_t)o->is_refined,
        };
        to = put_row(run, first + i, &row, sizeof row, to);
    }
}

static int write_tables(struct lw_sparse *run, void *buffer, struct lw_error *err)
{
    const int64_t bytes = lw_sparse_table_bytes(run);
    const struct lw_table_rows lines = {run->n_channels, run, count_lines, has_lines, fill_lines};
    const struct lw_table_rows channels = {1, run, count_channels, has_channels, fill_channels};
    const int rc = lw_writer_rows(run->result.writer, LW_SFFT_SPECTRUM, &lines, buffer,
                                bytes / row_bytes(run, sizeof(struct lw_sfft_line_row)), err);
    return rc ? rc : lw_writer_rows(run->result.writer, LW_SFFT_CHANNELS, &channels, buffer,
                                  bytes / row_bytes(run, sizeof(struct lw_sfft_channel_row)), err);
}

/* Add attributes with the worst figures of all channels. */
static void describe(const struct lw_sparse *run, struct lw_job *job)
{
    const struct lw_sparse_totals totals = lw_sparse_add_up(run);
    const bool has_rate = job->inputs[0].axis.sample_rate_hz > 0;
    if (totals.dense == run->n_channels)
        lw_job_note_text(job, "algorithm", "dense");
    else
        lw_job_note_text(job, "algorithm", totals.dense == 0 ? run->method->name : run->method->name_with_dense);
    lw_job_note_int(job, "is_explained", totals.unexplained == 0);
    lw_job_note_int(job, "channels_not_explained", totals.unexplained);
    lw_job_note_int(job, "channels_dense", totals.dense);
    lw_job_note_int(job, "channels_off_grid", totals.off_grid);
    lw_job_note_int(job, "is_refined", run->request.refines && totals.refined == run->n_channels);
    lw_job_note_int(job, "channels_refined", totals.refined);
    lw_job_note_real(job, "residual", totals.residual);
    lw_job_note_real(job, "detection_limit", totals.detection_limit);
    lw_job_note_int(job, "samples_touched", (int64_t)totals.samples);
    lw_job_note_int(job, "retries", totals.attempts > 1 ? (int64_t)totals.attempts - 1 : 0);
    lw_job_note_int(job, "n_samples", run->request.spec.n);
    lw_job_note_int(job, "first_input_sample", job->view.start);
    if (run->request.has_pieces) {
        lw_job_note_int(job, "n_pieces", run->n_pieces);
        lw_job_note_int(job, "hop", run->request.hop);
    }
    lw_job_note_text(job, "frequency_unit", has_rate ? "Hz" : "cycles per sample");
    lw_job_note_text(job, "scaling", "numpy.fft: X[f] = sum of x[t] exp(-2 pi i f t / n)");
    if (has_rate)
        lw_job_note_real(job, "sample_rate_hz", job->inputs[0].axis.sample_rate_hz);
    if (job->inputs[0].axis.unit[0])
        lw_job_note_text(job, "unit", job->inputs[0].axis.unit);
    if (run->method && run->method->note)
        run->method->note(run, job);
}

/* Create the result with tables of the final numbers of rows. */
static int create(struct lw_sparse *run, struct lw_error *err)
{
    struct lw_job *const job = &run->setup.job;
    int64_t rows = 0;
    for (int64_t c = 0; c < run->n_channels; c++)
        rows += (int64_t)run->all[c].lines;
    job->products[LW_SFFT_SPECTRUM].dataset.dims[0] = rows;
    job->products[LW_SFFT_CHANNELS].dataset.dims[0] = run->n_channels;
    describe(run, job);
    lw_result_release(&run->result, run->checkpoint.is_stored);
    return lw_result_create(&run->result, NULL, err);
}

int lw_sparse_write(struct lw_sparse *run, struct lw_error *err)
{
    const double start = lw_now();
    LW_FREED void *const buffer = lw_alloc((size_t)lw_sparse_table_bytes(run), "rows of the table", err);
    int rc = lw_comm_agree(run->setup.comm, buffer ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK)
        rc = create(run, err);
    if (rc == LW_OK)
        rc = write_tables(run, buffer, err);
    run->report.seconds[LW_SPARSE_WRITE] += lw_now() - start;
    return rc;
}
