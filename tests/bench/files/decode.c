/* decode.c - benchmark of the decoding of chunks: bench_decode FILE:/dataset. HDF5 decodes, and then the threads of a pool, 1 to
 * 16 of them. Each measurement reads the whole dataset (of one or two dimensions) slab by slab as a run does, and is the best of
 * three. */
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/proc.h"
#include "io/bytes/transfer.h"
#include "io/format.h"
#include "io/read/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { REPETITIONS = 3, LARGEST = 16 };
static const int64_t slab_bytes = (int64_t)128 << 20;

struct bench {
    struct lw_reader *reader;
    struct lw_view_spec view;
    int64_t n_channels, bytes;
    void *into;
};

/* Set up slabs of whole chunks along the longer dimension, with all channels. */
static int prepare(struct bench *b, struct lw_error *err)
{
    const struct lw_dataset_info *const info = lw_reader_info(b->reader);
    const int64_t sample = (int64_t)lw_type_bytes(info->type);
    const int axis = info->n_dims == 2 && info->dims[1] > info->dims[0] ? 1 : 0;
    b->n_channels = info->n_dims == 2 ? info->dims[1 - axis] : 1;
    b->bytes = info->dims[axis] * b->n_channels * sample;
    const int64_t unit = lw_max64(1, info->chunk[axis]);
    const int64_t slab = lw_min64(info->dims[axis], lw_max64(1, slab_bytes / sample / b->n_channels / unit) * unit);
    b->view = (struct lw_view_spec){.axis = axis, .count = info->dims[axis], .channels = {0, b->n_channels, 1}, .max_axis = slab,
                                    .max_channels = b->n_channels, .chunks = LW_CHUNKS_KEPT};
    b->into = lw_alloc((size_t)(slab * b->n_channels * sample), "a slab", err);
    return b->into ? LW_OK : LW_ESYSTEM;
}

static int read_all(struct bench *b, double *seconds, struct lw_error *err)
{
    int rc = lw_reader_select(b->reader, &b->view, err);
    const double start = lw_now();
    for (int64_t first = 0; rc == LW_OK && first < b->view.count; first += b->view.max_axis) {
        const int64_t count = lw_min64(b->view.max_axis, b->view.count - first);
        const struct lw_slab slab = {.first = first, .count = count, .n_channels = b->n_channels, .into = b->into,
                                     .into_axis = count};
        rc = lw_reader_read(b->reader, &slab, err);
    }
    *seconds = lw_now() - start;
    return rc;
}

/* @param n_threads 0: HDF5 reads */
static int measure(struct lw_comm *comm, const char *name, int n_threads, double *rate, struct lw_error *err)
{
    struct bench b = {0};
    struct lw_pool *pool = NULL;
    int rc = lw_reader_open(comm, name, &b.reader, err);
    if (rc)
        return rc;
    if (n_threads > 0 && (rc = lw_pool_create(n_threads, &pool, err)) == LW_OK)
        lw_reader_use(b.reader, pool);
    if (rc == LW_OK)
        rc = prepare(&b, err);
    *rate = 0;
    for (int i = 0; rc == LW_OK && i < REPETITIONS; i++) {
        double seconds;
        rc = read_all(&b, &seconds, err);
        *rate = *rate > (double)b.bytes / seconds ? *rate : (double)b.bytes / seconds;
    }
    lw_reader_close(b.reader);
    lw_pool_destroy(pool);
    lw_free(b.into);
    return rc;
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Decoded bytes per second of one chunk; 0: the chunk is damaged. */
static double chunk_rate(struct lw_decoder *decoder, const struct lw_filters *filters, const char *stored, int64_t bytes,
                         uint32_t skipped)
{
    enum { TRIALS = 100 };
    double best = 0;
    for (int i = 0; i < TRIALS; i++) {
        const char *samples;
        const double start = processor_seconds();
        memcpy(lw_decoder_stored(decoder), stored, (size_t)bytes);
        if (lw_decoder_decode(decoder, bytes, skipped, &samples, NULL))
            return 0;
        const double rate = (double)filters->chunk_bytes / (processor_seconds() - start);
        best = best > rate ? best : rate;
    }
    return best;
}

/* Measure the first chunk of an open dataset. */
static int measure_first(const struct lw_format *format, void *dataset, double *rate, struct lw_error *err)
{
    const int64_t first[LW_MAX_DIMS] = {0};
    struct lw_stored where;
    struct lw_stored_chunk chunk;
    struct lw_decoder *decoder = NULL;
    char *stored = NULL;
    int rc;
    if (!format->locate(dataset, &where) || !where.is_chunked)
        return lw_fail(err, LW_EDATA, "lapwing does not decode it");
    if ((rc = format->library->find_chunk(dataset, first, &chunk, err)) == LW_OK &&
        (rc = lw_decoder_create(&where.filters, &decoder, err)) == LW_OK &&
        (rc = (stored = lw_alloc((size_t)chunk.bytes, "a chunk", err)) ? LW_OK : LW_ESYSTEM) == LW_OK &&
        (rc = lw_bytes_read(where.fd, stored, chunk.offset, chunk.bytes, err)) == LW_OK)
        *rate = chunk_rate(decoder, &where.filters, stored, chunk.bytes, chunk.skipped);
    lw_free(stored);
    lw_decoder_destroy(decoder);
    return rc;
}

static int measure_chunk(struct lw_comm *comm, const char *name, double *rate, struct lw_error *err)
{
    struct lw_reader *reader;
    const struct lw_format *format;
    void *dataset;
    int rc = lw_reader_open(comm, name, &reader, err);
    if (rc)
        return rc;
    const struct lw_dataset_info info = *lw_reader_info(reader);
    lw_reader_close(reader);
    if ((rc = lw_formats_find(info.file, NULL, &format, err)) || (rc = lw_format_open(format, &info, &dataset, err)))
        return rc;
    rc = measure_first(format, dataset, rate, err);
    lw_format_close(format, dataset);
    return rc;
}

static int print_table(struct lw_comm *comm, const char *name, struct lw_error *err)
{
    double library, one = 0, rate;
    int rc = measure(comm, name, 0, &library, err);
    if (rc)
        return rc;
    printf("%s, %d cores\n| threads | MB/s | of HDF5's | of one thread's |\n|---|---|---|---|\n", name, lw_proc_cores());
    printf("| HDF5 | %.0f | 1 | |\n", library / 1e6);
    for (int n = 1; n <= LARGEST; n *= 2) {
        if ((rc = measure(comm, name, n, &rate, err)))
            return rc;
        one = n == 1 ? rate : one;
        printf("| %d | %.0f | %.3g | %.3g |\n", n, rate / 1e6, rate / library, rate / one);
    }
    if ((rc = measure_chunk(comm, name, &rate, err)) == LW_OK)
        printf("| one chunk, alone | %.0f | | |\n", rate / 1e6);
    return rc;
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    struct lw_error err = {0};
    lw_log_start(0, "", LW_LOG_QUIET);
    const int rc = argc == 2 ? print_table(comm, argv[1], &err) : lw_fail(&err, LW_EUSAGE, "usage: bench_decode FILE:/dataset");
    if (rc)
        lw_log_error(&err);
    lw_comm_stop(comm);
    return rc;
}
