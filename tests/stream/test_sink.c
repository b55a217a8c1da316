/* test_sink.c - tests of sinks. Any cut into slices gives the same file: for two products of one slot, for a bank of filters, for
 * every third output of each channel, and for interpolated series. The rows of a table are ordered by run, whichever rank had
 * them. */
#include "../check.h"
#include "io/read/reader.h"
#include "io/write/writer.h"
#include "stream/sink.h"

#include <hdf5.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_FILTERS = 2, N_CHANNELS = 5, EVERY = 3 };

/* The expected element of the file: a number that encodes its place. */
static float value(int product, int64_t plane, int64_t channel, int64_t output)
{
    return (float)(((product * N_FILTERS + plane) * N_CHANNELS + channel) * 1000 + output);
}

static struct lw_op_plan make_plan(int64_t n, int rate)
{
    const struct lw_type type = {.scalar = LW_FLOAT32};
    return (struct lw_op_plan){
        .n_outputs = n, .n_products = 2,
        .products = {{.type = type, .n_planes = N_FILTERS, .width = 1, .rate = rate, .every = 1},
                     {.type = type, .n_planes = 1, .width = 1, .rate = 1, .every = EVERY}},
    };
}

static void make_job(struct lw_job *job, int64_t n, int rate)
{
    const struct lw_type type = {.scalar = LW_FLOAT32};
    *job = (struct lw_job){.n_products = 2, .n_outputs = n};
    job->products[0] = (struct lw_product){
        .dataset = {.path = "/all", .n_dims = 3, .dims = {N_FILTERS, N_CHANNELS, (n - 1) * rate + 1}, .type = type},
        .axis_dim = 2, .channel_dim = 1};
    job->products[1] = (struct lw_product){
        .dataset = {.path = "/few", .n_dims = 2, .dims = {N_CHANNELS, (n + EVERY - 1) / EVERY}, .type = type},
        .axis_dim = 1, .channel_dim = 0};
}

/* Fill a slot's arrays [plane][channel][output] packed for its block, as an engine does. */
static void fill(const struct lw_op_plan *plan, struct lw_slot *slot)
{
    const struct lw_block *const block = &slot->block;
    for (int p = 0; p < plan->n_products; p++) {
        float *to = slot->products[p].data;
        const int64_t first = lw_op_first_output(plan, p, block), count = lw_op_outputs(plan, p, block);
        for (int64_t plane = 0; plane < plan->products[p].n_planes; plane++)
            for (int64_t c = 0; c < block->n_channels; c++)
                for (int64_t i = 0; i < count; i++)
                    *to++ = value(p, plane, block->channel + c, first + i);
    }
}

static void write_rounds(struct lw_comm *comm, const struct lw_sinks *sinks, const struct lw_rounds *rounds)
{
    struct lw_error err;
    struct lw_slot slot = {0};
    for (int p = 0; p < sinks->op->n_products; p++)
        slot.products[p].data = malloc((size_t)lw_op_product_bytes(sinks->op, p, rounds->slice, rounds->group));
    for (int64_t round = 0; round < rounds->n_rounds; round++) {
        slot.block = lw_rounds_block(rounds, round, lw_comm_rank(comm));
        fill(sinks->op, &slot);
        struct lw_sink_writes writes = {0};
        lw_sinks_begin(sinks, &slot, &writes);
        CHECK(lw_sinks_end(sinks, &writes, &err) == LW_OK, "%s", err.message);
    }
    for (int p = 0; p < sinks->op->n_products; p++)
        free(slot.products[p].data);
}

static void check_rows(struct lw_reader *reader, int product, int64_t n_rows, int64_t n, int64_t slice)
{
    struct lw_error err;
    float *const row = malloc((size_t)n * sizeof *row);
    for (int64_t r = 0; r < n_rows; r++) {
        const struct lw_slab slab = {.count = n, .channel = r, .n_channels = 1, .into = row, .into_axis = n};
        CHECK(lw_reader_read(reader, &slab, &err) == LW_OK, "%s", err.message);
        for (int64_t i = 0; i < n; i++)
            CHECK(row[i] == value(product, r / N_CHANNELS, r % N_CHANNELS, i), "product %d, row %" PRId64 ", output %" PRId64
                  " of %" PRId64 ", slices of %" PRId64, product, r, i, n, slice);
    }
    free(row);
}

/* The bank of filters is read like images: one plane of rows for each filter. */
static void check_file(struct lw_comm *comm, const char *file, const struct lw_job *job, int64_t slice)
{
    struct lw_error err;
    struct lw_reader *reader = NULL;
    char name[300];
    const int64_t n = job->products[0].dataset.dims[2], few = job->products[1].dataset.dims[1];
    snprintf(name, sizeof name, "%s:/few", file);
    CHECK(lw_reader_open(comm, name, &reader, &err) == LW_OK, "%s", err.message);
    struct lw_view_spec view = {.axis = 1, .count = few, .channels = {0, N_CHANNELS, 1}, .max_axis = few, .max_channels = 1};
    CHECK(lw_reader_select(reader, &view, &err) == LW_OK, "%s", err.message);
    check_rows(reader, 1, N_CHANNELS, few, slice);
    lw_reader_close(reader);

    float *const all = malloc((size_t)(N_FILTERS * N_CHANNELS * n) * sizeof *all);
    snprintf(name, sizeof name, "%s:/all", file);
    CHECK(lw_reader_open(comm, name, &reader, &err) == LW_OK, "%s", err.message);
    view = (struct lw_view_spec){.axis = 1, .count = N_CHANNELS, .channels = {0, N_FILTERS, 1}, .has_rows = true,
                                 .max_axis = N_CHANNELS, .max_channels = N_FILTERS};
    CHECK(lw_reader_select(reader, &view, &err) == LW_OK, "%s", err.message);
    const struct lw_slab slab = {.count = N_CHANNELS, .n_channels = N_FILTERS, .into = all, .into_axis = N_CHANNELS};
    CHECK(lw_reader_read(reader, &slab, &err) == LW_OK, "%s", err.message);
    for (int64_t i = 0; i < N_FILTERS * N_CHANNELS * n; i++)
        CHECK(all[i] == value(0, i / n / N_CHANNELS, i / n % N_CHANNELS, i % n), "output %" PRId64 " of %" PRId64, i, n);
    lw_reader_close(reader);
    free(all);
}

static void check_cuts(struct lw_comm *comm, const char *file, int64_t n, int rate, int64_t slice, int64_t group)
{
    struct lw_job job;
    struct lw_error err;
    struct lw_writer *writer = NULL;
    const struct lw_op_plan plan = make_plan(n, rate);
    make_job(&job, n, rate);
    const struct lw_writer_dataset datasets[] = {job.products[0].dataset, job.products[1].dataset};
    const struct lw_writer_spec spec = {.file = file, .overwrite = true, .datasets = datasets, .n_datasets = 2};
    CHECK(lw_writer_create(comm, &spec, &writer, &err) == LW_OK, "%s", err.message);
    const struct lw_grid grid = {.n_outputs = n, .unit = 1, .n_channels = N_CHANNELS, .channel_unit = 1};
    const struct lw_rounds rounds = lw_rounds_make(&grid, lw_comm_size(comm), LW_SPLIT_AXIS, slice, group);
    const struct lw_sinks sinks = {&job, &plan, writer, NULL, false};
    write_rounds(comm, &sinks, &rounds);
    CHECK(lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);
    check_file(comm, file, &job, slice);
    lw_comm_barrier(comm);
}

/* ---- tables: runs of 0, 3, 6 ... rows, dealt out to the ranks ---- */

enum { N_RUNS = 7 };

struct row {
    int64_t run, number;
};

static int64_t count_rows(const void *context, int64_t run)
{
    (void)context;
    return 3 * (run % 4);
}

static bool has_rows(const void *context, int64_t run)
{
    const struct lw_comm *const comm = context;
    return run % lw_comm_size(comm) == lw_comm_rank(comm);
}

static void fill_rows(const void *context, int64_t run, int64_t first, int64_t count, void *into)
{
    CHECK(has_rows(context, run), "rank %d is asked for run %" PRId64, lw_comm_rank(context), run);
    for (int64_t i = 0; i < count; i++)
        ((struct row *)into)[i] = (struct row){run, first + i};
}

/* The table is read as rows one after the other, with one int64 element for each column. */
static void check_table(struct lw_comm *comm, const char *file, int64_t buffer_rows)
{
    static const struct lw_column columns[] = {{"run", LW_COLUMN_INT}, {"number", LW_COLUMN_INT}};
    int64_t n_rows = 0, at = 0;
    for (int64_t run = 0; run < N_RUNS; run++)
        n_rows += count_rows(comm, run);
    const struct lw_writer_dataset table = {.path = "/table", .n_dims = 1, .dims = {n_rows}, .columns = columns, .n_columns = 2};
    const struct lw_writer_spec spec = {.file = file, .overwrite = true, .datasets = &table, .n_datasets = 1};
    const struct lw_table_rows rows = {N_RUNS, comm, count_rows, has_rows, fill_rows};
    struct lw_error err;
    struct lw_writer *writer = NULL;
    struct row buffer[8], found[64];
    CHECK(lw_writer_create(comm, &spec, &writer, &err) == LW_OK &&
              lw_writer_rows(writer, 0, &rows, buffer, buffer_rows, &err) == LW_OK &&
              lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);

    const hid_t in = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(in, "/table", H5P_DEFAULT);
    const hid_t type = H5Dget_type(dataset);
    CHECK(n_rows <= 64 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, found) >= 0, "the table cannot be read");
    for (int64_t run = 0; run < N_RUNS; run++)
        for (int64_t i = 0; i < count_rows(comm, run); i++, at++)
            CHECK(found[at].run == run && found[at].number == i, "row %" PRId64 " is number %" PRId64 " of run %" PRId64, at,
                  found[at].number, found[at].run);
    H5Tclose(type);
    H5Dclose(dataset);
    H5Fclose(in);
    lw_comm_barrier(comm);      /* all ranks have read before the file is replaced */
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    int pid = (int)getpid();
    lw_comm_broadcast(comm, &pid, sizeof pid);
    char file[64];
    snprintf(file, sizeof file, "sink-%d.h5", pid);
    for (int64_t n = 1; n <= 20; n += 6)
        for (int rate = 1; rate <= 4; rate += 3)
            for (int64_t slice = 1; slice <= 8; slice += 3)
                check_cuts(comm, file, n, rate, slice, slice % 2 ? 2 : N_CHANNELS);
    for (int64_t buffer_rows = 1; buffer_rows <= 8; buffer_rows++)
        check_table(comm, file, buffer_rows);
    if (lw_comm_rank(comm) == 0)
        remove(file);
    const int failed = (int)lw_comm_max(comm, check_failed);
    const int result = check_result("sink");
    lw_comm_stop(comm);
    return result || failed;
}
