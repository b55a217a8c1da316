/* test_window.c - tests of windows of a signal continued beyond its ends, read from a file by 1 to 3 ranks. Every sample is the
 * one that the index map names, in both layouts and for every boundary, with parts inside, across the ends and entirely outside.
 * HDF5 reads them, or the threads of a pool, at once or begun long before the wait. */
#include "../check.h"
#include "io/write/writer.h"
#include "stream/window.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_CHANNELS = 3, LONGEST = 40 };

static int32_t value(int64_t sample, int64_t channel)
{
    return (int32_t)(1000 * (channel + 1) + sample);
}

static void make_file(struct lw_comm *comm, const char *file, enum lw_layout layout, int64_t n)
{
    const bool slow = layout == LW_TIME_SLOW;
    const struct lw_writer_dataset dataset = {
        .path = "/signal", .n_dims = 2, .dims = {slow ? n : N_CHANNELS, slow ? N_CHANNELS : n},
        .dim_names = {slow ? "time" : "channel", slow ? "channel" : "time"}, .type = {.scalar = LW_INT32},
    };
    const struct lw_writer_spec spec = {.file = file, .overwrite = true, .datasets = &dataset, .n_datasets = 1};
    int32_t data[N_CHANNELS * LONGEST];
    for (int64_t c = 0; c < N_CHANNELS; c++)
        for (int64_t i = 0; i < n; i++)
            data[slow ? i * N_CHANNELS + c : c * n + i] = value(i, c);

    struct lw_error err;
    struct lw_writer *writer = NULL;
    const int64_t first[2] = {0, 0}, nothing[2] = {0, 0};
    CHECK(lw_writer_create(comm, &spec, &writer, &err) == LW_OK, "%s", err.message);
    CHECK(lw_writer_write(writer, 0, first, lw_comm_rank(comm) == 0 ? dataset.dims : nothing, data, &err) == LW_OK, "%s",
          err.message);
    CHECK(lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);
}

static void check_part(struct lw_stream_window *window, const struct lw_window_spec *spec, int64_t begin, int64_t end)
{
    enum { PAD = 2 };
    const int64_t length = end - begin, axis = length + PAD;
    int32_t *const into = malloc((size_t)(axis * N_CHANNELS) * sizeof *into);
    const struct lw_window_part part = {begin, end, 1, 2, into, axis, PAD};
    struct lw_error err;
    CHECK(lw_window_end(window, &err) == LW_OK, "nothing was begun");
    CHECK(lw_window_begin(window, &part, &err) == LW_OK, "%s", err.message);
    usleep(begin % 5 == 0 ? 50 : 0);
    CHECK(lw_window_end(window, &err) == LW_OK, "%s", err.message);
    for (int64_t c = 0; c < 2; c++) {
        for (int64_t i = 0; i < length; i++) {
            const int32_t found = into[spec->layout == LW_TIME_FAST ? c * axis + PAD + i : (PAD + i) * 2 + c];
            const int64_t source = lw_boundary_index(spec->boundary, begin + i, spec->n_samples);
            const int32_t wanted = source < 0 ? 0 : value(source, c + 1);
            CHECK(found == wanted, "%s, %" PRId64 " samples, position %" PRId64 ": %d, not %d",
                  lw_boundary_text(spec->boundary), spec->n_samples, begin + i, found, wanted);
        }
    }
    free(into);
}

/* @param pool NULL: HDF5 reads */
static void check_window(struct lw_comm *comm, struct lw_pool *pool, const char *file, enum lw_layout layout,
                         enum lw_boundary boundary, int64_t n, int64_t n_taps)
{
    struct lw_error err;
    struct lw_reader *reader = NULL;
    char name[300];
    snprintf(name, sizeof name, "%s:/signal", file);
    CHECK(lw_reader_open(comm, name, &reader, &err) == LW_OK, "%s", err.message);
    lw_reader_use(reader, pool);
    const struct lw_view_spec view = {.axis = layout == LW_TIME_SLOW ? 0 : 1, .count = n, .channels = {0, N_CHANNELS, 1},
                                      .max_axis = n + 2 * n_taps, .max_channels = N_CHANNELS};
    CHECK(lw_reader_select(reader, &view, &err) == LW_OK, "%s", err.message);

    const struct lw_window_spec spec = {.reader = reader, .boundary = boundary, .layout = layout, .sample_bytes = 4,
                                        .n_samples = n, .n_taps = n_taps, .max_channels = N_CHANNELS};
    struct lw_stream_window *window = NULL;
    CHECK(lw_window_create(&spec, &window, &err) == LW_OK, "%s", err.message);
    /* ranks ask for parts of different lengths; rank 0 sometimes asks for nothing */
    const int64_t rank = lw_comm_rank(comm), longer = lw_comm_size(comm) - 1;
    for (int64_t begin = 1 - n_taps; begin < n + n_taps - 1; begin += 3)
        for (int64_t length = 0; length < n_taps && begin + length + longer < n + n_taps; length += 2)
            check_part(window, &spec, begin, begin + length + rank);
    lw_window_destroy(window);
    lw_reader_close(reader);
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    int pid = (int)getpid();
    lw_comm_broadcast(comm, &pid, sizeof pid);
    struct lw_error err;
    struct lw_pool *pool = NULL;
    CHECK(lw_pool_create(2, &pool, &err) == LW_OK, "%s", err.message);
    char file[64];
    snprintf(file, sizeof file, "window-%d.h5", pid);
    for (int layout = LW_TIME_FAST; layout <= LW_TIME_SLOW; layout++) {
        for (int64_t n = 1; n <= 13; n += 4) {
            make_file(comm, file, (enum lw_layout)layout, n);
            for (int boundary = LW_BOUNDARY_ZERO; boundary <= LW_BOUNDARY_REFLECT; boundary++)
                for (int64_t n_taps = 1; n_taps < 20; n_taps += 6)
                    check_window(comm, (n + n_taps) % 4 == 0 ? NULL : pool, file, (enum lw_layout)layout,
                                 (enum lw_boundary)boundary, n, n_taps);
        }
    }
    lw_pool_destroy(pool);
    if (lw_comm_rank(comm) == 0)
        remove(file);
    const int failed = (int)lw_comm_max(comm, check_failed);
    const int result = check_result("window");
    lw_comm_stop(comm);
    return result || failed;
}
