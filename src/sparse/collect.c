#include "sparse/collect.h"

#include "sparse/fetch.h"
#include "sparse/pace.h"
#include "sparse/values.h"

#include <inttypes.h>
#include <string.h>

/* ---- the list ------------------------------------------------------------------------------------------------------- */

int lw_sparse_list(struct lw_sparse *run, const struct lw_sfft_layout *layout, int n_attempts, struct lw_sfft_samples *samples,
                   struct lw_error *err)
{
    const struct lw_sfft_samples_spec spec = {
        .layout = layout, .first_stage = 0, .end_stage = lw_sfft_first_stage(layout, n_attempts),
        .rank = run->has_own_pieces ? 0 : run->rank, .n_ranks = run->has_own_pieces ? 1 : run->n_ranks,
        .gap = lw_sparse_gap(run), .longest = run->block,
    };
    const double start = lw_now();
    const int rc = lw_sfft_samples_create(&spec, samples, err);
    run->report.seconds[LW_SPARSE_READ] += lw_now() - start;
    return rc;
}

/* ---- reads by the format's library: the next one is under way while one is worked on ---------------------------------- */

static char *buffer_of(const struct lw_sparse *run, int64_t read)
{
    return run->buffers + read % run->n_buffers * run->buffer_bytes;
}

static int begin_read(struct lw_sparse *run, int64_t read, const struct lw_sfft_span *span, int64_t channel, int64_t n_channels,
                      struct lw_error *err)
{
    const struct lw_slab slab = {
        .first = lw_sparse_first(run, channel) + span->first, .count = span->count,
        .channel = lw_sparse_input(run, channel), .n_channels = n_channels,
        .into = buffer_of(run, read), .into_axis = span->count,
    };
    return lw_reader_begin(run->setup.reader, &slab, err);
}

/* Channels as they lie in the buffer of a read, which holds n_channels of `count` samples. */
static struct lw_sparse_block block_of(const struct lw_sparse *run, int64_t read, int64_t count, int64_t n_channels)
{
    const int64_t bytes = (int64_t)lw_type_bytes(run->setup.job.op.input);
    const bool slow = run->setup.job.op.layout == LW_TIME_SLOW;
    return (struct lw_sparse_block){
        .memory = buffer_of(run, read), .axis_bytes = slow ? n_channels * bytes : bytes,
        .channel_bytes = slow ? bytes : count * bytes, .n_channels = n_channels,
    };
}

static int read_wanted(struct lw_sparse *run, const struct lw_sfft_samples *samples, int64_t channel, int64_t n_channels,
                       double *values, struct lw_error *err)
{
    const struct lw_sfft_span *const spans = samples->spans;
    const int64_t n_spans = n_channels > 0 ? samples->n_spans : 0;
    int rc = n_spans > 0 ? begin_read(run, 0, &spans[0], channel, n_channels, err) : LW_OK;
    for (int64_t s = 0; rc == LW_OK && s < n_spans; s++) {
        if ((rc = lw_reader_end(run->setup.reader, err)) ||
            (s + 1 < n_spans && (rc = begin_read(run, s + 1, &spans[s + 1], channel, n_channels, err))))
            break;
        const struct lw_sparse_block block = block_of(run, s, spans[s].count, n_channels);
        lw_sparse_scatter(run, samples, &spans[s], &block, values);
        run->shown += (spans[s].end - spans[s].begin) * n_channels * run->n_ranks;
        lw_progress_show(&run->report.progress, run->shown);
    }
    return rc;
}

static struct lw_sfft_span block_span(const struct lw_sparse *run, int64_t block)
{
    const int64_t first = block * run->block, rest = run->request.spec.n - first;
    return (struct lw_sfft_span){.first = first, .count = rest < run->block ? rest : run->block};
}

static int read_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err)
{
    const int64_t n_blocks = (run->request.spec.n - 1) / run->block + 1;
    struct lw_sfft_span next = block_span(run, 0);
    int rc = begin_read(run, 0, &next, channel, 1, err);
    for (int64_t b = 0; rc == LW_OK && b < n_blocks; b++) {
        const struct lw_sfft_span span = next;
        next = block_span(run, b + 1);
        if ((rc = lw_reader_end(run->setup.reader, err)) ||
            (b + 1 < n_blocks && (rc = begin_read(run, b + 1, &next, channel, 1, err))))
            break;
        const struct lw_sparse_block block = block_of(run, b, span.count, 1);
        run->flaws.n_not_finite += lw_sparse_convert(run, &block, span.first, span.count);
    }
    return rc;
}

/* ---- to the ranks ---------------------------------------------------------------------------------------------------- */

/* One coefficient that a sample is not finite makes all of them so: there is no spectrum to propagate to. */
int lw_sparse_check_finite(struct lw_sparse *run, struct lw_error *err)
{
    const struct lw_job *const job = &run->setup.job;
    const int64_t found = lw_comm_sum(run->setup.comm, run->flaws.n_not_finite);
    if (found == 0 || job->op.nan == LW_NAN_ZERO)
        return LW_OK;
    const int rc = lw_fail(err, LW_EDATA, "%" PRId64 " of the samples taken from %s are not finite, and one alone leaves "
                           "nothing of a spectrum; to count them as zero, give --nan zero", found,
                           lw_dataset_name(&job->inputs[0]).text);
    return lw_comm_agree(run->setup.comm, rc, err);
}

int lw_sparse_collect(struct lw_sparse *run, const struct lw_sfft_samples *samples, int64_t channel, int64_t n_channels,
                      double *values, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const double start = lw_now();
    const bool is_shared = run->n_ranks > 1 && !run->has_own_pieces;
    if (is_shared)                  /* the places of other ranks' samples; alone, a rank fills every place */
        memset(values, 0, (size_t)(n_channels * samples->total) * 2 * sizeof *values);
    int rc = run->is_raw ? lw_sparse_fetch(run, samples, channel, n_channels, values, err)
                         : read_wanted(run, samples, channel, n_channels, values, err);
    rc = lw_comm_agree(comm, rc, err);
    const double read = lw_now();
    for (int64_t c = 0; rc == LW_OK && is_shared && c < n_channels; c++) {
        lw_comm_collect(comm, values + c * samples->total * 2, samples->total * 2, lw_sparse_owner(run, channel + c));
        run->bytes_combined += samples->total * 2 * (int64_t)sizeof *values;
    }
    run->report.seconds[LW_SPARSE_READ] += read - start;
    run->report.seconds[LW_SPARSE_COMBINE] += lw_now() - read;
    return rc;
}

int lw_sparse_collect_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err)
{
    const double start = lw_now();
    int rc = LW_OK;
    if (channel >= 0)
        rc = run->is_raw ? lw_sparse_fetch_whole(run, channel, err) : read_whole(run, channel, err);
    rc = lw_comm_agree(run->setup.comm, rc, err);
    run->report.seconds[LW_SPARSE_READ] += lw_now() - start;
    return rc ? rc : lw_sparse_check_finite(run, err);
}
