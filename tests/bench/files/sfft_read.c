/* sfft_read.c - benchmark of how fast a sparse transform gets its samples from a file, beside the rates that the file's storage
 * allows.
 *
 *   bench_sfft_read FILE:/dataset OUTPUT [options of lapwing sfft]
 *
 *   run       lapwing sfft: its log has the number of reads and the seconds of "read"
 *   storage   reads of 4 KiB at random places of FILE, and of long pieces all over it, by 1 to 64 threads (trial.h)
 *
 * A file on a disk must be out of the page cache before. Each measurement of the storage begins elsewhere, and the run itself
 * reads little of the file. */
#include "base/file.h"
#include "base/log.h"
#include "base/pool.h"
#include "cli/commands.h"
#include "run/run.h"
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = 64 };
static const double most_seconds = 0.3;

static void stop(const struct lw_error *err)
{
    fprintf(stderr, "bench_sfft_read: %s\n", err->message);
    exit(err->code);
}

static void measure_threads(int fd, int n_threads)
{
    struct lw_trial trial = {.n_threads = n_threads, .bytes = INT64_MAX, .seconds = most_seconds};
    struct lw_error err;
    double reads, bytes;
    if (lw_pool_create(n_threads, &trial.pool, &err) || lw_trial_read_pages(&trial, fd, &reads, &err) ||
        lw_trial_read(&trial, fd, &bytes, &err))
        stop(&err);
    printf("%7d %20.0f %20.2f\n", n_threads, reads, bytes / 1e9);
    lw_pool_destroy(trial.pool);
}

static void measure_storage(const char *file)
{
    char why[96];
    struct lw_error err;
    const int fd = lw_file_open(file, why);
    if (fd < 0) {
        lw_fail(&err, LW_EIO, "cannot read %s: %s", file, why);
        stop(&err);
    }
    printf("%7s %20s %20s\n", "threads", "4 KiB reads a second", "GB/s in sequence");
    for (int n_threads = 1; n_threads <= MOST_THREADS; n_threads *= 2)
        measure_threads(fd, n_threads);
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
    rc = lw_run(comm, &lw_job_sfft, options, "bench_sfft_read", err);
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
