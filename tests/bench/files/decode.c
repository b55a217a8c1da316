/* bench_decode FILE:/dataset - how fast chunks are decoded: by HDF5, and by the threads of a pool, 1 to 16 of them. All of the
 * dataset (of one or two dimensions) is read once each time, slab by slab as a run does; the best of three. */
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/proc.h"
#include "io/reader.h"

#include <inttypes.h>
#include <stdio.h>

enum { REPETITIONS = 3, LARGEST = 16 };
static const int64_t slab_bytes = (int64_t)128 << 20;

struct bench {
    struct lw_reader *reader;
    struct lw_view_spec view;
    int64_t n_channels, bytes;
    void *into;
};

/* Slabs of whole chunks along the longer dimension, with all channels. */
static int prepare(struct bench *b, struct lw_error *err)
{
    const struct lw_dataset_info *const info = lw_reader_info(b->reader);
    const int64_t sample = (int64_t)lw_type_bytes(info->type);
    const int axis = info->n_dims == 2 && info->dims[1] > info->dims[0] ? 1 : 0;
    b->n_channels = info->n_dims == 2 ? info->dims[1 - axis] : 1;
    b->bytes = info->dims[axis] * b->n_channels * sample;
    const int64_t unit = max64(1, info->chunk[axis]);
    const int64_t slab = min64(info->dims[axis], max64(1, slab_bytes / sample / b->n_channels / unit) * unit);
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
        const int64_t count = min64(b->view.max_axis, b->view.count - first);
        const struct lw_slab slab = {.first = first, .count = count, .n_channels = b->n_channels, .into = b->into,
                                     .into_axis = count};
        rc = lw_reader_read(b->reader, &slab, err);
    }
    *seconds = lw_now() - start;
    return rc;
}

/* @param n_threads  0: HDF5 reads */
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
    return LW_OK;
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
