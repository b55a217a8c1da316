#include "run/sparse/table.h"

#include "base/memory.h"
#include "jobs/sfft.h"
#include "run/sparse/outcome.h"

#include <math.h>

/* Channel number in the input. */
static int64_t input_channel(const struct lw_sparse *run, int64_t channel)
{
    const struct lw_range *const channels = &run->setup.job.view.channels;
    return channels->begin + channel * channels->step;
}

/* numpy.fft's fftfreq, or for real signals rfftfreq. */
static double frequency(const struct lw_sparse *run, int64_t index)
{
    const struct lw_sfft_spec *const spec = &run->request.spec;
    const double rate = run->setup.job.inputs[0].axis.sample_rate_hz;
    const int64_t turns = !spec->is_real && 2 * index >= spec->n ? index - spec->n : index;
    return (double)turns / (double)spec->n * (rate > 0 ? rate : 1);
}

/* Rows that are filled and written together. */
enum { BLOCK_ROWS = 1 << 16 };

int64_t lw_sparse_table_bytes(const struct lw_sparse *run)
{
    const int64_t rows = run->request.spec.sparsity < BLOCK_ROWS ? run->request.spec.sparsity : BLOCK_ROWS;
    return rows * (int64_t)sizeof(struct lw_sfft_line_row);
}

/* Lines are in the order of their index, rows in that of their frequency: where it is negative comes first. */
static int64_t count_before_negative(const struct lw_sparse *run, int64_t channel)
{
    const struct lw_sfft_line *const lines = lw_sparse_lines_of(run, channel);
    const int64_t all = (int64_t)run->mine[channel].lines;
    int64_t count = 0;
    while (count < all && frequency(run, lines[count].frequency) >= 0)
        count++;
    return count;
}

/* Rows [first, first + count) of a channel, of which lines[turn] is the first. */
static void fill_rows(const struct lw_sparse *run, int64_t channel, int64_t turn, int64_t first, int64_t count,
                      struct lw_sfft_line_row *rows)
{
    const struct lw_sfft_line *const lines = lw_sparse_lines_of(run, channel);
    const int64_t all = (int64_t)run->mine[channel].lines;
    for (int64_t i = 0; i < count; i++) {
        const struct lw_sfft_line *const line = &lines[(turn + first + i) % all];
        rows[i] = (struct lw_sfft_line_row){
            input_channel(run, channel), line->frequency, frequency(run, line->frequency), line->re, line->im,
            hypot(line->re, line->im),
        };
    }
}

/* The lines of one channel, from row `at` of the table on: its rank writes, the others take part. */
static int write_channel(struct lw_sparse *run, struct lw_writer *writer, int64_t channel, int64_t at,
                         struct lw_sfft_line_row *rows, struct lw_error *err)
{
    const bool is_mine = lw_sparse_owner(run, channel) == run->rank;
    const int64_t all = (int64_t)run->all[channel].lines;
    const int64_t turn = is_mine ? count_before_negative(run, channel) : 0;
    int rc = LW_OK;
    for (int64_t first = 0; rc == LW_OK && first < all; first += BLOCK_ROWS) {
        const int64_t count = !is_mine ? 0 : all - first < BLOCK_ROWS ? all - first : BLOCK_ROWS;
        fill_rows(run, channel, turn, first, count, rows);
        rc = lw_writer_write(writer, LW_SFFT_SPECTRUM, &(int64_t){count > 0 ? at + first : 0}, &count, rows, err);
    }
    return rc;
}

static int write_lines(struct lw_sparse *run, struct lw_writer *writer, struct lw_sfft_line_row *rows, struct lw_error *err)
{
    int64_t at = 0;
    int rc = LW_OK;
    for (int64_t c = 0; rc == LW_OK && c < run->n_channels; c++) {
        rc = write_channel(run, writer, c, at, rows, err);
        at += (int64_t)run->all[c].lines;
    }
    return rc;
}

static int write_channels(struct lw_sparse *run, struct lw_writer *writer, struct lw_error *err)
{
    int rc = LW_OK;
    for (int64_t c = 0; rc == LW_OK && c < run->n_channels; c++) {
        const struct lw_sparse_outcome *const o = &run->all[c];
        const struct lw_sfft_channel_row row = {
            input_channel(run, c), (int64_t)o->lines, o->residual, o->noise_power, o->detection_limit,
            (int64_t)o->samples, (int64_t)o->attempts, (int64_t)o->is_dense, (int64_t)o->is_explained,
        };
        const int64_t count = run->rank == 0 ? 1 : 0;
        rc = lw_writer_write(writer, LW_SFFT_CHANNELS, &(int64_t){count * c}, &count, &row, err);
    }
    return rc;
}

/* The worst of all channels. */
static void describe(const struct lw_sparse *run, struct lw_job *job)
{
    double residual = 0, limit = 0, samples = 0, attempts = 0;
    int64_t dense = 0, unexplained = 0;
    for (int64_t c = 0; c < run->n_channels; c++) {
        residual = fmax(residual, run->all[c].residual);
        limit = fmax(limit, run->all[c].detection_limit);
        samples = fmax(samples, run->all[c].samples);
        attempts = fmax(attempts, run->all[c].attempts);
        dense += run->all[c].is_dense > 0;
        unexplained += run->all[c].is_explained == 0;
    }
    const bool has_rate = job->inputs[0].axis.sample_rate_hz > 0;
    if (dense == run->n_channels)
        lw_job_note_text(job, "algorithm", "dense");
    else
        lw_job_note_text(job, "algorithm", dense == 0 ? run->method->name : run->method->name_with_dense);
    lw_job_note_int(job, "is_explained", unexplained == 0);
    lw_job_note_int(job, "channels_not_explained", unexplained);
    lw_job_note_int(job, "channels_dense", dense);
    lw_job_note_real(job, "residual", residual);
    lw_job_note_real(job, "detection_limit", limit);
    lw_job_note_int(job, "samples_touched", (int64_t)samples);
    lw_job_note_int(job, "retries", attempts > 1 ? (int64_t)attempts - 1 : 0);
    lw_job_note_int(job, "n_samples", run->request.spec.n);
    lw_job_note_int(job, "first_input_sample", job->view.start);
    lw_job_note_text(job, "frequency_unit", has_rate ? "Hz" : "cycles per sample");
    lw_job_note_text(job, "scaling", "numpy.fft: X[f] = sum of x[t] exp(-2 pi i f t / n)");
    if (has_rate)
        lw_job_note_real(job, "sample_rate_hz", job->inputs[0].axis.sample_rate_hz);
    if (job->inputs[0].axis.unit[0])
        lw_job_note_text(job, "unit", job->inputs[0].axis.unit);
    if (run->method && run->method->note)
        run->method->note(run, job);
}

/* The tables have as many rows as there are now. */
static int create(struct lw_sparse *run, struct lw_error *err)
{
    struct lw_job *const job = &run->setup.job;
    int64_t rows = 0;
    for (int64_t c = 0; c < run->n_channels; c++)
        rows += (int64_t)run->all[c].lines;
    job->products[LW_SFFT_SPECTRUM].dataset.dims[0] = rows;
    job->products[LW_SFFT_CHANNELS].dataset.dims[0] = run->n_channels;
    describe(run, job);
    return lw_result_create(&run->result, err);
}

int lw_sparse_write(struct lw_sparse *run, struct lw_error *err)
{
    const double start = lw_now();
    struct lw_sfft_line_row *const rows = lw_alloc((size_t)lw_sparse_table_bytes(run), "rows of the table", err);
    int rc = lw_comm_agree(run->setup.comm, rows ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK)
        (void)((rc = create(run, err)) ||
               (rc = write_lines(run, run->result.writer, rows, err)) ||
               (rc = write_channels(run, run->result.writer, err)));
    lw_free(rows);
    run->report.seconds[LW_SPARSE_WRITE] += lw_now() - start;
    return rc;
}
