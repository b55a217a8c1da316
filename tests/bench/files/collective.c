/* collective.c - benchmark of the ways to write one result: each rank directly, by collective calls, and by collective calls in
 * which half of the ranks write whole stripes of 1 MiB for all (aggregators, on a pretended Lustre of two nodes).
 *
 *   mpirun -np P bench_collective FOLDER MIB CHANNELS REPETITIONS
 *
 * The result is float32 [CHANNELS x n] of MIB MiB, time fastest, written in rounds of 64 MiB at most, each rank its slice of all
 * channels. A time is that of all writes and of the sync after them, without making and deleting the file. The ways take turns. For
 * each, one line of CSV has the median in seconds, GB/s, the median of its time over that of `direct` in the same turn, and the
 * largest growth of a rank's peak memory in the first turn. */
#include "io/write/writer.h"
#include "../../io/pretend.h"
#include "base/memory.h"
#include "storage_rates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST_REPETITIONS = 101, IO_THREADS = 4 };
enum way { DIRECT, COLLECTIVE, AGGREGATED, N_WAYS };

static const char *const texts[N_WAYS] = {"direct", "collective", "aggregated"};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

/* Write all rounds. @return  seconds until the data are on the disk */
static double write_rounds(struct lw_comm *comm, struct lw_writer *writer, const struct lw_writer_dataset *dataset,
                           const float *data, int64_t slice)
{
    struct lw_error err;
    const int64_t channels = dataset->dims[0], size = lw_comm_size(comm);
    int rc = LW_OK;
    lw_comm_barrier(comm);
    const double start = now();
    for (int64_t at = lw_comm_rank(comm) * slice; at < dataset->dims[1] && rc == LW_OK; at += size * slice)
        rc = lw_writer_write(writer, 0, (int64_t[]){0, at}, (int64_t[]){channels, slice}, data, &err);
    rc = rc ? rc : lw_writer_sync(writer, &err);
    if (rc)
        lw_comm_abort(comm, &err);
    return now() - start;
}

static double measure(struct lw_comm *comm, struct lw_pool *pool, enum way way, const char *file,
                      const struct lw_writer_dataset *dataset, const float *data, int64_t slice)
{
    struct lw_error err;
    struct lw_writer *writer = NULL;
    pretended = (struct lw_storage){.name = "Lustre", .is_striped = way == AGGREGATED, .stripe_bytes = 1 << 20,
                                    .n_stripes = lw_comm_size(comm)};
    pretended_nodes = way == AGGREGATED ? 2 : 0;
    const struct lw_writer_spec spec = {.file = file, .overwrite = true, .datasets = dataset, .n_datasets = 1, .pool = pool,
                                        .io = way == DIRECT ? LW_IO_DIRECT : LW_IO_COLLECTIVE};
    if (lw_writer_create(comm, &spec, &writer, &err))
        lw_comm_abort(comm, &err);
    const double seconds = write_rounds(comm, writer, dataset, data, slice);
    lw_writer_destroy(writer);
    return seconds;
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    const int64_t mib = argc == 5 ? atoll(argv[2]) : 0, channels = argc == 5 ? atoll(argv[3]) : 0;
    const int repetitions = argc == 5 ? atoi(argv[4]) : 0, size = lw_comm_size(comm);
    if (mib < 1 || channels < 1 || repetitions < 1 || repetitions > MOST_REPETITIONS) {
        fprintf(stderr, "usage: bench_collective FOLDER MIB CHANNELS REPETITIONS\n");
        return LW_EUSAGE;
    }
    static double seconds[N_WAYS][MOST_REPETITIONS], ratios[MOST_REPETITIONS];
    double grown[N_WAYS] = {0};
    char file[LW_MAX_PATH];
    struct lw_error err;
    struct lw_pool *pool = NULL;
    const int64_t rounds = (mib + 63) / 64, slice = (mib << 20) / 4 / channels / rounds / size;
    const struct lw_writer_dataset dataset = {.path = "/data", .n_dims = 2, .dims = {channels, slice * rounds * size},
                                              .type = {.scalar = LW_FLOAT32}};
    snprintf(file, sizeof file, "%s/bench_collective.h5", argv[1]);
    float *const data = malloc((size_t)(channels * slice) * sizeof *data);
    if (!data || lw_pool_create(IO_THREADS, &pool, &err))
        return LW_ESYSTEM;
    for (int64_t i = 0; i < channels * slice; i++)
        data[i] = (float)i;
    const enum way end = size > 1 ? N_WAYS : AGGREGATED;        /* a single rank has none to write for */
    for (int r = 0; r < repetitions; r++)
        for (enum way way = DIRECT; way < end; way++) {
            const double before = peak_mib();
            seconds[way][r] = measure(comm, pool, way, file, &dataset, data, slice);
            grown[way] = r == 0 ? (double)lw_comm_max(comm, (int64_t)(peak_mib() - before)) : grown[way];
        }
    if (lw_comm_rank(comm) == 0)
        for (enum way way = DIRECT; way < end; way++) {
            for (int r = 0; r < repetitions; r++)
                ratios[r] = seconds[way][r] / seconds[DIRECT][r];
            const double ratio = storage_median(ratios, repetitions);
            double sorted[MOST_REPETITIONS];
            memcpy(sorted, seconds[way], sizeof sorted);
            const double median = storage_median(sorted, repetitions);
            printf("%s,%d,%" PRId64 ",%s,%.4f,%.3f,%.2f,%.0f\n", argv[1], size, channels, texts[way], median,
                   (double)(dataset.dims[1] * channels * 4) / median / 1e9, ratio, grown[way]);
        }
    lw_pool_destroy(pool);
    free(data);
    lw_comm_stop(comm);
    return 0;
}
