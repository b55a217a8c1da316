/* test_reader.c - tests of the reader: for every type, byte order, storage and layout it delivers exactly the bytes that HDF5
 * wrote. Slabs may leave ranks idle, and channels may have a step. Memory around the slab is not touched. */
#include "base/memory.h"
#include "io/read/reader.h"
#include "io/shield.h"
#include "io_test.h"

enum { N = 211, N_CHANNELS = 7, ROW = 5, GUARD = 0xa5 };
enum storage { CONTIGUOUS, CHUNKED, COMPRESSED, N_STORAGES };
enum shape { VECTOR, TIME_FAST, TIME_SLOW, IMAGE, IMAGES, N_SHAPES };

static const char *const storage_names[] = {"contiguous", "chunked", "compressed"};
static const char *const shape_names[] = {"vector", "fast", "slow", "image", "images"};

/* Dimensions of the dataset; a stack of images is [channel][time][pixel]. */
static int shape_dims(enum shape shape, hsize_t dims[3], hsize_t chunk[3])
{
    static const struct {
        int n_dims;
        hsize_t dims[3], chunk[3];
    } shapes[N_SHAPES] = {
        [VECTOR] = {1, {N}, {50}},
        [TIME_FAST] = {2, {N_CHANNELS, N}, {3, 50}},
        [TIME_SLOW] = {2, {N, N_CHANNELS}, {50, 3}},
        [IMAGE] = {2, {N, ROW}, {50, 2}},
        [IMAGES] = {3, {N_CHANNELS, N, ROW}, {3, 50, 2}},
    };
    memcpy(dims, shapes[shape].dims, sizeof shapes[shape].dims);
    memcpy(chunk, shapes[shape].chunk, sizeof shapes[shape].chunk);
    return shapes[shape].n_dims;
}

static bool has_channels(enum shape shape)
{
    return shape != VECTOR && shape != IMAGE;
}

static int axis_of(enum shape shape)
{
    return shape == TIME_FAST || shape == IMAGES ? 1 : 0;
}

static void dataset_name(char name[64], int type, enum storage storage, enum shape shape)
{
    snprintf(name, 64, "/%s/%s/%d", storage_names[storage], shape_names[shape], type);
}

/* ---- the file, by HDF5 alone --------------------------------------------------------------------------------------- */

static hid_t creation_list(enum storage storage, int n_dims, const hsize_t *chunk)
{
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (storage != CONTIGUOUS)
        H5Pset_chunk(list, n_dims, chunk);
    if (storage == COMPRESSED) {
        H5Pset_shuffle(list);
        H5Pset_deflate(list, 1);
    }
    return list;
}

static void write_dataset(hid_t file, int number, enum storage storage, enum shape shape)
{
    char name[64];
    dataset_name(name, number, storage, shape);
    const struct lw_type type = test_type(number);
    hsize_t dims[3], chunk[3];
    const int n_dims = shape_dims(shape, dims, chunk);
    size_t bytes = lw_type_bytes(type);
    for (int d = 0; d < n_dims; d++)
        bytes *= (size_t)dims[d];
    unsigned char *const data = malloc(bytes);
    fill_bytes(data, 0, bytes);

    const hid_t space = H5Screate_simple(n_dims, dims, NULL);
    const hid_t stored = test_hdf5_type(type, number + (int)storage);
    const hid_t creation = creation_list(storage, n_dims, chunk), link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(link, 1);
    const hid_t dataset = H5Dcreate2(file, name, stored, space, link, creation, H5P_DEFAULT);
    CHECK(dataset >= 0 && H5Dwrite(dataset, stored, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "%s is written", name);
    H5Dclose(dataset);
    H5Pclose(link);
    H5Pclose(creation);
    H5Tclose(stored);
    H5Sclose(space);
    free(data);
}

static void write_file(const char *path)
{
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (int type = 0; type < N_TEST_TYPES; type++)
        for (int storage = 0; storage < N_STORAGES; storage++)
            for (int shape = 0; shape < N_SHAPES; shape++)
                write_dataset(file, type, (enum storage)storage, (enum shape)shape);
    H5Fclose(file);
}

/* ---- reading it ---------------------------------------------------------------------------------------------------- */

struct subject {
    struct lw_reader *reader;
    const char *name;
    enum shape shape;
    size_t sample_bytes;        /* bytes of a sample; of an image: bytes of a row */
    struct lw_view_spec view;
};

/* Position in the file of a sample of the view, counted in samples. */
static int64_t file_index(const struct subject *s, int64_t channel, int64_t time)
{
    const int64_t c = s->view.channels.begin + channel * s->view.channels.step, t = s->view.start + time;
    return s->shape == TIME_SLOW ? t * N_CHANNELS + c : c * N + t;
}

/* Compare the buffer with the expected slab, guard bytes included. */
static void compare(const struct subject *s, const struct lw_slab *slab, const unsigned char *buffer, int64_t n_samples)
{
    const size_t bytes = s->sample_bytes;
    const int64_t width = s->shape == TIME_SLOW ? slab->n_channels : slab->into_axis;
    int wrong = 0;
    for (int64_t i = 0; i < n_samples; i++) {
        const int64_t row = width ? i / width : 0, column = width ? i % width : 0;
        const int64_t channel = s->shape == TIME_SLOW ? column : row;
        const int64_t time = (s->shape == TIME_SLOW ? row : column) - slab->into_first;
        const bool is_read = slab->count > 0 && channel < slab->n_channels && time >= 0 && time < slab->count;
        const int64_t index = is_read ? file_index(s, slab->channel + channel, slab->first + time) : 0;
        for (size_t b = 0; b < bytes; b++)
            wrong += buffer[(size_t)i * bytes + b] != (is_read ? test_byte((uint64_t)index * bytes + b) : GUARD);
    }
    CHECK(wrong == 0, "%s: %d bytes wrong, axis %d+%d, channels %d+%d", s->name, wrong, (int)slab->first,
          (int)slab->count, (int)slab->channel, (int)slab->n_channels);
}

static void read_slab(const struct subject *s, struct lw_slab slab)
{
    struct lw_error err = {0};
    const int64_t n_samples = slab.into_axis * slab.n_channels + 5;
    unsigned char *const buffer = malloc((size_t)n_samples * s->sample_bytes);
    memset(buffer, GUARD, (size_t)n_samples * s->sample_bytes);
    slab.into = buffer;
    CHECK(lw_reader_read(s->reader, &slab, &err) == LW_OK, "%s: %s", s->name, err.message);
    compare(s, &slab, buffer, n_samples);
    free(buffer);
}

/* Read rounds over the axis as a run does: slices of `slice` with a halo before each. The last ranks may be idle in the last
 * round. */
static void read_rounds(const struct subject *s, struct lw_comm *comm, int64_t slice, int64_t halo, int64_t n_channels)
{
    const int64_t size = lw_comm_size(comm), rank = lw_comm_rank(comm), n = s->view.count;
    for (int64_t channel = 0; channel < n_channels; channel += s->view.max_channels)
        for (int64_t begin = 0; begin < n; begin += size * slice) {
            const int64_t first = begin + rank * slice;
            const int64_t count = first >= n ? 0 : n - first < slice ? n - first : slice;
            const int64_t rest = n_channels - channel;
            const int64_t channels = rest < s->view.max_channels ? rest : s->view.max_channels;
            read_slab(s, (struct lw_slab){.first = count ? first : 0, .count = count, .channel = channel,
                                          .n_channels = count ? channels : 0, .into_axis = halo + count,
                                          .into_first = halo});
        }
}

static void check_view_with(struct lw_comm *comm, struct subject *s, struct lw_range channels, int64_t group,
                            enum lw_chunks chunks)
{
    struct lw_error err = {0};
    const int64_t n_channels = (channels.end - channels.begin + channels.step - 1) / channels.step;
    const int64_t slices[] = {1 + N / 3, 17};
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        s->view = (struct lw_view_spec){.axis = axis_of(s->shape), .start = 13, .count = N - 20,
                                        .channels = channels, .max_axis = slices[i], .max_channels = group,
                                        .has_rows = s->shape == IMAGE || s->shape == IMAGES, .chunks = chunks};
        CHECK(lw_reader_select(s->reader, &s->view, &err) == LW_OK, "%s: %s", s->name, err.message);
        read_rounds(s, comm, slices[i], 5 * (int64_t)i, n_channels);
    }
}

static void check_view(struct lw_comm *comm, struct subject *s, struct lw_range channels, int64_t group)
{
    const bool is_chunked = lw_reader_info(s->reader)->chunk[0] > 0;
    for (int chunks = LW_CHUNKS_IN_PLACE; chunks <= (is_chunked ? LW_CHUNKS_KEPT : LW_CHUNKS_IN_PLACE); chunks++)
        check_view_with(comm, s, channels, group, (enum lw_chunks)chunks);
}

/* Open a dataset. NULL: it failed, which counts as a failed check. */
static struct lw_reader *open_dataset(struct lw_comm *comm, const char *file, const char *path)
{
    struct lw_error err = {0};
    struct lw_reader *reader = NULL;
    char name[400];
    snprintf(name, sizeof name, "%s:%s", file, path);
    CHECK(lw_reader_open(comm, name, &reader, &err) == LW_OK, "%s: %s", name, err.message);
    return reader;
}

/* @param pool NULL: the format's library reads */
static void check_dataset(struct lw_comm *comm, struct lw_pool *pool, const char *file, int number, enum storage storage,
                          enum shape shape)
{
    char path[64];
    dataset_name(path, number, storage, shape);
    const bool has_rows = shape == IMAGE || shape == IMAGES;
    struct subject s = {.name = path, .shape = shape, .sample_bytes = lw_type_bytes(test_type(number)) * (has_rows ? ROW : 1)};
    if (!(s.reader = open_dataset(comm, file, path)))
        return;
    if (pool)
        lw_reader_use(s.reader, pool);

    const struct lw_type type = test_type(number);
    const struct lw_dataset_info *const info = lw_reader_info(s.reader);
    CHECK(info->type.scalar == type.scalar && info->type.is_complex == type.is_complex &&
              info->type.is_swapped == type.is_swapped, "%s: type", path);
    hsize_t dims[3], chunk[3];
    CHECK(info->n_dims == shape_dims(shape, dims, chunk) && info->dims[axis_of(shape)] == N, "%s: shape", path);
    CHECK((info->chunk[0] > 0) == (storage != CONTIGUOUS) && info->is_compressed == (storage == COMPRESSED), "%s", path);

    if (!has_channels(shape)) {
        check_view(comm, &s, (struct lw_range){0, 1, 1}, 1);
    } else {
        check_view(comm, &s, (struct lw_range){0, N_CHANNELS, 1}, 4);
        check_view(comm, &s, (struct lw_range){1, 7, 2}, 3);
        check_view(comm, &s, (struct lw_range){2, 7, 4}, 1);
    }
    lw_reader_close(s.reader);
}

/* Slabs larger than the bounce buffer, and so many channels that a single row does not fit into it. */
static void check_wide(struct lw_comm *comm, const char *folder)
{
    enum { ROWS = 3, WIDE = 50 << 20, STEP = 1 << 20 };
    char file[300];
    snprintf(file, sizeof file, "%s/wide.h5", folder);
    if (lw_comm_rank(comm) == 0) {
        const hid_t created = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        const hsize_t dims[2] = {ROWS, WIDE};
        const hid_t space = H5Screate_simple(2, dims, NULL);
        const hid_t dataset = H5Dcreate2(created, "wide", H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        unsigned char *const data = malloc((size_t)ROWS * WIDE);
        fill_bytes(data, 0, (size_t)ROWS * WIDE);
        CHECK(H5Dwrite(dataset, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "the wide dataset cannot be written");
        free(data);
        H5Dclose(dataset);
        H5Sclose(space);
        H5Fclose(created);
    }
    lw_comm_barrier(comm);

    struct lw_error err = {0};
    struct lw_reader *const reader = open_dataset(comm, file, "/wide");
    if (!reader)
        return;
    unsigned char into[ROWS * (WIDE / STEP)] = {0};
    const struct lw_view_spec view = {.axis = 0, .count = ROWS, .channels = {7, WIDE, STEP}, .max_axis = ROWS,
                                      .max_channels = WIDE / STEP};
    const struct lw_slab slab = {.count = ROWS, .n_channels = WIDE / STEP, .into = into, .into_axis = ROWS};
    CHECK(lw_reader_select(reader, &view, &err) == LW_OK && lw_reader_read(reader, &slab, &err) == LW_OK, "%s", err.message);
    CHECK(lw_reader_bytes(reader, &view) > 0 && lw_reader_bytes(reader, &view) <= 32 << 20, "the reader's memory exceeds 32 MiB");
    for (int i = 0; i < ROWS * (WIDE / STEP); i++) {
        const int64_t index = (int64_t)(i / (WIDE / STEP)) * WIDE + 7 + (int64_t)(i % (WIDE / STEP)) * STEP;
        CHECK(into[i] == test_byte((uint64_t)index), "channel %d", i);
    }
    lw_reader_close(reader);
}

/* More than 2^31 samples in a sparse file, and a read larger than one file call may be. */
static void check_long(struct lw_comm *comm, const char *folder)
{
    const hsize_t n = ((hsize_t)1 << 31) + 1000, slab_size = ((hsize_t)1 << 30) + 12345;
    char file[300];
    snprintf(file, sizeof file, "%s/long.h5", folder);
    const hsize_t first = n - slab_size;
    const hsize_t marked[] = {first, first + ((hsize_t)1 << 30) - 1, first + ((hsize_t)1 << 30), n - 1};
    if (lw_comm_rank(comm) == 0) {
        const hid_t created = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        const hid_t space = H5Screate_simple(1, &n, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
        const hid_t dataset = H5Dcreate2(created, "long", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
        const hid_t memory = H5Screate_simple(1, &(hsize_t){1}, NULL);
        for (size_t m = 0; m < 4; m++) {
            const unsigned char value = (unsigned char)(m + 1);
            H5Sselect_elements(space, H5S_SELECT_SET, 1, &marked[m]);
            CHECK(H5Dwrite(dataset, H5T_STD_U8LE, memory, space, H5P_DEFAULT, &value) >= 0, "mark %zu", m);
        }
        H5Sclose(memory);
        H5Dclose(dataset);
        H5Pclose(list);
        H5Sclose(space);
        H5Fclose(created);
    }
    lw_comm_barrier(comm);

    struct lw_error err = {0};
    struct lw_reader *const reader = open_dataset(comm, file, "/long");
    if (!reader)
        return;
    const bool reads = lw_comm_rank(comm) == lw_comm_size(comm) - 1;    /* other ranks are idle in each of this rank's calls */
    unsigned char *const into = reads ? calloc(slab_size, 1) : NULL;
    const struct lw_view_spec view = {.count = (int64_t)n, .channels = {0, 1, 1}, .max_axis = (int64_t)slab_size,
                                      .max_channels = 1};
    const struct lw_slab slab = {.first = reads ? (int64_t)first : 0, .count = reads ? (int64_t)slab_size : 0,
                                 .n_channels = reads, .into = into, .into_axis = (int64_t)slab_size};
    CHECK(lw_reader_select(reader, &view, &err) == LW_OK && lw_reader_read(reader, &slab, &err) == LW_OK, "%s", err.message);
    for (size_t m = 0; reads && m < 4; m++)
        CHECK(into[marked[m] - first] == m + 1, "mark %zu is %d", m, into[marked[m] - first]);
    free(into);
    lw_reader_close(reader);
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* Start a new measurement of peak memory: the kernel forgets the old peak. False: the peak is not that of the reader. */
static bool forget_peak(void)
{
    if (IS_SANITIZED)                       /* the sanitizer keeps freed memory */
        return false;
    FILE *const file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return false;
    const bool done = fputs("5", file) >= 0;
    return fclose(file) == 0 && done;
}

static void write_rows(const char *path, enum storage storage, int64_t n_rows, int64_t n)
{
    const hsize_t dims[2] = {(hsize_t)n_rows, (hsize_t)n}, chunk[2] = {1, 1 << 20};
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    if (storage != CONTIGUOUS)
        H5Pset_chunk(creation, 2, chunk);
    if (storage == COMPRESSED)
        H5Pset_deflate(creation, 1);
    const hid_t dataset = H5Dcreate2(file, "rows", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    float *const data = malloc((size_t)(n_rows * n) * sizeof *data);
    for (int64_t i = 0; i < n_rows * n; i++)
        data[i] = (float)(i / 100);
    CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "the dataset cannot be written");
    free(data);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
}

/* Reading takes as much memory as lw_reader_bytes returns and a little for the file layer, but no copy of the slab. */
static void check_memory(struct lw_comm *comm, const char *folder, enum storage storage, enum lw_chunks chunks)
{
    enum { ROWS = 3, LENGTH = IS_SANITIZED ? 2000000 : 6000000, SLICE = LENGTH / 4, HALO = 1000, FILE_LAYER = 8 << 20 };
    char file[300];
    snprintf(file, sizeof file, "%s/rows.h5", folder);
    if (lw_comm_rank(comm) == 0)
        write_rows(file, storage, ROWS, LENGTH);
    lw_comm_barrier(comm);

    struct lw_error err = {0};
    struct lw_reader *const reader = open_dataset(comm, file, "/rows");
    if (!reader)
        return;
    const struct lw_view_spec view = {.axis = 1, .count = LENGTH, .channels = {0, ROWS, 1}, .max_axis = SLICE,
                                      .max_channels = ROWS, .chunks = chunks};
    const size_t bytes = (size_t)ROWS * (HALO + SLICE) * sizeof(float);
    float *const into = malloc(bytes);
    memset(into, 1, bytes);
    const bool can_tell = forget_peak();
    const int64_t before = lw_memory_peak_bytes();
    CHECK(lw_reader_select(reader, &view, &err) == LW_OK, "%s", err.message);
    for (int64_t begin = 0; begin < LENGTH; begin += lw_comm_size(comm) * SLICE) {
        const int64_t first = begin + lw_comm_rank(comm) * SLICE;
        const struct lw_slab slab = {.first = first < LENGTH ? first : 0, .count = first < LENGTH ? SLICE : 0,
                                     .n_channels = ROWS, .into = into, .into_axis = HALO + SLICE, .into_first = HALO};
        CHECK(lw_reader_read(reader, &slab, &err) == LW_OK, "%s", err.message);
        for (int64_t row = 0; row < ROWS && first < LENGTH; row++)
            CHECK(into[row * (HALO + SLICE) + HALO] == (float)((row * LENGTH + first) / 100), "row %d", (int)row);
    }
    const int64_t grown = lw_memory_peak_bytes() - before, allowed = lw_reader_bytes(reader, &view) + FILE_LAYER;
    CHECK(!can_tell || grown <= allowed, "%s: %d KiB, allowed %d", storage_names[storage], (int)(grown >> 10),
          (int)(allowed >> 10));
    free(into);
    lw_reader_close(reader);
    lw_comm_barrier(comm);
}

/* Read with HDF5 (n_threads 0) or with threads. Shapes and storages are all tried, types only one in `every`. */
static void check_types(struct lw_comm *comm, const char *file, int n_threads, int every)
{
    struct lw_error err = {0};
    struct lw_pool *pool = NULL;
    CHECK(n_threads == 0 || lw_pool_create(n_threads, &pool, &err) == LW_OK, "%s", err.message);
    for (int type = n_threads % every; type < N_TEST_TYPES; type += every)
        for (int storage = 0; storage < N_STORAGES; storage++)
            for (int shape = 0; shape < N_SHAPES; shape++)
                check_dataset(comm, pool, file, type, (enum storage)storage, (enum shape)shape);
    lw_pool_destroy(pool);
}

int main(int argc, char **argv)
{
    struct lw_error err = {0};
    CHECK(lw_shield_start(&err) == LW_OK, "%s", err.message);        /* looks at files fork a small process, as in the program */
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    char folder[256], file[300], command[300];
    make_folder(comm, folder);
    const struct handle_mark mark = mark_handles();
    snprintf(file, sizeof file, "%s/types.h5", folder);
    if (lw_comm_rank(comm) == 0)
        write_file(file);
    lw_comm_barrier(comm);
    check_types(comm, file, 0, IS_SANITIZED ? 5 : 1);
    check_types(comm, file, 1, 5);
    check_types(comm, file, 4, 1);
    check_types(comm, file, 16, 5);
    check_wide(comm, folder);
    if (!IS_SANITIZED)          /* a read of a GiB takes a minute there */
        check_long(comm, folder);
    check_memory(comm, folder, CONTIGUOUS, LW_CHUNKS_IN_PLACE);
    check_memory(comm, folder, CHUNKED, LW_CHUNKS_WHOLE);
    check_memory(comm, folder, COMPRESSED, LW_CHUNKS_WHOLE);
    check_memory(comm, folder, COMPRESSED, LW_CHUNKS_KEPT);
    lw_comm_barrier(comm);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(lw_comm_rank(comm) != 0 || system(command) == 0, "%s", command);
    check_handles(mark);
    lw_shield_stop();
    return test_end(comm, "reader");
}
