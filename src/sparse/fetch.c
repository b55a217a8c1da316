#include "sparse/fetch.h"

#include "base/integers.h"
#include "base/leave.h"
#include "io/bytes/transfer.h"
#include "sparse/pace.h"
#include "sparse/values.h"

#include <inttypes.h>
#include <stdatomic.h>

/* A piece is so much that handing it out costs nothing beside it, and so little that all threads end together. */
enum { PIECE_READS = 256, PIECES_OF_A_THREAD = 16, PIECE_BYTES = 4 << 20 };

/* Pieces of a thread in a batch. Two batches are under way, so that progress can be shown while no thread waits. */
enum { BATCH_PIECES = 8, BATCHES = 2 };

struct fetch {
    struct lw_sparse *run;
    const struct lw_sfft_samples *samples;      /* of whole channels: NULL */
    int64_t channel;
    int64_t width;                  /* channels in one read, all of one piece */
    int64_t row_pieces;             /* in the channels of one read, of which there are several where time is fast */
    int64_t piece_size;             /* spans, or samples */
    int64_t read_samples;           /* of whole channels: in one read */
    double *values;
    _Atomic int64_t n_not_finite;
};

struct part {
    struct lw_batch batch;
    struct fetch *fetch;
    lw_piece_fn *work;
    int64_t first_piece;
};

/* ---- pieces --------------------------------------------------------------------------------------------------------- */

static int do_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct part *const part = context;
    const int rc = lw_leave_check(err);
    return rc ? rc : part->work(part->fetch, part->first_piece + piece, thread, err);
}

static void start_part(struct lw_pool *pool, struct part *part, int64_t first_piece, int64_t n_pieces)
{
    part->first_piece = first_piece;
    part->batch = (struct lw_batch){.lane = LW_LANE_READ, .n_pieces = n_pieces, .work = do_piece, .context = part};
    lw_pool_start(pool, &part->batch);
}

/* @param n_shown  samples of the progress in all pieces together */
static int run_pieces(struct fetch *fetch, lw_piece_fn *work, int64_t n_pieces, int64_t n_shown, struct lw_error *err)
{
    struct lw_sparse *const run = fetch->run;
    struct lw_pool *const pool = run->setup.pool;
    const int64_t size = (int64_t)lw_pool_threads(pool) * BATCH_PIECES, n_batches = lw_divide_up(n_pieces, size);
    struct part parts[BATCHES] = {{.fetch = fetch, .work = work}, {.fetch = fetch, .work = work}};
    int rc = LW_OK;
    for (int64_t b = 0; b <= n_batches; b++) {
        if (rc == LW_OK && b < n_batches)
            start_part(pool, &parts[b % BATCHES], b * size, lw_min64(size, n_pieces - b * size));
        if (b == 0)
            continue;
        const int code = lw_pool_wait(pool, &parts[(b - 1) % BATCHES].batch, rc ? NULL : err);
        rc = rc ? rc : code;
        lw_progress_show(&run->report.progress, run->shown + (int64_t)((double)n_shown * (double)b / (double)n_batches));
    }
    run->shown += n_shown;
    return rc;
}

static char *buffer_of(const struct fetch *fetch, int thread)
{
    return fetch->run->buffers + thread * fetch->run->buffer_bytes;
}

/* ---- reads ---------------------------------------------------------------------------------------------------------- */

static int64_t offset_of(const struct fetch *fetch, int64_t sample, int64_t channel)
{
    const struct lw_reader_place *const place = &fetch->run->place;
    const struct lw_sparse *const run = fetch->run;
    return place->offset + (lw_sparse_first(run, channel) + sample) * place->axis_bytes +
           lw_sparse_input(run, channel) * place->channel_bytes;
}

static int64_t bytes_of(const struct fetch *fetch, int64_t count)
{
    return (count - 1) * fetch->run->place.axis_bytes + lw_sparse_extent(fetch->run, fetch->width);
}

static int read_samples(const struct fetch *fetch, int64_t first, int64_t count, int64_t channel, char *into, struct lw_error *err)
{
    const struct lw_sparse *const run = fetch->run;
    const struct lw_dataset_info *const input = &run->setup.job.inputs[0];
    const int64_t start = run->setup.job.view.start + lw_sparse_first(run, channel);
    struct lw_error reason;
    if (lw_bytes_read(run->place.fd, into, offset_of(fetch, first, channel), bytes_of(fetch, count), &reason) == LW_OK)
        return LW_OK;
    return lw_fail(err, LW_EIO, "cannot read samples %" PRId64 "..%" PRId64 " of %.600s: %.120s", start + first,
                   start + first + count - 1, lw_dataset_name(input).text, reason.message);
}

/* ---- wanted samples ------------------------------------------------------------------------------------------------- */

static struct lw_sparse_block block_of(const struct fetch *fetch, const char *memory)
{
    const struct lw_reader_place *const place = &fetch->run->place;
    return (struct lw_sparse_block){memory, place->axis_bytes, place->channel_bytes, fetch->width};
}

static void announce(const struct fetch *fetch, int64_t channel, int64_t begin, int64_t end)
{
    for (int64_t s = begin; s < end; s++) {
        const struct lw_sfft_span *const span = &fetch->samples->spans[s];
        lw_bytes_announce(fetch->run->place.fd, offset_of(fetch, span->first, channel), bytes_of(fetch, span->count));
    }
}

static int fetch_spans(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct fetch *const fetch = context;
    const struct lw_sfft_samples *const samples = fetch->samples;
    const int64_t row = piece / fetch->row_pieces, begin = piece % fetch->row_pieces * fetch->piece_size;
    const int64_t end = lw_min64(begin + fetch->piece_size, samples->n_spans), channel = fetch->channel + row;
    double *const values = fetch->values + 2 * row * samples->total;
    char *const buffer = buffer_of(fetch, thread);
    const struct lw_sparse_block block = block_of(fetch, buffer);
    if (fetch->run->pace.is_ahead)
        announce(fetch, channel, begin, end);
    int rc = LW_OK;
    for (int64_t s = begin; rc == LW_OK && s < end; s++) {
        const struct lw_sfft_span *const span = &samples->spans[s];
        rc = read_samples(fetch, span->first, span->count, channel, buffer, err);
        if (rc == LW_OK)
            lw_sparse_scatter(fetch->run, samples, span, &block, values);
    }
    return rc;
}

/* Spans of a piece, by their number and by their bytes. */
static int64_t choose_piece(const struct fetch *fetch)
{
    const struct lw_sfft_samples *const samples = fetch->samples;
    const int64_t shares = (int64_t)lw_pool_threads(fetch->run->setup.pool) * PIECES_OF_A_THREAD;
    const int64_t mean_bytes = samples->read * fetch->run->place.axis_bytes / samples->n_spans;
    return lw_max64(1, lw_min64(lw_min64(PIECE_READS, samples->n_spans / shares), PIECE_BYTES / lw_max64(mean_bytes, 1)));
}

int lw_sparse_fetch(struct lw_sparse *run, const struct lw_sfft_samples *samples, int64_t channel, int64_t n_channels,
                    double *values, struct lw_error *err)
{
    const bool slow = run->setup.job.op.layout == LW_TIME_SLOW;
    struct fetch fetch = {.run = run, .samples = samples, .channel = channel, .width = slow ? n_channels : 1, .values = values};
    if (samples->n_spans == 0 || n_channels == 0)
        return LW_OK;
    fetch.piece_size = choose_piece(&fetch);
    fetch.row_pieces = lw_divide_up(samples->n_spans, fetch.piece_size);
    return run_pieces(&fetch, fetch_spans, fetch.row_pieces * (n_channels / fetch.width),
                      samples->count * n_channels * run->n_ranks, err);
}

/* ---- all samples of a channel --------------------------------------------------------------------------------------- */

static int fetch_block(void *context, int64_t piece, int thread, struct lw_error *err)
{
    struct fetch *const fetch = context;
    const int64_t begin = piece * fetch->piece_size, end = lw_min64(begin + fetch->piece_size, fetch->run->request.spec.n);
    char *const buffer = buffer_of(fetch, thread);
    const struct lw_sparse_block block = block_of(fetch, buffer);
    int64_t flaws = 0;
    int rc = LW_OK;
    for (int64_t first = begin; rc == LW_OK && first < end; first += fetch->read_samples) {
        const int64_t count = lw_min64(fetch->read_samples, end - first);
        rc = read_samples(fetch, first, count, fetch->channel, buffer, err);
        if (rc == LW_OK)
            flaws += lw_sparse_convert(fetch->run, &block, first, count);
    }
    atomic_fetch_add(&fetch->n_not_finite, flaws);
    return rc;
}

/* Where other channels lie between its samples, these are read along or left out, whichever costs less. */
int lw_sparse_fetch_whole(struct lw_sparse *run, int64_t channel, struct lw_error *err)
{
    struct fetch fetch = {.run = run, .channel = channel, .width = 1};
    const bool is_close = run->place.axis_bytes <= lw_bytes_gap(&run->pace);
    fetch.read_samples = is_close ? run->block : 1;
    fetch.piece_size = is_close ? run->block : PIECE_READS;
    const int rc = run_pieces(&fetch, fetch_block, lw_divide_up(run->request.spec.n, fetch.piece_size), 0, err);
    run->flaws.n_not_finite += atomic_load(&fetch.n_not_finite);
    return rc;
}
