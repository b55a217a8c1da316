/* collect.c - samples from the file to the rank that needs them. */
#include "run/sparse/collect.h"

#include "sfft/signal.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Reading so many bytes more costs no more than another read does. */
#define GAP_BYTES ((int64_t)256 << 10)

int64_t lw_sparse_gap(const struct lw_sparse *run)
{
    const struct lw_op_spec *const op = &run->setup.job.op;
    const int64_t width = op->layout == LW_TIME_SLOW ? run->group : 1;
    const int64_t gap = GAP_BYTES / (width * (int64_t)lw_type_bytes(op->input));
    return gap < run->block ? gap : run->block;
}

struct lw_sfft_samples_spec lw_sparse_wanted(const struct lw_sparse *run, const struct lw_sfft_layout *layout, int n_attempts)
{
    return (struct lw_sfft_samples_spec){
        .layout = layout, .first_stage = 0, .end_stage = lw_sfft_first_stage(layout, n_attempts),
        .rank = run->rank, .n_ranks = run->n_ranks, .gap = lw_sparse_gap(run), .longest = run->block,
    };
}

/* A channel's samples in the buffer, which holds n_channels of `count`. */
static struct lw_sfft_signal in_buffer(const struct lw_sparse *run, int64_t channel, int64_t n_channels, int64_t count)
{
    const struct lw_op_spec *const op = &run->setup.job.op;
    const bool slow = op->layout == LW_TIME_SLOW;
    const int64_t first = slow ? channel : channel * count;
    return (struct lw_sfft_signal){
        .type = op->input, .samples = (const char *)run->buffer + first * (int64_t)lw_type_bytes(op->input),
        .stride = slow ? n_channels : 1,
    };
}

static void take(struct lw_sparse *run, const struct lw_sfft_signal *signal, int64_t index, double out[2])
{
    lw_sfft_sample(signal, index, out);
    if (isfinite(out[0]) && isfinite(out[1]))
        return;
    run->flaws.n_not_finite++;
    out[0] = out[1] = 0;
}

/* One coefficient that a sample is not finite makes all of them so: there is no spectrum to propagate to. */
static int check_finite(struct lw_sparse *run, struct lw_error *err)
{
    const struct lw_job *const job = &run->setup.job;
    const int64_t found = lw_comm_sum(run->setup.comm, run->flaws.n_not_finite);
    if (found == 0 || job->op.nan == LW_NAN_ZERO)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "%" PRId64 " of the samples taken from %s:%s are not finite, and one alone leaves nothing "
                   "of a spectrum; to count them as zero, give --nan zero", found, job->inputs[0].file, job->inputs[0].path);
}

static int read_span(struct lw_sparse *run, const struct lw_sfft_span *span, int64_t channel, int64_t n_channels,
                     struct lw_error *err)
{
    const struct lw_slab slab = {
        .first = span ? span->first : 0, .count = span ? span->count : 0,
        .channel = span ? channel : 0, .n_channels = span ? n_channels : 0,
        .into = run->buffer, .into_axis = span ? span->count : 0,
    };
    return lw_reader_read(run->setup.reader, &slab, err);
}

static void scatter(struct lw_sparse *run, const struct lw_sfft_samples *samples, const struct lw_sfft_span *span,
                    int64_t n_channels, double *values)
{
    for (int64_t c = 0; c < n_channels; c++) {
        const struct lw_sfft_signal signal = in_buffer(run, c, n_channels, span->count);
        double *const row = values + c * samples->total * 2;
        for (int64_t i = span->begin; i < span->end; i++)
            take(run, &signal, samples->wanted[i].sample - span->first, row + 2 * samples->wanted[i].place);
    }
}

static int read_wanted(struct lw_sparse *run, const struct lw_sfft_samples *samples, int64_t channel,
                       int64_t n_channels, double *values, struct lw_error *err)
{
    const int64_t n_reads = lw_comm_max(run->setup.comm, samples->n_spans);
    int rc = LW_OK;
    for (int64_t r = 0; rc == LW_OK && r < n_reads; r++) {
        const struct lw_sfft_span *const span = r < samples->n_spans ? &samples->spans[r] : NULL;
        rc = lw_comm_agree(run->setup.comm, read_span(run, span, channel, n_channels, err), err);
        if (rc == LW_OK && span) {
            scatter(run, samples, span, n_channels, values);
            run->shown += (span->end - span->begin) * n_channels * run->n_ranks;
        }
        lw_progress_show(&run->report.progress, run->shown);
    }
    return rc;
}

int lw_sparse_collect(struct lw_sparse *run, const struct lw_sfft_layout *layout, int n_attempts, int64_t channel,
                      int64_t n_channels, double *values, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const struct lw_sfft_samples_spec spec = lw_sparse_wanted(run, layout, n_attempts);
    struct lw_sfft_samples samples;
    const double start = lw_now();
    int rc = lw_comm_agree(comm, lw_sfft_samples_create(&spec, &samples, err), err);
    if (rc == LW_OK) {
        memset(values, 0, (size_t)(n_channels * samples.total) * 2 * sizeof *values);
        rc = read_wanted(run, &samples, channel, n_channels, values, err);
    }
    if (rc == LW_OK)
        rc = lw_comm_agree(comm, check_finite(run, err), err);
    const double read = lw_now();
    for (int64_t c = 0; rc == LW_OK && run->n_ranks > 1 && c < n_channels; c++) {
        lw_comm_collect(comm, values + c * samples.total * 2, samples.total * 2, lw_sparse_owner(run, channel + c));
        run->bytes_combined += samples.total * 2 * (int64_t)sizeof *values;
    }
    run->report.seconds[LW_SPARSE_READ] += read - start;
    run->report.seconds[LW_SPARSE_COMBINE] += lw_now() - read;
    lw_sfft_samples_release(&samples);
    return rc;
}

int lw_sparse_collect_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err)
{
    const struct lw_sfft_spec *const spec = &run->request.spec;
    const double start = lw_now();
    int rc = LW_OK;
    for (int64_t first = 0; rc == LW_OK && first < spec->n; first += run->block) {
        const int64_t count = spec->n - first < run->block ? spec->n - first : run->block;
        const struct lw_sfft_span span = {.first = first, .count = count};
        rc = lw_comm_agree(run->setup.comm, read_span(run, channel >= 0 ? &span : NULL, channel, 1, err), err);
        const struct lw_sfft_signal signal = in_buffer(run, 0, 1, count);
        for (int64_t i = 0; rc == LW_OK && channel >= 0 && i < count; i++) {
            double x[2];
            take(run, &signal, i, x);
            double *const to = run->whole + (spec->is_real ? first + i : 2 * (first + i));
            to[0] = x[0];
            if (!spec->is_real)
                to[1] = x[1];
        }
    }
    run->report.seconds[LW_SPARSE_READ] += lw_now() - start;
    return rc ? rc : lw_comm_agree(run->setup.comm, check_finite(run, err), err);
}
