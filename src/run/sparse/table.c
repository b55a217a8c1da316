/* table.c - the result: a table of lines, and one of channels. */
#include "run/sparse/published/published.h"

#include "base/memory.h"
#include "run/provenance.h"

#include <assert.h>
#include <math.h>

enum { SPECTRUM, CHANNELS, N_TABLES };

struct line_row {
    int64_t channel, index;
    double frequency, re, im, magnitude;
};
static const struct lw_column line_columns[] = {
    {"channel", LW_COLUMN_INT}, {"index", LW_COLUMN_INT}, {"frequency", LW_COLUMN_REAL}, {"re", LW_COLUMN_REAL},
    {"im", LW_COLUMN_REAL}, {"magnitude", LW_COLUMN_REAL},
};

struct channel_row {
    int64_t channel, lines;
    double residual, noise_power, detection_limit;
    int64_t samples, attempts, is_dense, is_explained;
};
static const struct lw_column channel_columns[] = {
    {"channel", LW_COLUMN_INT}, {"lines", LW_COLUMN_INT}, {"residual", LW_COLUMN_REAL}, {"noise_power", LW_COLUMN_REAL},
    {"detection_limit", LW_COLUMN_REAL}, {"samples", LW_COLUMN_INT}, {"attempts", LW_COLUMN_INT}, {"dense", LW_COLUMN_INT},
    {"explained", LW_COLUMN_INT},
};

enum {
    LINE_COLUMNS = sizeof line_columns / sizeof *line_columns,
    CHANNEL_COLUMNS = sizeof channel_columns / sizeof *channel_columns,
};
static_assert(sizeof(struct line_row) == 8 * LINE_COLUMNS, "a row is as the file has it");
static_assert(sizeof(struct channel_row) == 8 * CHANNEL_COLUMNS, "a row is as the file has it");

/* Channel number in the input. */
static int64_t input_channel(const struct lw_sfft_flow *flow, int64_t channel)
{
    const struct lw_range *const channels = &flow->setup.job.view.channels;
    return channels->begin + channel * channels->step;
}

/* numpy.fft's fftfreq, or for real signals rfftfreq. */
static double frequency(const struct lw_sfft_flow *flow, int64_t index)
{
    const struct lw_sfft_spec *const spec = &flow->request.spec;
    const double rate = flow->setup.job.inputs[0].axis.sample_rate_hz;
    const int64_t turns = !spec->is_real && 2 * index >= spec->n ? index - spec->n : index;
    return (double)turns / (double)spec->n * (rate > 0 ? rate : 1);
}

/* Rows that are filled and written together. */
enum { BLOCK_ROWS = 1 << 16 };

int64_t lw_sfft_table_bytes(const struct lw_sfft_flow *flow)
{
    const int64_t rows = flow->request.spec.sparsity < BLOCK_ROWS ? flow->request.spec.sparsity : BLOCK_ROWS;
    return rows * (int64_t)sizeof(struct line_row);
}

/* Lines are in the order of their index, rows in that of their frequency: where it is negative comes first. */
static int64_t count_before_negative(const struct lw_sfft_flow *flow, int64_t channel)
{
    const struct lw_sfft_line *const lines = lw_sfft_lines_of(flow, channel);
    const int64_t all = (int64_t)flow->mine[channel].lines;
    int64_t count = 0;
    while (count < all && frequency(flow, lines[count].frequency) >= 0)
        count++;
    return count;
}

/* Rows [first, first + count) of a channel, of which lines[turn] is the first. */
static void fill_rows(const struct lw_sfft_flow *flow, int64_t channel, int64_t turn, int64_t first, int64_t count,
                      struct line_row *rows)
{
    const struct lw_sfft_line *const lines = lw_sfft_lines_of(flow, channel);
    const int64_t all = (int64_t)flow->mine[channel].lines;
    for (int64_t i = 0; i < count; i++) {
        const struct lw_sfft_line *const line = &lines[(turn + first + i) % all];
        rows[i] = (struct line_row){
            input_channel(flow, channel), line->frequency, frequency(flow, line->frequency), line->re, line->im,
            hypot(line->re, line->im),
        };
    }
}

/* The lines of one channel, from row `at` of the table on: its rank writes, the others take part. */
static int write_channel(struct lw_sfft_flow *flow, struct lw_writer *writer, int64_t channel, int64_t at,
                         struct line_row *rows, struct lw_error *err)
{
    const bool is_mine = lw_sfft_owner(flow, channel) == flow->rank;
    const int64_t all = (int64_t)flow->all[channel].lines;
    const int64_t turn = is_mine ? count_before_negative(flow, channel) : 0;
    int rc = LW_OK;
    for (int64_t first = 0; rc == LW_OK && first < all; first += BLOCK_ROWS) {
        const int64_t count = !is_mine ? 0 : all - first < BLOCK_ROWS ? all - first : BLOCK_ROWS;
        fill_rows(flow, channel, turn, first, count, rows);
        rc = lw_writer_write(writer, SPECTRUM, &(int64_t){count > 0 ? at + first : 0}, &count, rows, err);
    }
    return rc;
}

static int write_lines(struct lw_sfft_flow *flow, struct lw_writer *writer, struct line_row *rows, struct lw_error *err)
{
    int64_t at = 0;
    int rc = LW_OK;
    for (int64_t c = 0; rc == LW_OK && c < flow->n_channels; c++) {
        rc = write_channel(flow, writer, c, at, rows, err);
        at += (int64_t)flow->all[c].lines;
    }
    return rc;
}

static int write_channels(struct lw_sfft_flow *flow, struct lw_writer *writer, struct lw_error *err)
{
    int rc = LW_OK;
    for (int64_t c = 0; rc == LW_OK && c < flow->n_channels; c++) {
        const struct lw_sfft_outcome *const o = &flow->all[c];
        const struct channel_row row = {
            input_channel(flow, c), (int64_t)o->lines, o->residual, o->noise_power, o->detection_limit,
            (int64_t)o->samples, (int64_t)o->attempts, (int64_t)o->is_dense, (int64_t)o->is_explained,
        };
        const int64_t count = flow->rank == 0 ? 1 : 0;
        rc = lw_writer_write(writer, CHANNELS, &(int64_t){count * c}, &count, &row, err);
    }
    return rc;
}

/* The worst of all channels. */
static void describe(const struct lw_sfft_flow *flow, struct lw_job *job)
{
    double residual = 0, limit = 0, samples = 0, attempts = 0;
    int64_t dense = 0, unexplained = 0;
    for (int64_t c = 0; c < flow->n_channels; c++) {
        residual = fmax(residual, flow->all[c].residual);
        limit = fmax(limit, flow->all[c].detection_limit);
        samples = fmax(samples, flow->all[c].samples);
        attempts = fmax(attempts, flow->all[c].attempts);
        dense += flow->all[c].is_dense > 0;
        unexplained += flow->all[c].is_explained == 0;
    }
    const bool has_rate = job->inputs[0].axis.sample_rate_hz > 0;
    const bool is_voting = flow->request.algorithm == LW_SFFT_PUBLISHED;
    if (dense == flow->n_channels)
        lw_job_note_text(job, "algorithm", "dense");
    else if (dense == 0)
        lw_job_note_text(job, "algorithm", is_voting ? "sfft2" : "sparse");
    else
        lw_job_note_text(job, "algorithm", is_voting ? "sfft2 and dense" : "sparse and dense");
    lw_job_note_int(job, "is_explained", unexplained == 0);
    lw_job_note_int(job, "channels_not_explained", unexplained);
    lw_job_note_int(job, "channels_dense", dense);
    lw_job_note_real(job, "residual", residual);
    lw_job_note_real(job, "detection_limit", limit);
    lw_job_note_int(job, "samples_touched", (int64_t)samples);
    lw_job_note_int(job, "retries", attempts > 1 ? (int64_t)attempts - 1 : 0);
    lw_job_note_int(job, "n_samples", flow->request.spec.n);
    lw_job_note_int(job, "first_input_sample", job->view.start);
    lw_job_note_text(job, "frequency_unit", has_rate ? "Hz" : "cycles per sample");
    lw_job_note_text(job, "scaling", "numpy.fft: X[f] = sum of x[t] exp(-2 pi i f t / n)");
    if (has_rate)
        lw_job_note_real(job, "sample_rate_hz", job->inputs[0].axis.sample_rate_hz);
    if (job->inputs[0].axis.unit[0])
        lw_job_note_text(job, "unit", job->inputs[0].axis.unit);
    if (is_voting)
        lw_published_flow_note(flow, job);
}

static int create(struct lw_sfft_flow *flow, const struct lw_provenance *provenance, struct lw_writer **writer,
                  struct lw_error *err)
{
    struct lw_job *const job = &flow->setup.job;
    describe(flow, job);
    int64_t rows = 0;
    for (int64_t c = 0; c < flow->n_channels; c++)
        rows += (int64_t)flow->all[c].lines;
    const struct lw_writer_dataset tables[N_TABLES] = {
        [SPECTRUM] = {.path = "/spectrum", .n_dims = 1, .dims = {rows}, .columns = line_columns, .n_columns = LINE_COLUMNS,
                      .attributes = job->attributes, .n_attributes = job->n_attributes},
        [CHANNELS] = {.path = "/channels", .n_dims = 1, .dims = {flow->n_channels}, .columns = channel_columns,
                      .n_columns = CHANNEL_COLUMNS},
    };
    const struct lw_writer_spec spec = {
        .file = lw_options_text(flow->setup.options, "output"), .overwrite = lw_options_flag(flow->setup.options, "overwrite"),
        .attributes = provenance->attributes, .n_attributes = provenance->n_attributes,
        .datasets = tables, .n_datasets = N_TABLES,
    };
    return lw_writer_create(flow->setup.comm, &spec, writer, err);
}

int lw_sfft_write(struct lw_sfft_flow *flow, const char *command_line, struct lw_error *err)
{
    struct lw_comm *const comm = flow->setup.comm;
    struct lw_provenance provenance;
    struct lw_writer *writer = NULL;
    struct lw_attribute late[LW_PROVENANCE_END];
    char now[32];
    struct line_row *const rows = lw_alloc((size_t)lw_sfft_table_bytes(flow), "rows of the table", err);
    int rc = lw_provenance_collect(&flow->setup, command_line, &provenance, err);
    rc = lw_comm_agree(comm, rows ? rc : LW_ESYSTEM, err);
    if (rc == LW_OK) {
        lw_provenance_end(lw_comm_sum(comm, flow->not_finite), now, late);
        (void)((rc = create(flow, &provenance, &writer, err)) ||
               (rc = write_lines(flow, writer, rows, err)) ||
               (rc = write_channels(flow, writer, err)) ||
               (rc = lw_writer_finish(writer, late, LW_PROVENANCE_END, err)));
    }
    lw_writer_destroy(writer);
    lw_provenance_release(&provenance);
    lw_free(rows);
    return rc;
}
