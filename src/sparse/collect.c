/* collect.c - the samples that are read, and their way from the file to the ranks that need them. The format's library reads
 * them one after the other, the next read in progress while one is processed. Or the I/O threads read them in parallel,
 * directly from the file (run->is_raw). */
#include "sparse/state.h"

#include "base/integers.h"
#include "base/leave.h"
#include "io/bytes/transfer.h"

#include <inttypes.h>
#include <stdatomic.h>

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

/* Reads: the spans of a list (sfft/reading.h), or all samples of one channel, `length` at a time. */
struct reads {
    struct lw_sparse *run;
    const struct lw_sfft_samples *samples;          /* NULL: all samples, into run->whole */
    int64_t n_spans, length;
    int64_t channel, n_channels;
    double *values;                 /* [n_channels][samples->total](re, im) */

    /* Members for reading by threads, which take pieces from a shared counter. */
    int64_t width;                  /* channels of one read, all in one of the run->n_pieces pieces */
    int64_t piece_size;             /* spans of a piece of work */
    int64_t row_pieces;             /* pieces of work for the channels of one read */
    _Atomic int64_t n_not_finite;   /* non-finite samples of a whole channel, replaced by zero */
};

/* Samples of a read: sample i of channel c is at memory + i x axis_bytes + c x channel_bytes. */
struct block {
    const char *memory;
    int64_t axis_bytes, channel_bytes;
    int64_t n_channels;
};

static struct lw_sfft_span span_of(const struct reads *reads, int64_t s)
{
    if (reads->samples)
        return reads->samples->spans[s];
    const int64_t first = s * reads->length;
    return (struct lw_sfft_span){.first = first, .count = lw_min64(reads->length, reads->run->request.spec.n - first)};
}

static char *buffer_of(const struct lw_sparse *run, int64_t number)
{
    return run->buffers + number % run->n_buffers * run->buffer_bytes;
}

/* ---- samples as numbers --------------------------------------------------------------------------------------------- */

/* Convert a sample. Samples directly from the file may be packed or of another type; they get the values that the reader gives. */
static void take(const struct lw_sparse *run, const char *sample, double out[2])
{
    const struct lw_reader_place *const place = &run->place;
    const struct lw_type input = run->setup.job.op.input;
    const bool is_other = run->is_raw && (place->packing.is_on || place->type.scalar != input.scalar);
    const struct lw_type type = is_other ? place->type : input;
    for (int part = 0; part < 2; part++)
        out[part] = part == 0 || type.is_complex ? lw_type_number(type, sample, part) : 0;
    if (!is_other)
        return;
    lw_packing_undo(&place->packing, type, 1, out);
    for (int part = 0; part < 2; part++)
        out[part] = input.scalar == LW_FLOAT32 ? (double)(float)out[part] : out[part];
}

/* Copy the wanted samples of a span to their places. @param values  values of the block's first channel */
static void scatter(const struct reads *reads, const struct lw_sfft_span *span, const struct block *block, double *values)
{
    const struct lw_sfft_samples *const samples = reads->samples;
    for (int64_t i = span->begin; i < span->end; i++) {
        const struct lw_sfft_wanted *const wanted = &samples->wanted[i];
        const char *const sample = block->memory + (wanted->sample - span->first) * block->axis_bytes;
        for (int64_t c = 0; c < block->n_channels; c++)
            take(reads->run, sample + c * block->channel_bytes, values + 2 * (c * samples->total + wanted->place));
    }
}

/* Copy all samples of a span into run->whole. @return  number of non-finite samples, which become zero */
static int64_t convert(const struct lw_sparse *run, const struct lw_sfft_span *span, const struct block *block)
{
    const bool is_real = run->request.spec.is_real;
    int64_t n_not_finite = 0;
    for (int64_t i = 0; i < span->count; i++) {
        double x[2];
        take(run, block->memory + i * block->axis_bytes, x);
        if (!isfinite(x[0]) || !isfinite(x[1])) {
            n_not_finite++;
            x[0] = x[1] = 0;
        }
        double *const to = run->whole + (is_real ? span->first + i : 2 * (span->first + i));
        to[0] = x[0];
        if (!is_real)
            to[1] = x[1];
    }
    return n_not_finite;
}

int64_t lw_sparse_remove_not_finite(double *values, int64_t n_samples)
{
    int64_t found = 0;
    for (double *x = values; x < values + 2 * n_samples; x += 2) {
        if (isfinite(x[0]) && isfinite(x[1]))
            continue;
        found++;
        x[0] = x[1] = 0;
    }
    return found;
}

/* ---- reads by the format's library ---------------------------------------------------------------------------------- */

static int begin_read(const struct reads *reads, int64_t s, struct lw_error *err)
{
    const struct lw_sparse *const run = reads->run;
    const struct lw_sfft_span span = span_of(reads, s);
    const struct lw_slab slab = {
        .first = lw_sparse_first(run, reads->channel) + span.first, .count = span.count,
        .channel = lw_sparse_input(run, reads->channel), .n_channels = reads->n_channels,
        .into = buffer_of(run, s), .into_axis = span.count,
    };
    return lw_reader_begin(run->setup.reader, &slab, err);
}

static int read_by_library(const struct reads *reads, struct lw_error *err)
{
    struct lw_sparse *const run = reads->run;
    const int64_t bytes = (int64_t)lw_type_bytes(run->setup.job.op.input);
    const bool slow = run->setup.job.op.layout == LW_TIME_SLOW;
    int rc = reads->n_spans > 0 ? begin_read(reads, 0, err) : LW_OK;
    for (int64_t s = 0; rc == LW_OK && s < reads->n_spans; s++) {
        if ((rc = lw_reader_end(run->setup.reader, err)) || (s + 1 < reads->n_spans && (rc = begin_read(reads, s + 1, err))))
            break;
        const struct lw_sfft_span span = span_of(reads, s);
        const struct block block = {
            .memory = buffer_of(run, s), .axis_bytes = slow ? reads->n_channels * bytes : bytes,
            .channel_bytes = slow ? bytes : span.count * bytes, .n_channels = reads->n_channels,
        };
        if (reads->samples)
            scatter(reads, &span, &block, reads->values);
        else
            run->flaws.n_not_finite += convert(run, &span, &block);
        run->shown += (span.end - span.begin) * reads->n_channels * run->n_ranks;
        lw_progress_show(&run->report.progress, run->shown);
    }
    return rc;
}

/* ---- reads by the I/O threads --------------------------------------------------------------------------------------- */

/* Size of a piece of work: large enough to hide the cost of taking it, small enough that all threads end together. */
enum { PIECE_READS = 256, PIECES_OF_A_THREAD = 16, PIECE_BYTES = 4 << 20 };

/* Pieces of a thread in a batch, and batches at a time. The progress is shown after each batch; threads go on with the next. */
enum { BATCH_PIECES = 8, BATCHES = 2 };

struct part {
    struct lw_batch batch;
    struct reads *reads;
    int64_t first_piece;
};

static int64_t offset_of(const struct lw_sparse *run, int64_t sample, int64_t channel)
{
    const struct lw_reader_place *const place = &run->place;
    return place->offset + (lw_sparse_first(run, channel) + sample) * place->axis_bytes +
           lw_sparse_input(run, channel) * place->channel_bytes;
}

static int64_t bytes_of(const struct reads *reads, int64_t count)
{
    return (count - 1) * reads->run->place.axis_bytes + lw_sparse_extent(reads->run, reads->width);
}

static int read_span(const struct reads *reads, const struct lw_sfft_span *span, int64_t channel, char *into, struct lw_error *err)
{
    const struct lw_sparse *const run = reads->run;
    const int64_t start = run->setup.job.view.start + lw_sparse_first(run, channel) + span->first;
    struct lw_error reason;
    if (lw_bytes_read(run->place.fd, into, offset_of(run, span->first, channel), bytes_of(reads, span->count), &reason) == LW_OK)
        return LW_OK;
    return lw_fail(err, LW_EIO, "cannot read samples %" PRId64 "..%" PRId64 " of %.600s: %.120s", start, start + span->count - 1,
                   lw_dataset_name(&run->setup.job.inputs[0]).text, reason.message);
}

static int read_piece(void *context, int64_t number, int thread, struct lw_error *err)
{
    const struct part *const part = context;
    struct reads *const reads = part->reads;
    const struct lw_sparse *const run = reads->run;
    const int64_t piece = part->first_piece + number, row = piece / reads->row_pieces, channel = reads->channel + row;
    const int64_t begin = piece % reads->row_pieces * reads->piece_size;
    const int64_t end = lw_min64(begin + reads->piece_size, reads->n_spans);
    char *const buffer = buffer_of(run, thread);
    const struct block block = {buffer, run->place.axis_bytes, run->place.channel_bytes, reads->width};
    int64_t flaws = 0;
    int rc = lw_leave_check(err);
    const bool announces = rc == LW_OK && reads->samples && run->pace.is_ahead;
    for (int64_t s = begin; announces && s < end; s++) {
        const struct lw_sfft_span *const span = &reads->samples->spans[s];
        lw_bytes_announce(run->place.fd, offset_of(run, span->first, channel), bytes_of(reads, span->count));
    }
    for (int64_t s = begin; rc == LW_OK && s < end; s++) {
        const struct lw_sfft_span span = span_of(reads, s);
        rc = read_span(reads, &span, channel, buffer, err);
        if (rc == LW_OK && reads->samples)
            scatter(reads, &span, &block, reads->values + 2 * row * reads->samples->total);
        else if (rc == LW_OK)
            flaws += convert(run, &span, &block);
    }
    atomic_fetch_add(&reads->n_not_finite, flaws);
    return rc;
}

static int read_by_threads(struct reads *reads, struct lw_error *err)
{
    struct lw_sparse *const run = reads->run;
    struct lw_pool *const pool = run->setup.pool;
    reads->row_pieces = lw_divide_up(reads->n_spans, reads->piece_size);
    const int64_t n_pieces = reads->row_pieces * (reads->n_channels / reads->width);
    const int64_t n_shown = reads->samples ? reads->samples->count * reads->n_channels * run->n_ranks : 0;
    const int64_t size = (int64_t)lw_pool_threads(pool) * BATCH_PIECES, n_batches = lw_divide_up(n_pieces, size);
    struct part parts[BATCHES] = {{.reads = reads}, {.reads = reads}};
    int rc = LW_OK;
    for (int64_t b = 0; b <= n_batches; b++) {
        if (rc == LW_OK && b < n_batches) {
            struct part *const part = &parts[b % BATCHES];
            part->first_piece = b * size;
            part->batch = (struct lw_batch){
                .lane = LW_LANE_READ, .n_pieces = lw_min64(size, n_pieces - b * size), .work = read_piece, .context = part,
            };
            lw_pool_start(pool, &part->batch);
        }
        if (b == 0)
            continue;
        const int code = lw_pool_wait(pool, &parts[(b - 1) % BATCHES].batch, rc ? NULL : err);
        rc = rc ? rc : code;
        lw_progress_show(&run->report.progress, run->shown + (int64_t)((double)n_shown * (double)b / (double)n_batches));
    }
    run->shown += n_shown;
    run->flaws.n_not_finite += atomic_load(&reads->n_not_finite);
    return rc;
}

static int read_wanted(struct lw_sparse *run, const struct lw_sfft_samples *samples, int64_t channel, int64_t n_channels,
                       double *values, struct lw_error *err)
{
    const bool slow = run->setup.job.op.layout == LW_TIME_SLOW;
    struct reads reads = {
        .run = run, .samples = samples, .n_spans = samples->n_spans, .channel = channel, .n_channels = n_channels,
        .values = values, .width = slow ? n_channels : 1,
    };
    if (reads.n_spans == 0 || n_channels == 0)
        return LW_OK;
    if (!run->is_raw)
        return read_by_library(&reads, err);
    /* spans of a piece of work, limited by number and by bytes */
    const int64_t shares = (int64_t)lw_pool_threads(run->setup.pool) * PIECES_OF_A_THREAD;
    const int64_t mean_bytes = samples->read * run->place.axis_bytes / samples->n_spans;
    const int64_t most = lw_min64(PIECE_READS, PIECE_BYTES / lw_max64(mean_bytes, 1));
    reads.piece_size = lw_max64(1, lw_min64(most, samples->n_spans / shares));
    return read_by_threads(&reads, err);
}

/* Read all samples of a channel. Where other channels lie between them, I/O threads read or skip those, whichever is faster. */
static int read_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err)
{
    const bool is_close = !run->is_raw || run->place.axis_bytes <= lw_bytes_gap(&run->pace);
    struct reads reads = {
        .run = run, .length = is_close ? run->block : 1, .channel = channel, .n_channels = 1,
        .width = 1, .piece_size = is_close ? 1 : PIECE_READS,
    };
    reads.n_spans = lw_divide_up(run->request.spec.n, reads.length);
    return run->is_raw ? read_by_threads(&reads, err) : read_by_library(&reads, err);
}

/* ---- to the ranks ---------------------------------------------------------------------------------------------------- */

/* One non-finite sample makes every coefficient non-finite: --nan propagate would leave no spectrum. */
int lw_sparse_check_finite(struct lw_sparse *run, struct lw_error *err)
{
    const struct lw_job *const job = &run->setup.job;
    const int64_t found = lw_comm_sum(run->setup.comm, run->flaws.n_not_finite);
    if (found == 0 || job->op.nan == LW_NAN_ZERO)
        return LW_OK;
    const int rc = lw_fail(err, LW_EDATA, "%" PRId64 " of the samples read from %s are not finite, and a single one makes the "
                           "whole spectrum NaN; to count them as zero, give --nan zero", found,
                           lw_dataset_name(&job->inputs[0]).text);
    return lw_comm_agree(run->setup.comm, rc, err);
}

int lw_sparse_collect(struct lw_sparse *run, const struct lw_sfft_samples *samples, int64_t channel, int64_t n_channels,
                      double *values, struct lw_error *err)
{
    struct lw_comm *const comm = run->setup.comm;
    const double start = lw_now();
    const bool is_shared = run->n_ranks > 1 && !run->has_own_pieces;
    if (is_shared)                  /* zero the places of other ranks' samples; a single rank fills every place */
        memset(values, 0, (size_t)(n_channels * samples->total) * 2 * sizeof *values);
    const int rc = lw_comm_agree(comm, read_wanted(run, samples, channel, n_channels, values, err), err);
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
    const int rc = lw_comm_agree(run->setup.comm, channel >= 0 ? read_whole(run, channel, err) : LW_OK, err);
    run->report.seconds[LW_SPARSE_READ] += lw_now() - start;
    return rc ? rc : lw_sparse_check_finite(run, err);
}
