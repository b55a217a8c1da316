/* test_map.c - tests of maps of weights, read by 1 to 3 ranks for blocks of images: each number is the one of the file, converted
 * by its kind; rows beyond the image are 0; a map of one image serves all. HDF5 reads them, or the threads of a pool. */
#include "../check.h"
#include "io/write/writer.h"
#include "job/weights.h"
#include "stream/map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_IMAGES = 4, ROWS = 23, COLUMNS = 5, START = 3, COUNT = 17, HALO = 6, MOST = 9 };

/* A map: its type, what it holds, and its images. */
struct trial {
    enum lw_scalar scalar;
    enum lw_map_kind kind;
    int n_images, n_dims;
};

/* Return the number that the file holds for a pixel; some are 0, some negative. */
static double stored(int64_t image, int64_t row, int64_t column)
{
    const int64_t i = (image * ROWS + row) * COLUMNS + column;
    return i % 7 == 0 ? 0 : i % 11 == 0 ? -2 : (double)(1 + i % 100);
}

static double wanted(const struct trial *trial, int64_t image, int64_t row, int64_t column)
{
    if (row < 0 || row >= COUNT)
        return 0;
    const double number = stored(trial->n_images == 1 ? 0 : image, START + row, column);
    switch (trial->kind) {
    case LW_MAP_VARIANCE: return number > 0 ? (float)(1 / number) : 0;
    case LW_MAP_MASK: return number == 0;
    default: return number;
    }
}

static void make_file(struct lw_comm *comm, const char *file, const struct trial *trial)
{
    struct lw_writer_dataset dataset = {
        .path = "/map", .n_dims = trial->n_dims, .type = {.scalar = trial->scalar}, .dim_names = {"image", "row", "column"},
    };
    int64_t *const dims = dataset.dims;
    if (trial->n_dims == 3)
        dims[0] = trial->n_images;
    dims[trial->n_dims - 2] = ROWS;
    dims[trial->n_dims - 1] = COLUMNS;
    const struct lw_writer_spec spec = {.file = file, .overwrite = true, .datasets = &dataset, .n_datasets = 1};
    const int64_t n = (int64_t)trial->n_images * ROWS * COLUMNS, first[3] = {0}, nothing[3] = {0};
    int16_t *const integers = malloc((size_t)n * sizeof *integers);
    float *const reals = malloc((size_t)n * sizeof *reals);
    for (int64_t i = 0; i < n; i++) {
        integers[i] = (int16_t)stored(i / COLUMNS / ROWS, i / COLUMNS % ROWS, i % COLUMNS);
        reals[i] = integers[i];
    }
    struct lw_error err;
    struct lw_writer *writer = NULL;
    CHECK(lw_writer_create(comm, &spec, &writer, &err) == LW_OK, "%s", err.message);
    CHECK(lw_writer_write(writer, 0, first, lw_comm_rank(comm) == 0 ? dims : nothing,
                          trial->scalar == LW_INT16 ? (void *)integers : reals, &err) == LW_OK, "%s", err.message);
    CHECK(lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);
    free(integers);
    free(reals);
}

/* Read the map of a block with its halo, as the loop does. */
static void check_block(struct lw_map *map, const struct trial *trial, int64_t begin, int64_t count, int64_t channel,
                        int64_t n_channels, char *into)
{
    const struct lw_type type = {.scalar = trial->scalar};
    const int64_t axis = HALO + count;
    const struct lw_window_part part = {begin, begin + count, channel, n_channels, NULL, axis, HALO};
    struct lw_error err;
    CHECK(lw_map_begin(map, &part, into, &err) == LW_OK, "%s", err.message);
    usleep(begin % 5 == 0 ? 50 : 0);
    CHECK(lw_map_end(map, &err) == LW_OK, "%s", err.message);
    int64_t n_wrong = 0;
    for (int64_t i = 0; count > 0 && i < n_channels * axis * COLUMNS; i++) {
        const int64_t image = 1 + channel + i / COLUMNS / axis, row = begin - HALO + i / COLUMNS % axis;
        n_wrong += lw_type_number(type, into, i) != wanted(trial, image, row, i % COLUMNS);
    }
    CHECK(n_wrong == 0, "kind %d, %d images, rows %" PRId64 " + %" PRId64 ": %" PRId64 " numbers are wrong", (int)trial->kind,
          trial->n_images, begin, count, n_wrong);
}

/* @param pool  NULL: HDF5 reads */
static void check_map(struct lw_comm *comm, struct lw_pool *pool, const char *file, const struct trial *trial)
{
    struct lw_error err;
    struct lw_reader *reader = NULL;
    struct lw_map *map = NULL;
    char name[300];
    make_file(comm, file, trial);
    snprintf(name, sizeof name, "%s:/map", file);
    CHECK(lw_reader_open(comm, name, &reader, &err) == LW_OK, "%s", err.message);
    lw_reader_use(reader, pool);
    struct lw_job job = {
        .n_samples = COUNT, .map_kind = trial->kind,
        .view = {.axis = 1, .start = START, .count = COUNT, .channels = {1, N_IMAGES, 1}, .has_rows = true},
    };
    job.op.kind = LW_OP_CONV2D;
    job.op.layout = LW_TIME_FAST;
    job.op.n_channels = N_IMAGES - 1;
    job.op.conv2d.columns = COLUMNS;
    job.op.conv2d.weights = trial->kind == LW_MAP_SIGMA ? LW_WEIGHTS_SIGMA : LW_WEIGHTS_INVERSE;
    job.op.conv2d.map = (struct lw_type){.scalar = trial->scalar};
    const struct lw_plan plan = {.op = {.halo = HALO, .input_width = COLUMNS}, .rounds = {.slice = MOST, .group = 2}};
    CHECK(lw_map_bytes(reader, &job, &plan) > 0 && lw_map_bytes(NULL, &job, &plan) == 0, "bytes of reading");
    const int64_t each = (int64_t)COUNT * COLUMNS * (int64_t)lw_scalar_bytes(trial->scalar);
    CHECK(lw_map_input_bytes(reader, &job) == each * (trial->n_images == 1 ? 1 : N_IMAGES - 1), "bytes of the map");
    CHECK(lw_map_create(reader, &job, &plan, &map, &err) == LW_OK, "%s", err.message);
    char *const into = malloc((size_t)(2 * (HALO + MOST) * COLUMNS * (int64_t)lw_scalar_bytes(trial->scalar)));
    for (int64_t begin = -2; begin < COUNT + HALO; begin++)        /* ranks read different blocks; rank 0 sometimes none */
        for (int64_t channel = 0; channel < 2; channel++)
            check_block(map, trial, begin, (begin + 2 + 3 * lw_comm_rank(comm)) % (MOST + 1), channel, 1 + channel % 2, into);
    free(into);
    lw_map_destroy(map);
    lw_reader_close(reader);
}

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {LW_FLOAT32, LW_MAP_SIGMA, N_IMAGES, 3}, {LW_INT16, LW_MAP_SIGMA, 1, 2},      {LW_FLOAT32, LW_MAP_INVERSE, 1, 3},
        {LW_FLOAT32, LW_MAP_VARIANCE, N_IMAGES, 3}, {LW_FLOAT32, LW_MAP_VARIANCE, 1, 2}, {LW_INT16, LW_MAP_MASK, N_IMAGES, 3},
        {LW_FLOAT32, LW_MAP_MASK, 1, 2},
    };
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    int pid = (int)getpid();
    lw_comm_broadcast(comm, &pid, sizeof pid);
    struct lw_error err;
    struct lw_pool *pool = NULL;
    CHECK(lw_pool_create(2, &pool, &err) == LW_OK, "%s", err.message);
    char file[64];
    snprintf(file, sizeof file, "map-%d.h5", pid);
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++)
        for (int threads = 0; threads < 2; threads++)
            check_map(comm, threads ? pool : NULL, file, &trials[t]);
    lw_pool_destroy(pool);
    if (lw_comm_rank(comm) == 0)
        remove(file);
    const int failed = (int)lw_comm_max(comm, check_failed);
    const int result = check_result("map");
    lw_comm_stop(comm);
    return result || failed;
}
