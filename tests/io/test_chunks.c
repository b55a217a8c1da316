/* test_chunks.c - tests of how often chunks are decoded, against the prediction of lw_reader_chunk_cost. A filter of this test
 * counts HDF5's decoding; the threads of a pool are counted by their reads of whole chunks. */
#include "io/read/reader.h"
#include "io_test.h"

#include <stdatomic.h>

enum { N = 1000, N_CHANNELS = 12, HEIGHT = 200, WIDTH = 4, N_CHUNKS = N / HEIGHT * (N_CHANNELS / WIDTH), FILTER = 300 };

static atomic_int decoded;
static bool counts_reads;

ssize_t __real_pread(int fd, void *into, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *into, size_t bytes, off_t offset);

/* Count decoded chunks: a decoder reads a chunk and its checksum with one call. */
ssize_t __wrap_pread(int fd, void *into, size_t bytes, off_t offset)
{
    decoded += counts_reads && bytes == HEIGHT * WIDTH * sizeof(uint16_t) + 4;
    return __real_pread(fd, into, bytes, offset);
}

/* An HDF5 filter that changes nothing and counts its calls. */
static size_t count_decoding(unsigned flags, size_t n, const unsigned values[], size_t n_bytes, size_t *size, void **buffer)
{
    (void)n;
    (void)values;
    (void)size;
    (void)buffer;
    decoded += (flags & H5Z_FLAG_REVERSE) != 0;
    return n_bytes;
}

static void write_file(const char *file, H5Z_filter_t filter)
{
    const hsize_t dims[2] = {N, N_CHANNELS}, chunk[2] = {HEIGHT, WIDTH};
    static uint16_t data[N * N_CHANNELS];
    fill_bytes(data, 0, sizeof data);
    const hid_t created = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 2, chunk);
    H5Pset_filter(list, filter, 0, 0, NULL);
    const hid_t dataset = H5Dcreate2(created, "x", H5T_STD_U16LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    CHECK(H5Dwrite(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "%s", file);
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(created);
}

struct way {
    enum lw_chunks chunks;
    int64_t slice, group, start;
    int n_ranks;                /* each rank reads every n_ranks-th slice; here one process reads for all of them */
    double expected;            /* expected number of times that each chunk is decoded */
};

static void read_slices(struct lw_reader *reader, const struct lw_view_spec *view, const struct way *way, int rank)
{
    struct lw_error err = {0};
    uint16_t into[N * N_CHANNELS];
    for (int64_t channel = 0; channel < N_CHANNELS; channel += way->group)
        for (int64_t first = rank * way->slice; first < view->count; first += way->n_ranks * way->slice) {
            const int64_t left = view->count - first;
            const struct lw_slab slab = {.first = first, .count = left < way->slice ? left : way->slice, .channel = channel,
                                         .n_channels = way->group, .into = into, .into_axis = way->slice};
            CHECK(lw_reader_read(reader, &slab, &err) == LW_OK, "%s", err.message);
            const size_t at = (size_t)((view->start + first) * N_CHANNELS + channel) * sizeof *into;
            CHECK(((unsigned char *)into)[0] == test_byte(at), "sample %d", (int)first);
        }
}

static void check_way(struct lw_reader *reader, const struct way *way, bool is_threads)
{
    struct lw_error err = {0};
    const struct lw_view_spec view = {.start = way->start, .count = N - way->start, .channels = {0, N_CHANNELS, 1},
                                      .max_axis = way->slice, .max_channels = way->group, .chunks = way->chunks};
    const struct lw_reads reads = {way->slice, way->group, way->n_ranks, way->n_ranks};
    const double foretold = lw_reader_chunk_cost(reader, &view, &reads).times;
    decoded = 0;
    for (int rank = 0; rank < way->n_ranks; rank++) {
        CHECK(lw_reader_select(reader, &view, &err) == LW_OK, "%s", err.message);
        counts_reads = is_threads;
        read_slices(reader, &view, way, rank);
        counts_reads = false;
    }
    const double found = (double)decoded / N_CHUNKS;
    CHECK(found == way->expected, "slices of %d x %d: decoded %g times, expected %g", (int)way->slice, (int)way->group, found,
          way->expected);
    CHECK(foretold >= found && foretold <= 1.3 * found + 1, "slices of %d x %d: decoded %g times, %g predicted",
          (int)way->slice, (int)way->group, found, foretold);
}

/* @param pool  NULL: HDF5 reads, and the file's filter counts */
static void check_file(struct lw_comm *comm, const char *folder, struct lw_pool *pool)
{
    static const struct way ways[] = {
        {LW_CHUNKS_KEPT, 10, N_CHANNELS, 0, 1, 1},          {LW_CHUNKS_KEPT, 30, N_CHANNELS, 7, 1, 1},
        {LW_CHUNKS_KEPT, 450, N_CHANNELS, 0, 1, 1},         {LW_CHUNKS_KEPT, 30, WIDTH, 7, 1, 1},
        {LW_CHUNKS_KEPT, 25, WIDTH / 2, 0, 1, 2},           {LW_CHUNKS_KEPT, 25, N_CHANNELS, 0, 2, 2},
        {LW_CHUNKS_KEPT, N, N_CHANNELS, 0, 1, 1},           {LW_CHUNKS_WHOLE, 10, N_CHANNELS, 0, 1, 20},
        {LW_CHUNKS_IN_PLACE, 25, N_CHANNELS, 0, 1, 8},      {LW_CHUNKS_WHOLE, 20, 3, 0, 1, 20},
        {LW_CHUNKS_WHOLE, 20, 6, 0, 1, 40. / 3},            {LW_CHUNKS_WHOLE, N, 2, 0, 1, 2},
    };
    char file[300], name[320];
    struct lw_error err = {0};
    struct lw_reader *reader = NULL;
    snprintf(file, sizeof file, "%s/%s.h5", folder, pool ? "threads" : "library");
    write_file(file, pool ? H5Z_FILTER_FLETCHER32 : FILTER);
    snprintf(name, sizeof name, "%s:/x", file);
    CHECK(lw_reader_open(comm, name, &reader, &err) == LW_OK, "%s", err.message);
    if (reader && pool)
        lw_reader_use(reader, pool);
    for (size_t w = 0; reader && w < sizeof ways / sizeof *ways; w++)
        check_way(reader, &ways[w], pool != NULL);
    lw_reader_close(reader);
}

int main(int argc, char **argv)
{
    static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, FILTER, 1, 1, "counting", NULL, NULL, count_decoding};
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    char folder[256], command[300];
    struct lw_error err = {0};
    struct lw_pool *pool = NULL;
    make_folder(comm, folder);
    H5Zregister(&filter);
    check_file(comm, folder, NULL);
    CHECK(lw_pool_create(4, &pool, &err) == LW_OK, "%s", err.message);
    check_file(comm, folder, pool);
    lw_pool_destroy(pool);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0, "%s", command);
    return test_end(comm, "chunks");
}
