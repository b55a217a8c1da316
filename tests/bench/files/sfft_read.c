/* sfft_read.c - how fast a sparse transform gets its samples from a file, beside what the storage that holds the file allows.
 *
 *     bench_sfft_read FILE:/dataset OUTPUT [options of lapwing sfft]
 *
 *   run       lapwing sfft: its log says how many reads it makes, and the seconds of "read"
 *   storage   reads of 4 KiB here and there in FILE, and of 1 MiB one after the other, by 1 to 64 threads
 *
 * For a file on a disk, have it out of the page cache before: each measurement of the storage reads where no other one does, and
 * what the run has read is little. */
#include "base/file.h"
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "cli/commands.h"
#include "io/bytes/transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE ((int64_t)4096)
#define RUN ((int64_t)1 << 20)
enum { MOST_THREADS = 64, STEPS = 7, PIECE_PAGES = 64, PIECE_RUNS = 1 };
static const double most_seconds = 0.3;

struct measurement {
    int fd;
    char *buffers;                  /* [threads][RUN] */
    int64_t size;                   /* bytes of one read */
    int64_t piece_reads;
    int64_t first, count;           /* reads that are this measurement's: places [first, first + count) of the file's */
    int64_t stride;                 /* from one place to the next, in reads */
    double end;
    int64_t done[MOST_THREADS][8];  /* reads of each thread, a cache line each */
};

static void stop(const struct lw_error *err)
{
    fprintf(stderr, "bench_sfft_read: %s\n", err->message);
    exit(err->code);
}

static int read_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    struct measurement *const m = context;
    int rc = LW_OK;
    if (lw_now() > m->end)
        return LW_OK;
    for (int64_t i = 0; rc == LW_OK && i < m->piece_reads; i++, m->done[thread][0]++) {
        const int64_t place = m->first + (piece * m->piece_reads + i) * m->stride;
        rc = lw_bytes_read(m->fd, m->buffers + thread * RUN, place * m->size, m->size, err);
    }
    return rc;
}

/* Reads a second. */
static double measure(struct measurement *m, int n_threads)
{
    struct lw_batch batch = {.n_pieces = m->count / m->piece_reads, .work = read_piece, .context = m};
    struct lw_pool *pool = NULL;
    struct lw_error err;
    int64_t done = 0;
    if (lw_pool_create(n_threads, &pool, &err))
        stop(&err);
    memset(m->done, 0, sizeof m->done);
    const double start = lw_now();
    m->end = start + most_seconds;
    lw_pool_start(pool, &batch);
    if (lw_pool_wait(pool, &batch, &err))
        stop(&err);
    for (int t = 0; t < n_threads; t++)
        done += m->done[t][0];
    const double rate = (double)done / (lw_now() - start);
    lw_pool_destroy(pool);
    return rate;
}

/* Here and there: every so-and-so-many-th page, another one of them with each number of threads. In sequence: each number of
 * threads has a part of the file. */
static void measure_storage(const char *file)
{
    char why[96];
    struct lw_error err;
    struct stat status;
    const int fd = lw_file_open(file, why);
    if (fd < 0 || fstat(fd, &status) != 0) {
        lw_fail(&err, LW_EIO, "cannot read %s: %s", file, why);
        stop(&err);
    }
    struct measurement m = {.fd = fd, .buffers = lw_alloc(MOST_THREADS * RUN, "buffers", &err)};
    const int64_t pages = status.st_size / PAGE, runs = status.st_size / RUN, stride = max64(STEPS, pages / 100000);
    if (!m.buffers)
        stop(&err);
    printf("%7s %20s %20s\n", "threads", "4 KiB reads a second", "GB/s in sequence");
    for (int step = 0; step < STEPS; step++) {
        m.size = PAGE, m.piece_reads = PIECE_PAGES, m.stride = stride, m.first = stride * step / STEPS, m.count = pages / stride;
        const double here_and_there = measure(&m, 1 << step);
        m.size = RUN, m.piece_reads = PIECE_RUNS, m.stride = 1, m.first = runs * step / STEPS, m.count = runs / STEPS;
        printf("%7d %20.0f %20.2f\n", 1 << step, here_and_there, measure(&m, 1 << step) * (double)RUN / 1e9);
    }
    lw_free(m.buffers);
    close(fd);
}

static int run(struct lw_comm *comm, int argc, char **argv, struct lw_error *err)
{
    const struct lw_option *const tables[] = {lw_job_sfft.options, lw_common_options, lw_message_options, NULL};
    struct lw_options *options = NULL;
    int used, rc;
    if ((rc = lw_options_create(tables, &options, err)) || (rc = lw_options_set(options, "input", argv[1], "FILE", err)) ||
        (rc = lw_options_set(options, "output", argv[2], "OUTPUT", err)) ||
        (rc = lw_options_set(options, "overwrite", "yes", "overwrite", err)) ||
        (rc = lw_options_parse(options, argc - 3, argv + 3, &used, err)))
        return rc;
    rc = lw_job_sfft.run(comm, &lw_job_sfft, options, "bench_sfft_read", err);
    lw_options_destroy(options);
    return rc;
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    const bool is_first = lw_comm_rank(comm) == 0;
    struct lw_error err;
    const char *const colon = argc > 2 ? strrchr(argv[1], ':') : NULL;
    if (!colon) {
        fprintf(stderr, "usage: bench_sfft_read FILE:/dataset OUTPUT [options of lapwing sfft]\n");
        lw_comm_stop(comm);
        return LW_EUSAGE;
    }
    lw_log_start(lw_comm_rank(comm), lw_comm_host(comm), LW_LOG_VERBOSE);
    const int rc = run(comm, argc, argv, &err);
    if (rc && is_first)
        lw_log_error(&err);
    if (rc == LW_OK && is_first) {
        char *const file = strndup(argv[1], (size_t)(colon - argv[1]));
        measure_storage(file);
        free(file);
    }
    lw_comm_stop(comm);
    return rc;
}
