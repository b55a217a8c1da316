/* io_bench.c - rates of reader and writer against plain pread and pwrite of the same bytes. Not a test: run it by hand.
 *
 *     mpirun -np 2 io_bench FOLDER [MIB_PER_ROUND [ROUNDS]]
 *
 * Every rank writes its slice of each round and reads it behind a halo, float32, some channels in both layouts. Shown are the best of
 * three passes and the growth of this process' peak memory beyond its own buffer. */
#include "base/log.h"
#include "base/memory.h"
#include "io/reader.h"
#include "io/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PASSES = 3, SAMPLE_BYTES = sizeof(float), HALO = 1000, MOST_CHANNELS = 4096 };

/* [rows x row] samples on disk; a rank's slice is `part` samples of each row (time fast), or whole rows (time slow). */
struct work {
    struct lw_comm *comm;
    char file[512];
    int64_t n_channels, slice, n_rounds;
    bool is_slow;
    char *buffer;
};

static int64_t axis_length(const struct work *w)
{
    return w->slice * w->n_rounds * lw_comm_size(w->comm);
}

static int64_t slice_first(const struct work *w, int64_t round)
{
    return (round * lw_comm_size(w->comm) + lw_comm_rank(w->comm)) * w->slice;
}

static void stop(const struct work *w, const struct lw_error *err)
{
    lw_comm_abort(w->comm, err);
}

static struct lw_writer *create(const struct work *w)
{
    struct lw_writer *writer = NULL;
    struct lw_error err = {0};
    const struct lw_writer_dataset dataset = {
        .path = "/data", .n_dims = 2, .type = {.scalar = LW_FLOAT32},
        .dims = {w->is_slow ? axis_length(w) : w->n_channels, w->is_slow ? w->n_channels : axis_length(w)},
    };
    const struct lw_writer_spec spec = {.file = w->file, .overwrite = true, .datasets = &dataset, .n_datasets = 1};
    if (lw_writer_create(w->comm, &spec, &writer, &err))
        stop(w, &err);
    return writer;
}

static void write_rounds(const struct work *w, struct lw_writer *writer)
{
    struct lw_error err = {0};
    for (int64_t round = 0; round < w->n_rounds; round++) {
        const int64_t at = slice_first(w, round);
        const int64_t first[2] = {w->is_slow ? at : 0, w->is_slow ? 0 : at};
        const int64_t count[2] = {w->is_slow ? w->slice : w->n_channels, w->is_slow ? w->n_channels : w->slice};
        if (lw_writer_write(writer, 0, first, count, w->buffer, &err))
            stop(w, &err);
    }
}

static void read_rounds(const struct work *w, struct lw_reader *reader)
{
    struct lw_error err = {0};
    for (int64_t round = 0; round < w->n_rounds; round++) {
        const struct lw_slab slab = {.first = slice_first(w, round), .count = w->slice, .n_channels = w->n_channels,
                                     .into = w->buffer, .into_axis = HALO + w->slice, .into_first = HALO};
        if (lw_reader_read(reader, &slab, &err))
            stop(w, &err);
    }
}

/* The bytes of one round: one extent, or one for each channel. */
static void plain_rounds(const struct work *w, int fd, int64_t offset, bool writes)
{
    const int64_t n_extents = w->is_slow ? 1 : w->n_channels;
    const size_t bytes = (size_t)(w->slice * w->n_channels / n_extents) * SAMPLE_BYTES;
    for (int64_t round = 0; round < w->n_rounds; round++)
        for (int64_t e = 0; e < n_extents; e++) {
            const int64_t sample = w->is_slow ? slice_first(w, round) * w->n_channels
                                              : e * axis_length(w) + slice_first(w, round);
            char *const at = w->buffer + (size_t)e * bytes;
            const ssize_t done = writes ? pwrite(fd, at, bytes, offset + sample * SAMPLE_BYTES)
                                        : pread(fd, at, bytes, offset + sample * SAMPLE_BYTES);
            if (done != (ssize_t)bytes)
                abort();
        }
}

struct rates {
    double write, read, plain_write, plain_read;    /* bytes/s, all ranks */
};

static void keep_best(const struct work *w, double started, double *rate)
{
    lw_comm_barrier(w->comm);
    const double bytes = (double)(axis_length(w) * w->n_channels) * SAMPLE_BYTES;
    const double found = bytes / (lw_now() - started);
    *rate = found > *rate ? found : *rate;
}

static double start(const struct work *w)
{
    lw_comm_barrier(w->comm);
    return lw_now();
}

static void measure_write(const struct work *w, struct rates *rates)
{
    struct lw_error err = {0};
    struct lw_writer *const writer = create(w);
    for (int pass = 0; pass < PASSES; pass++) {
        const double started = start(w);
        write_rounds(w, writer);
        keep_best(w, started, &rates->write);
    }
    if (lw_writer_finish(writer, NULL, 0, &err))
        stop(w, &err);
    lw_writer_destroy(writer);
}

static void measure_read(const struct work *w, struct rates *rates)
{
    char name[600];
    struct lw_reader *reader;
    struct lw_error err = {0};
    const struct lw_view_spec view = {.axis = w->is_slow ? 0 : 1, .count = axis_length(w), .channels = {0, w->n_channels, 1},
                                      .max_axis = w->slice, .max_channels = w->n_channels};
    snprintf(name, sizeof name, "%s:/data", w->file);
    if (lw_reader_open(w->comm, name, &reader, &err) || lw_reader_select(reader, &view, &err))
        stop(w, &err);
    for (int pass = 0; pass < PASSES; pass++) {
        const double started = start(w);
        read_rounds(w, reader);
        keep_best(w, started, &rates->read);
    }
    lw_reader_close(reader);
}

static void measure_plain(const struct work *w, struct rates *rates)
{
    const int fd = open(w->file, O_RDWR | O_CLOEXEC);
    const int64_t offset = 1 << 20;     /* where the writer has put the data: it is aligned */
    for (int pass = 0; pass < PASSES; pass++) {
        double started = start(w);
        plain_rounds(w, fd, offset, true);
        keep_best(w, started, &rates->plain_write);
        started = start(w);
        plain_rounds(w, fd, offset, false);
        keep_best(w, started, &rates->plain_read);
    }
    close(fd);
}

static void measure(struct work *w, const char *what)
{
    const double gib = 1 << 30;
    struct rates rates = {0};
    const int64_t before = lw_memory_peak_bytes();
    measure_write(w, &rates);
    measure_read(w, &rates);
    const int64_t grown = lw_comm_max(w->comm, lw_memory_peak_bytes() - before);
    measure_plain(w, &rates);
    if (lw_comm_rank(w->comm) == 0) {
        printf("%-24s write %5.2f GiB/s (pwrite %5.2f)  read %5.2f GiB/s (pread %5.2f)  memory %lld MiB\n", what,
               rates.write / gib, rates.plain_write / gib, rates.read / gib, rates.plain_read / gib,
               (long long)(grown >> 20));
        unlink(w->file);
    }
    lw_comm_barrier(w->comm);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        int64_t n_channels;
        bool is_slow;
    } cases[] = {{"one channel", 1, false}, {"64 channels, time fast", 64, false}, {"64 channels, time slow", 64, true},
                 {"4096 channels, time fast", MOST_CHANNELS, false}};
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    const int64_t mib = argc > 2 ? atoll(argv[2]) : 64;
    const size_t bytes = (size_t)mib << 20, room = bytes + (size_t)HALO * MOST_CHANNELS * SAMPLE_BYTES;
    struct work work = {.comm = comm, .n_rounds = argc > 3 ? atoll(argv[3]) : 8, .buffer = malloc(room)};
    memset(work.buffer, lw_comm_rank(comm) + 1, room);
    snprintf(work.file, sizeof work.file, "%s/lapwing-io-bench.h5", argc > 1 ? argv[1] : ".");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        work.n_channels = cases[c].n_channels;
        work.is_slow = cases[c].is_slow;
        work.slice = (int64_t)bytes / (SAMPLE_BYTES * work.n_channels);
        measure(&work, cases[c].what);
    }
    free(work.buffer);
    lw_comm_stop(comm);
    return 0;
}
