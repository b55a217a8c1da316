/* io_tool.c - reader and writer on the command line, for tests that are scripts. The exit code is that of the error.
 *
 *   io_tool show FILE:/path ...                shape, type and sampling of each dataset, one "key value" a line
 *   io_tool read FILE:/path AXIS BEGIN END STEP OUT   samples of channels BEGIN:END:STEP as raw bytes to OUT (one rank)
 *   io_tool small FILE:/path                   shape, then the values as float64
 *   io_tool list FILE
 *   io_tool write FILE SAMPLES ROUNDS PAUSE_MS  a result: /filtered complex float32 [2 x SAMPLES], written in rounds, with
 *                                              the scales /filter and /time
 *   io_tool half FILE SAMPLES ROUNDS           the same, but after half the rounds it prints a line and waits to be killed
 *   io_tool rest FILE SAMPLES ROUNDS           the rounds that such a run has not written
 *   io_tool grow FILE SAMPLES ROWS             the same in one round, with tables that grow: ROWS rows {index, snr} of /peaks,
 *                                              and no rows of /none
 *   io_tool damage FILE                        /damaged float32 [4096], whose second compressed chunk is noise */
#include "base/log.h"
#include "base/memory.h"
#include "io/list.h"
#include "io/read/reader.h"
#include "io/write/writer.h"

#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void print_shape(const struct lw_dataset_info *info)
{
    printf("shape");
    for (int d = 0; d < info->n_dims; d++)
        printf(" %" PRId64, info->dims[d]);
    printf("\n");
}

static int show(struct lw_comm *comm, const char *name, struct lw_error *err)
{
    struct lw_reader *reader;
    const int rc = lw_reader_open(comm, name, &reader, err);
    if (rc)
        return rc;
    const struct lw_dataset_info *const info = lw_reader_info(reader);
    if (lw_comm_rank(comm) == 0) {
        char type[40];
        printf("name %s\n", name);
        print_shape(info);
        printf("type %s\naxis %d\nrate %.17g\n", lw_type_text(info->type, type), info->metadata_axis,
               info->axis.sample_rate_hz);
        if (info->axis.has_start)
            printf("start %.17g\n", info->axis.start);
        printf("start_unit %s\nunit %s\nsource %s\ncompressed %d\n", info->axis.start_unit, info->axis.unit,
               info->axis.source, info->is_compressed);
    }
    lw_reader_close(reader);
    return LW_OK;
}

static int show_all(struct lw_comm *comm, char **arguments, struct lw_error *err)
{
    int rc = LW_OK;
    for (; *arguments && rc == LW_OK; arguments++)
        rc = show(comm, *arguments, err);
    return rc;
}

/* Read all samples at once, in the layout of the file. */
static int read_view(struct lw_reader *reader, const struct lw_view_spec *view, const char *out, struct lw_error *err)
{
    const size_t bytes = (size_t)(view->max_axis * view->max_channels) * lw_type_bytes(lw_reader_info(reader)->type);
    void *const samples = lw_alloc(bytes, "samples", err);
    const struct lw_slab slab = {.count = view->count, .n_channels = view->max_channels, .into = samples,
                                 .into_axis = view->count};
    int rc;
    if (!samples || (rc = lw_reader_select(reader, view, err)) || (rc = lw_reader_read(reader, &slab, err))) {
        lw_free(samples);
        return samples ? rc : LW_ESYSTEM;
    }
    FILE *const file = fopen(out, "wb");
    fwrite(samples, 1, bytes, file);
    fclose(file);
    lw_free(samples);
    return LW_OK;
}

static int read_channels(struct lw_comm *comm, char **arguments, struct lw_error *err)
{
    struct lw_reader *reader;
    int rc = lw_reader_open(comm, arguments[0], &reader, err);
    if (rc)
        return rc;
    struct lw_view_spec view = {.axis = atoi(arguments[1]),
                                .channels = {atoll(arguments[2]), atoll(arguments[3]), atoll(arguments[4])}};
    view.count = view.max_axis = lw_reader_info(reader)->dims[view.axis];
    view.max_channels = (view.channels.end - view.channels.begin + view.channels.step - 1) / view.channels.step;
    rc = read_view(reader, &view, arguments[5], err);
    lw_reader_close(reader);
    return rc;
}

static int show_small(struct lw_comm *comm, char **arguments, struct lw_error *err)
{
    struct lw_dataset_info info;
    double *values;
    const int rc = lw_reader_read_numbers(comm, arguments[0], 2, &info, &values, err);
    if (rc)
        return rc;
    int64_t count = info.type.is_complex ? 2 : 1;
    for (int d = 0; d < info.n_dims; d++)
        count *= info.dims[d];
    if (lw_comm_rank(comm) == lw_comm_size(comm) - 1) {     /* the last rank prints: with several ranks it has not read the file
                                                             * itself */
        print_shape(&info);
        for (int64_t i = 0; i < count; i++)
            printf("%.17g\n", values[i]);
    }
    lw_free(values);
    return LW_OK;
}

static void print_row(const struct lw_listing *row, void *context)
{
    (void)context;
    printf("%s|%s|%s|%s|%" PRId64 "|%s\n", row->path, row->shape, row->type, row->storage, row->stored_bytes, row->sampling);
}

static int list(struct lw_comm *comm, char **arguments, struct lw_error *err)
{
    const int rc = lw_comm_rank(comm) == 0 ? lw_list_file(arguments[0], print_row, NULL, err) : LW_OK;
    return lw_comm_agree(comm, rc, err);
}

/* ---- a result ---- */

enum { FILTERED, PEAKS, NONE, N_DATASETS };

/* The rounds [begin, end) of a result of `n_rounds` rounds that this process writes. */
struct progress {
    int64_t n_rounds, begin, end;
    long pause_ms;
};

/* Write the rounds of /filtered: sample i of filter f is (i, -f). */
static int write_rounds(struct lw_comm *comm, struct lw_writer *writer, int64_t n, const struct progress *progress,
                        struct lw_error *err)
{
    const int64_t n_rounds = progress->n_rounds;
    const long pause_ms = progress->pause_ms;
    const int64_t size = lw_comm_size(comm), rank = lw_comm_rank(comm);
    const int64_t slice = (n + size * n_rounds - 1) / (size * n_rounds);
    float *const block = lw_alloc_array(4 * slice, sizeof *block, "a block", err);
    int rc = block ? LW_OK : LW_ESYSTEM;
    for (int64_t round = progress->begin; round < progress->end && rc == LW_OK; round++) {
        const int64_t first = (round * size + rank) * slice;
        const int64_t count = first >= n ? 0 : n - first < slice ? n - first : slice;
        for (int64_t f = 0; f < 2; f++)
            for (int64_t i = 0; i < count; i++) {
                block[2 * (f * count + i)] = (float)(first + i);
                block[2 * (f * count + i) + 1] = (float)-f;
            }
        rc = lw_writer_write(writer, FILTERED, (int64_t[]){0, count ? first : 0}, (int64_t[]){2, count}, block, err);
        nanosleep(&(struct timespec){.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000}, NULL);
    }
    lw_free(block);
    return rc;
}

struct peak {
    int64_t index;
    double snr;
};

static int by_index(const void *left, const void *right)
{
    const struct peak *const a = left, *const b = right;
    return (a->index > b->index) - (a->index < b->index);
}

static struct lw_writer_dataset growing(const char *path)
{
    static const struct lw_column columns[] = {{"index", LW_COLUMN_INT}, {"snr", LW_COLUMN_REAL}};
    static const struct lw_attribute threshold = {.name = "threshold", .kind = LW_ATTRIBUTE_REAL, .real = 8};
    return (struct lw_writer_dataset){.path = path, .n_dims = 1, .dim_names = {"peak"}, .columns = columns, .n_columns = 2,
                                      .grows = true, .compare = by_index, .attributes = &threshold, .n_attributes = 1};
}

typedef int writer_start_fn(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out,
                            struct lw_error *err);

/* @param arguments  [0] the file, [1] the number of samples on the axis */
static int start_result(struct lw_comm *comm, writer_start_fn *begin, char **arguments, int n_datasets, struct lw_writer **writer,
                        struct lw_error *err)
{
    const struct lw_attribute root[] = {
        {.name = "program", .kind = LW_ATTRIBUTE_TEXT, .text = "lapwing \xc2\xb5"},
        {.name = "nothing", .kind = LW_ATTRIBUTE_TEXT, .text = ""},
        {.name = "end_time_utc", .kind = LW_ATTRIBUTE_TEXT, .text = "1970-01-01T00:00:00Z", .is_late = true},
        {.name = "samples_not_finite", .kind = LW_ATTRIBUTE_INT},
    };
    const struct lw_attribute axis[] = {
        {.name = "sample_rate_hz", .kind = LW_ATTRIBUTE_REAL, .real = 4096},
        {.name = "start_time", .kind = LW_ATTRIBUTE_REAL, .real = 1126259446.1},
        {.name = "start_unit", .kind = LW_ATTRIBUTE_TEXT, .text = "GPS second"},
        {.name = "unit", .kind = LW_ATTRIBUTE_TEXT, .text = "strain"},
        {.name = "filters", .kind = LW_ATTRIBUTE_INT, .integer = INT64_MIN},
    };
    const struct lw_writer_dataset filtered = {
        .path = "/filtered", .n_dims = 2, .dims = {2, atoll(arguments[1])}, .dim_names = {"filter", "time"},
        .has_scales = true, .scales = {{.kind = LW_SCALE_NUMBERS, .step = 1, .units = "1", .long_name = "filter"},
                                       {.kind = LW_SCALE_TIMES, .step = 1, .period = {1, 4096}, .units = "s", .long_name = "time"}},
        .type = {.scalar = LW_FLOAT32, .is_complex = true}, .attributes = axis, .n_attributes = 5,
    };
    const struct lw_writer_dataset datasets[N_DATASETS] = {filtered, growing("/peaks"), growing("/none")};
    const struct lw_writer_spec spec = {.file = arguments[0], .attributes = root, .n_attributes = 4, .datasets = datasets,
                                        .n_datasets = n_datasets};
    return begin(comm, &spec, writer, err);
}

static int finish_result(struct lw_writer *writer, struct lw_error *err)
{
    const struct lw_attribute end[] = {
        {.name = "end_time_utc", .kind = LW_ATTRIBUTE_TEXT, .text = "2026-02-03T04:05:06Z"},
        {.name = "samples_not_finite", .kind = LW_ATTRIBUTE_INT, .integer = 12},
    };
    return lw_writer_finish(writer, end, 2, err);
}

static int write_result(struct lw_comm *comm, char **arguments, struct lw_error *err)
{
    const int64_t n = atoll(arguments[1]), n_rounds = atoll(arguments[2]);
    const struct progress all = {.n_rounds = n_rounds, .end = n_rounds, .pause_ms = atol(arguments[3])};
    struct lw_writer *writer = NULL;
    int rc;
    (void)((rc = start_result(comm, lw_writer_create, arguments, 1, &writer, err)) ||
           (rc = write_rounds(comm, writer, n, &all, err)) || (rc = finish_result(writer, err)));
    lw_writer_destroy(writer);
    return rc;
}

static int write_half(struct lw_comm *comm, char **arguments, struct lw_error *err)
{
    const int64_t n = atoll(arguments[1]), n_rounds = atoll(arguments[2]);
    const struct progress half = {.n_rounds = n_rounds, .end = n_rounds / 2};
    struct lw_writer *writer = NULL;
    int rc;
    if ((rc = start_result(comm, lw_writer_create, arguments, 1, &writer, err)) ||
        (rc = write_rounds(comm, writer, n, &half, err))) {
        lw_writer_destroy(writer);
        return rc;
    }
    lw_comm_barrier(comm);
    printf("half\n");
    fflush(stdout);
    for (;;)
        pause();
}

static int write_rest(struct lw_comm *comm, char **arguments, struct lw_error *err)
{
    const int64_t n = atoll(arguments[1]), n_rounds = atoll(arguments[2]);
    const struct progress rest = {.n_rounds = n_rounds, .begin = n_rounds / 2, .end = n_rounds};
    struct lw_writer *writer = NULL;
    int rc;
    (void)((rc = start_result(comm, lw_writer_open, arguments, 1, &writer, err)) ||
           (rc = write_rounds(comm, writer, n, &rest, err)) || (rc = finish_result(writer, err)));
    lw_writer_destroy(writer);
    return rc;
}

/* Rank 0 appends the peaks, the last one first: peak i has index 3 i. */
static int append_peaks(struct lw_comm *comm, struct lw_writer *writer, int64_t n, struct lw_error *err)
{
    struct peak batch[1000];
    int64_t left = lw_comm_rank(comm) == 0 ? n : 0;
    int rc = LW_OK;
    while (left > 0 && rc == LW_OK) {
        const int64_t count = left < 1000 ? left : 1000;
        for (int64_t i = 0; i < count; i++)
            batch[i] = (struct peak){3 * (left - 1 - i), 8 + (double)(left - 1 - i) / 2};
        rc = lw_writer_append(writer, PEAKS, batch, count, err);
        left -= count;
    }
    return lw_comm_agree(comm, rc, err);
}

static int write_growing(struct lw_comm *comm, char **arguments, struct lw_error *err)
{
    const struct progress all = {.n_rounds = 1, .end = 1};
    struct lw_writer *writer = NULL;
    int rc;
    (void)((rc = start_result(comm, lw_writer_create, arguments, N_DATASETS, &writer, err)) ||
           (rc = append_peaks(comm, writer, atoll(arguments[2]), err)) ||
           (rc = write_rounds(comm, writer, atoll(arguments[1]), &all, err)) || (rc = finish_result(writer, err)));
    lw_writer_destroy(writer);
    return rc;
}

static int damage(struct lw_comm *comm, char **arguments, struct lw_error *err)
{
    const hsize_t length = 4096, chunk = 1024, where = 1024;
    const float zeros[4096] = {0};
    const char noise[100] = "no deflated data";
    if (lw_comm_rank(comm) != 0)
        return LW_OK;
    const hid_t file = H5Fcreate(arguments[0], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(1, &length, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &chunk);
    H5Pset_deflate(creation, 6);
    const hid_t dataset = H5Dcreate2(file, "damaged", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    const bool done = H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0 &&
                      H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &where, sizeof noise, noise) >= 0;
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
    return done ? LW_OK : lw_fail(err, LW_EIO, "cannot write %s", arguments[0]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int n_arguments;        /* 0: any number */
        int (*run)(struct lw_comm *comm, char **arguments, struct lw_error *err);
    } commands[] = {
        {"show", 0, show_all}, {"read", 6, read_channels}, {"small", 1, show_small}, {"list", 1, list},
        {"write", 4, write_result}, {"half", 3, write_half}, {"rest", 3, write_rest}, {"grow", 3, write_growing},
        {"damage", 1, damage},
    };
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    struct lw_error err = {0};
    int rc = lw_fail(&err, LW_EUSAGE, "usage: io_tool show|read|small|list|write|half|rest|grow|damage ...");
    lw_log_start(lw_comm_rank(comm), lw_comm_host(comm), LW_LOG_VERBOSE);
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++)
        if (argc > 1 && strcmp(argv[1], commands[c].name) == 0 &&
            (commands[c].n_arguments == 0 || argc == commands[c].n_arguments + 2))
            rc = commands[c].run(comm, argv + 2, &err);
    if (rc)
        lw_log_error(&err);
    lw_comm_stop(comm);
    return rc;
}
