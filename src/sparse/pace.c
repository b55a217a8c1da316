/* pace.c - how the samples of a sparse run are read: directly from the file or by the format's library, and across which gaps
 * reading continues. Nothing here changes a result. */
#include "sparse/state.h"

#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

static int64_t sample_bytes(const struct lw_sparse *run) { return (int64_t)lw_type_bytes(run->setup.job.op.input); }

static bool is_slow(const struct lw_sparse *run) { return run->setup.job.op.layout == LW_TIME_SLOW; }

bool lw_sparse_reads_each(const struct lw_sparse *run) { return run->is_raw && !is_slow(run); }

/* ---- where the samples lie, and how fast they come ------------------------------------------------------------------ */

int lw_sparse_locate(struct lw_sparse *run, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    struct lw_view_spec view = run->setup.job.view;
    view.max_axis = view.max_channels = 1;
    const int rc = lw_comm_agree(comm, lw_reader_select(run->setup.reader, &view, err), err);
    if (rc == LW_OK)
        run->is_raw = lw_comm_min(comm, run->setup.pool && lw_reader_locate(run->setup.reader, &run->place)) > 0;
    return rc;
}

int64_t lw_sparse_extent(const struct lw_sparse *run, int64_t n_channels)
{
    return (n_channels - 1) * run->place.channel_bytes + (int64_t)lw_type_bytes(run->place.type);
}

int lw_sparse_find_pace(struct lw_sparse *run, struct lw_error *err)
{
    const struct lw_bytes_part part = {
        .fd = run->place.fd, .offset = run->place.offset,
        .bytes = (run->setup.job.view.count - 1) * run->place.axis_bytes + lw_sparse_extent(run, run->piece_channels),
        .read_bytes = lw_sparse_extent(run, is_slow(run) ? run->group : 1),
    };
    run->pace = lw_bytes_assumed_pace;
    const struct lw_machine *const machine = run->setup.machine;
    if (machine) {
        run->pace.bytes_per_s = run->setup.rates.read / run->n_ranks;
        run->pace.reads_per_s = (double)machine->iops / (double)machine->ranks_per_node;
    }
    if (machine || !run->is_raw || run->plan.n_attempts == 0 || part.bytes < LW_BYTES_LEAST_TRIAL)
        return LW_OK;
    struct lw_error reason;
    int rc = lw_bytes_try(run->setup.pool, &part, &run->pace, &reason);
    if (rc)
        lw_fail(err, (enum lw_code)rc, "cannot read %.600s: %.200s", lw_dataset_name(&run->setup.job.inputs[0]).text,
                reason.message);
    rc = lw_comm_agree(run->setup.comm, rc, err);
    if (rc == LW_OK)
        lw_comm_broadcast(run->setup.comm, &run->pace, sizeof run->pace);
    return rc;
}

int64_t lw_sparse_gap(const struct lw_sparse *run)
{
    const int64_t width = is_slow(run) ? run->group : 1;
    return lw_bytes_gap(&run->pace) / (run->is_raw ? run->place.axis_bytes : width * sample_bytes(run));
}

/* ---- what is read --------------------------------------------------------------------------------------------------- */

struct lw_sparse_reads lw_sparse_count_reads(const struct lw_sparse *run, const struct lw_sfft_samples *samples)
{
    struct lw_sparse_reads reads = {.samples = samples->count * (run->own_end - run->own_begin)};
    const int64_t at_once = lw_sparse_reads_each(run) ? 1 : run->group;
    for (int64_t c = run->own_begin, width; c < run->own_end; c += width) {
        width = lw_min64(at_once, run->piece_channels - lw_sparse_input(run, c));
        reads.reads += samples->n_spans;
        reads.bytes += run->is_raw ? (samples->read - samples->n_spans) * run->place.axis_bytes +
                                         samples->n_spans * lw_sparse_extent(run, width)
                                   : samples->read * width * sample_bytes(run);
    }
    int64_t sums[] = {reads.samples, reads.reads, reads.bytes};
    lw_comm_sums(run->setup.comm, sums, 3);
    return (struct lw_sparse_reads){sums[0], sums[1], sums[2]};
}

const char *lw_sparse_share_text(int64_t samples, int64_t n, char text[LW_SPARSE_SHARE_TEXT])
{
    const double share = (double)samples / (double)n;
    snprintf(text, LW_SPARSE_SHARE_TEXT, share > 1 ? "%.3g times the signal" : "%.3g%% of the signal",
             share > 1 ? share : 100 * share);
    return text;
}

/* Description of the reads, for the log and the plan. */
struct words {
    char mean[24], all[24], gap[24];    /* mean bytes of a read, bytes of the input, longest gap that is read */
    char pace[160];                     /* "5.1 GB/s in sequence, 1.2 million reads a second (measured)" */
};

static struct words words_of(const struct lw_sparse *run, const struct lw_sparse_reads *reads)
{
    const struct lw_bytes_pace *const pace = &run->pace;
    const bool is_million = pace->reads_per_s >= 1e6;
    struct words words;
    lw_bytes_text(reads->bytes / lw_max64(reads->reads, 1), words.mean);
    lw_bytes_text(run->setup.job.view.count * run->piece_channels * sample_bytes(run), words.all);
    lw_bytes_text(lw_bytes_gap(pace), words.gap);
    snprintf(words.pace, sizeof words.pace, "%.3g GB/s in sequence, %.3g %s reads a second%s (%s)", pace->bytes_per_s / 1e9,
             pace->reads_per_s / (is_million ? 1e6 : 1e3), is_million ? "million" : "thousand",
             pace->is_ahead ? " with read-ahead" : "", pace->is_measured ? "measured" : "assumed");
    return words;
}

void lw_sparse_log_reads(const struct lw_sparse *run, const struct lw_sparse_reads *reads)
{
    const struct words words = words_of(run, reads);
    lw_log_info("reads %" PRId64 " samples in %" PRId64 " read%s of %s on average, instead of all %s: %s", reads->samples,
                reads->reads, reads->reads == 1 ? "" : "s", words.mean, words.all, words.pace);
    lw_log_detail("%s; gaps of up to %s are read rather than skipped",
                  run->is_raw ? "I/O threads read directly from the file" : "the file format's library reads",
                  words.gap);
}

double lw_sparse_read_seconds(const struct lw_sparse *run, int64_t n_reads, int64_t bytes)
{
    return lw_bytes_seconds(&run->pace, n_reads / run->n_ranks, bytes / run->n_ranks);
}

void lw_sparse_print_reads(const struct lw_sparse *run, const struct lw_sparse_reads *reads)
{
    const struct words words = words_of(run, reads);
    char read[24];
    printf("%-16s%s of %s in %" PRId64 " read%s of %s on average, %" PRId64 " channel%s at a time\n", "reads",
           lw_bytes_text(reads->bytes, read), words.all, reads->reads, reads->reads == 1 ? "" : "s", words.mean, run->group,
           run->group == 1 ? "" : "s");
    printf("%-16s%s%s; gaps of up to %s are read: about %.3g s\n", "storage", words.pace, run->n_ranks > 1 ? " by each rank" : "",
           words.gap, lw_sparse_read_seconds(run, reads->reads, reads->bytes));
}
