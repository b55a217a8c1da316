/* test_writer.c - tests of the writer: HDF5 reads back every byte, for every type, 1 to 4 dimensions, blocks that leave ranks
 * idle and tables that grow, with collective calls and with threads of each rank. The file's structure is as documented:
 * contiguous, aligned, marked complete only at the end, and renamed once. */
#include "io/write/result_file.h"
#include "io/write/writer.h"
#include "io_test.h"

#include <sys/stat.h>

enum { LARGE = 300000 };        /* float64 samples; datasets of this size are aligned */

/* threads that write; NULL: collective calls */
static struct lw_pool *pool;

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static void part_name(const char *file, char part[320])
{
    snprintf(part, 320, "%.300s.lapwing-part", file);
}

/* ---- data ---------------------------------------------------------------------------------------------------------- */

static const int64_t shapes[LW_MAX_DIMS][LW_MAX_DIMS] = {{97}, {5, 41}, {2, 3, 29}, {2, 3, 4, 11}};

static int64_t n_samples(const int64_t *dims, int n_dims)
{
    int64_t count = 1;
    for (int d = 0; d < n_dims; d++)
        count *= dims[d];
    return count;
}

/* Fill a block with the bytes that its samples have in the whole dataset, in the order of the block. */
static void fill_block(unsigned char *data, const int64_t *dims, int n_dims, const int64_t *first, const int64_t *count,
                       size_t bytes)
{
    const int64_t n = n_samples(count, n_dims);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, index = 0, scale = 1;
        for (int d = n_dims - 1; d >= 0; d--) {
            index += (first[d] + rest % count[d]) * scale;
            rest /= count[d];
            scale *= dims[d];
        }
        fill_bytes(data + (size_t)i * bytes, (uint64_t)index * bytes, bytes);
    }
}

/* Write rounds along the last dimension, 3 samples a rank: the last ranks have none in the last round. Two writes are in flight
 * at a time. */
static void write_all(struct lw_comm *comm, struct lw_writer *writer, int dataset, const int64_t *dims, int n_dims,
                      size_t bytes)
{
    const int64_t slice = 3, size = lw_comm_size(comm), rank = lw_comm_rank(comm), n = dims[n_dims - 1];
    const size_t block_bytes = (size_t)n_samples(dims, n_dims) * bytes;
    unsigned char *const data = malloc(2 * block_bytes);
    struct lw_write writes[2] = {0};
    struct lw_error err = {0};
    int round = 0;
    for (int64_t begin = 0; begin < n; begin += size * slice, round++) {
        int64_t first[LW_MAX_DIMS] = {0}, count[LW_MAX_DIMS];
        unsigned char *const block = data + (size_t)(round % 2) * block_bytes;
        memcpy(count, dims, sizeof count);
        const int64_t mine = begin + rank * slice;
        first[n_dims - 1] = mine < n ? mine : 0;
        count[n_dims - 1] = mine >= n ? 0 : n - mine < slice ? n - mine : slice;
        CHECK(lw_writer_end(writer, &writes[round % 2], &err) == LW_OK, "%s", err.message);
        fill_block(block, dims, n_dims, first, count, bytes);
        lw_writer_begin(writer, dataset, first, count, block, &writes[round % 2]);
    }
    for (int w = 0; w < 2; w++)
        CHECK(lw_writer_end(writer, &writes[w], &err) == LW_OK, "%s", err.message);
    free(data);
}

static void compare_all(hid_t file, const char *path, struct lw_type type, const int64_t *dims, int n_dims)
{
    const hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT), stored = H5Dget_type(dataset);
    const hid_t wanted = test_hdf5_type(type, 0), space = H5Dget_space(dataset);
    hsize_t found[LW_MAX_DIMS] = {0};
    CHECK(H5Tequal(stored, wanted) > 0, "%s: type", path);
    CHECK(H5Sget_simple_extent_dims(space, found, NULL) == n_dims, "%s: dimensions", path);
    for (int d = 0; d < n_dims; d++)
        CHECK((int64_t)found[d] == dims[d], "%s: dimension %d has %d", path, d, (int)found[d]);

    const size_t bytes = (size_t)n_samples(dims, n_dims) * lw_type_bytes(type);
    unsigned char *const data = malloc(bytes), *const expected = malloc(bytes);
    fill_bytes(expected, 0, bytes);
    CHECK(H5Dread(dataset, stored, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "%s is read", path);
    CHECK(memcmp(data, expected, bytes) == 0, "%s: data", path);
    free(expected);
    free(data);
    H5Sclose(space);
    H5Tclose(wanted);
    H5Tclose(stored);
    H5Dclose(dataset);
}

static int list_datasets(struct lw_writer_dataset datasets[N_TEST_TYPES * LW_MAX_DIMS], char paths[][40])
{
    int n = 0;
    for (int t = 0; t < N_TEST_TYPES; t++)
        for (int n_dims = 1; n_dims <= LW_MAX_DIMS; n_dims++, n++) {
            snprintf(paths[n], 40, "/group/of/%d/in%dd", t, n_dims);
            datasets[n] = (struct lw_writer_dataset){.path = paths[n], .n_dims = n_dims, .type = test_type(t)};
            memcpy(datasets[n].dims, shapes[n_dims - 1], sizeof datasets[n].dims);
        }
    return n;
}

static void check_types(struct lw_comm *comm, const char *file)
{
    static struct lw_writer_dataset datasets[N_TEST_TYPES * LW_MAX_DIMS];
    static char paths[N_TEST_TYPES * LW_MAX_DIMS][40];
    const struct lw_writer_spec spec = {.file = file, .datasets = datasets, .n_datasets = list_datasets(datasets, paths),
                                        .pool = pool};
    struct lw_error err = {0};
    struct lw_writer *writer = NULL;
    const int rc = lw_writer_create(comm, &spec, &writer, &err);
    CHECK(rc == LW_OK, "%s", err.message);
    if (rc)
        return;
    for (int d = 0; d < spec.n_datasets; d++)
        write_all(comm, writer, d, datasets[d].dims, datasets[d].n_dims, lw_type_bytes(datasets[d].type));
    CHECK(!exists(file), "the file has its final name before the end");
    CHECK(lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s", err.message);
    CHECK(exists(file), "the file does not have its final name");
    lw_writer_destroy(writer);
    if (lw_comm_rank(comm) != 0)
        return;
    const hid_t opened = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (int d = 0; d < spec.n_datasets; d++)
        compare_all(opened, datasets[d].path, datasets[d].type, datasets[d].dims, datasets[d].n_dims);
    H5Fclose(opened);
}

/* ---- structure ----------------------------------------------------------------------------------------------------- */

static int64_t read_int(hid_t object, const char *name)
{
    int64_t value = -1;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute >= 0) {
        H5Aread(attribute, H5T_NATIVE_INT64, &value);
        H5Aclose(attribute);
    }
    return value;
}

static void check_layout(hid_t file)
{
    const hid_t dataset = H5Dopen2(file, "/large", H5P_DEFAULT), list = H5Dget_create_plist(dataset);
    CHECK(H5Pget_layout(list) == H5D_CONTIGUOUS, "the dataset is not contiguous");
    CHECK(H5Dget_offset(dataset) % (1 << 20) == 0, "starts at %llu", (unsigned long long)H5Dget_offset(dataset));
    CHECK(read_int(dataset, "taps") == -7, "the dataset's attribute is wrong");
    H5Pclose(list);
    H5Dclose(dataset);
}

/* Check the file that a kill would leave now: it is readable and marked as not complete. */
static void check_unfinished(const char *part)
{
    struct stat status;
    CHECK(stat(part, &status) == 0 && status.st_blocks * 512 >= LARGE * 8, "%d blocks are reserved", (int)status.st_blocks);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 10, 7)
    H5Pset_file_locking(access, false, true);
#endif
    const hid_t file = H5Fopen(part, H5F_ACC_RDONLY, access);
    CHECK(file >= 0, "%s is readable", part);
    if (file >= 0) {
        CHECK(read_int(file, "lapwing_complete") == 0, "an unfinished file is not marked as incomplete");
        check_layout(file);
        H5Fclose(file);
    }
    H5Pclose(access);
}

static int create_large(struct lw_comm *comm, const char *file, bool overwrite, struct lw_writer **writer,
                        struct lw_error *err)
{
    char host[32];
    snprintf(host, sizeof host, "host of rank %d", lw_comm_rank(comm));
    const struct lw_attribute root[] = {
        {.name = "host", .kind = LW_ATTRIBUTE_TEXT, .text = host},
        {.name = "empty", .kind = LW_ATTRIBUTE_TEXT, .text = ""},
        {.name = "end", .kind = LW_ATTRIBUTE_TEXT, .text = "1970-01-01", .is_late = true},
        {.name = "bad_samples", .kind = LW_ATTRIBUTE_INT, .integer = lw_comm_rank(comm)},
        {.name = "rate", .kind = LW_ATTRIBUTE_REAL, .real = 0.1},
    };
    const struct lw_attribute taps = {.name = "taps", .kind = LW_ATTRIBUTE_INT, .integer = -7};
    const struct lw_writer_dataset large = {
        .path = "/large", .n_dims = 1, .dims = {LARGE}, .dim_names = {"time"}, .type = {.scalar = LW_FLOAT64},
        .attributes = &taps, .n_attributes = 1,
    };
    const struct lw_writer_spec spec = {.file = file, .overwrite = overwrite, .attributes = root, .n_attributes = 5,
                                        .datasets = &large, .n_datasets = 1, .pool = pool};
    return lw_writer_create(comm, &spec, writer, err);
}

static void check_finished(const char *file)
{
    char text[32] = "";
    const hid_t opened = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(read_int(opened, "lapwing_complete") == 1, "the finished file is not marked as complete");
    CHECK(read_int(opened, "bad_samples") == 42, "a number that was set at the end is wrong");
    const hid_t attribute = H5Aopen(opened, "end", H5P_DEFAULT), type = H5Aget_type(attribute);
    CHECK(H5Aread(attribute, type, text) >= 0 && strcmp(text, "2026-1-1") == 0, "late text '%s'", text);
    CHECK(H5Tget_size(type) == 10, "the space for a late text changed its size");
    H5Tclose(type);
    H5Aclose(attribute);

    char *host = NULL;
    const hid_t variable = H5Aopen(opened, "host", H5P_DEFAULT), its_type = H5Aget_type(variable);
    CHECK(H5Aread(variable, its_type, &host) >= 0 && strcmp(host, "host of rank 0") == 0, "a text is not that of rank 0");
    H5free_memory(host);
    H5Tclose(its_type);
    H5Aclose(variable);
    check_layout(opened);
    H5Fclose(opened);
}

static void check_life(struct lw_comm *comm, const char *file)
{
    struct lw_error err = {0};
    struct lw_writer *writer = NULL;
    char part[320];
    part_name(file, part);
    CHECK(create_large(comm, file, false, &writer, &err) == LW_OK, "%s", err.message);
    CHECK(exists(part) && !exists(file), "the file must have its temporary name only");
    if (lw_comm_rank(comm) == 0)
        check_unfinished(part);
    lw_comm_barrier(comm);

    struct lw_writer *second = NULL;
    CHECK(create_large(comm, file, false, &second, &err) == LW_EIO && strstr(err.message, "another run"), "%s", err.message);

    const struct lw_attribute late[] = {
        {.name = "end", .kind = LW_ATTRIBUTE_TEXT, .text = "2026-1-1"},
        {.name = "bad_samples", .kind = LW_ATTRIBUTE_INT, .integer = 42},
    };
    CHECK(lw_writer_finish(writer, late, 2, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);
    CHECK(exists(file) && !exists(part), "the file must have its final name only");
    if (lw_comm_rank(comm) == 0)
        check_finished(file);
    lw_comm_barrier(comm);

    CHECK(create_large(comm, file, false, &second, &err) == LW_EIO && strstr(err.message, "--overwrite"), "%s", err.message);
    CHECK(create_large(comm, file, true, &writer, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);
    lw_comm_barrier(comm);
    CHECK(exists(file) && !exists(part), "an abandoned run must leave the earlier result only");
}

/* ---- open ---------------------------------------------------------------------------------------------------------- */

enum { ROWS = 2, LENGTH = 1000, HALF = 400 };

/* Differences between a spec and that of the killed run. */
struct other {
    const char *path;
    int64_t length;
    struct lw_type type;
    const char *column;         /* name of a column of the table */
};

static const struct other same = {"/group/data", LENGTH, {.scalar = LW_INT16}, "index"};

static int start_pair(struct lw_comm *comm, const char *file, const struct other *other, bool opens, struct lw_writer **writer,
                      struct lw_error *err)
{
    const struct lw_attribute root = {.name = "host", .kind = LW_ATTRIBUTE_TEXT, .text = opens ? "the second" : "the first"};
    const struct lw_column columns[] = {{other->column, LW_COLUMN_INT}, {"power", LW_COLUMN_REAL}};
    const struct lw_writer_dataset datasets[] = {
        {.path = other->path, .n_dims = 2, .dims = {ROWS, other->length}, .type = other->type},
        {.path = "/table", .n_dims = 1, .dims = {7}, .columns = columns, .n_columns = 2},
    };
    const struct lw_writer_spec spec = {.file = file, .attributes = &root, .n_attributes = 1, .datasets = datasets,
                                        .n_datasets = 2, .pool = pool};
    *writer = NULL;
    return (opens ? lw_writer_open : lw_writer_create)(comm, &spec, writer, err);
}

/* Write samples [begin, end) of the axis, divided among the ranks; the last ranks may have none. */
static void write_part(struct lw_comm *comm, struct lw_writer *writer, int64_t begin, int64_t end)
{
    const int64_t dims[2] = {ROWS, LENGTH}, size = lw_comm_size(comm), slice = (end - begin + size - 1) / size;
    const int64_t mine = begin + lw_comm_rank(comm) * slice, left = end - mine;
    const int64_t first[2] = {0, left > 0 ? mine : 0}, count[2] = {ROWS, left <= 0 ? 0 : left < slice ? left : slice};
    unsigned char data[ROWS * LENGTH * 2];
    struct lw_error err = {0};
    fill_block(data, dims, 2, first, count, 2);
    CHECK(lw_writer_write(writer, 0, first, count, data, &err) == LW_OK, "%s", err.message);
}

/* Copy the temporary file, as a kill would leave it, since lw_writer_destroy deletes it. */
static void leave_copy(struct lw_comm *comm, struct lw_writer *writer, const char *part)
{
    char aside[340];
    lw_comm_barrier(comm);
    snprintf(aside, sizeof aside, "%s.aside", part);
    char command[700];
    snprintf(command, sizeof command, "cp '%s' '%s'", part, aside);
    CHECK(lw_comm_rank(comm) != 0 || system(command) == 0, "%s", command);
    lw_writer_destroy(writer);
    lw_comm_barrier(comm);
    CHECK(!exists(part), "the temporary file was not deleted");
    lw_comm_barrier(comm);
    CHECK(lw_comm_rank(comm) != 0 || rename(aside, part) == 0, "the copy cannot be renamed");
    lw_comm_barrier(comm);
}

static void leave_half(struct lw_comm *comm, const char *file, const char *part)
{
    struct lw_error err = {0};
    struct lw_writer *writer;
    CHECK(start_pair(comm, file, &same, false, &writer, &err) == LW_OK, "%s", err.message);
    write_part(comm, writer, 0, HALF);
    leave_copy(comm, writer, part);
}

static void check_refused(struct lw_comm *comm, const char *file, const char *part, const struct other *other, int code,
                          const char *says)
{
    struct lw_error err = {0};
    struct lw_writer *writer;
    const int rc = start_pair(comm, file, other, true, &writer, &err);
    CHECK(rc == code && strstr(err.message, says), "code %d, not %d; expected '%s' in: %s", rc, code, says, err.message);
    CHECK(!writer && exists(part), "the file must be refused and kept");
}

static void check_others(struct lw_comm *comm, const char *file, const char *part)
{
    struct other other = same;
    other.path = "/group/date";
    check_refused(comm, file, part, &other, LW_EDATA, "no dataset /group/date");
    other = same;
    other.length++;
    check_refused(comm, file, part, &other, LW_EDATA, "/group/data is int16 [2 x 1000], that of this run int16 [2 x 1001]");
    other = same;
    other.type.scalar = LW_UINT16;
    check_refused(comm, file, part, &other, LW_EDATA, "is int16 [2 x 1000], that of this run uint16 [2 x 1000]");
    other = same;
    other.column = "row";
    check_refused(comm, file, part, &other, LW_EDATA, "compound {index, power} [7], that of this run compound {row, power} [7]");
}

static void check_resumed(const char *file)
{
    const hid_t opened = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
    char *host = NULL;
    compare_all(opened, same.path, same.type, (int64_t[]){ROWS, LENGTH}, 2);
    const hid_t attribute = H5Aopen(opened, "host", H5P_DEFAULT), type = H5Aget_type(attribute);
    CHECK(H5Aread(attribute, type, &host) >= 0 && strcmp(host, "the first") == 0, "an attribute of the first run has changed");
    CHECK(read_int(opened, "lapwing_complete") == 1, "the finished file is not marked as complete");
    H5free_memory(host);
    H5Tclose(type);
    H5Aclose(attribute);
    H5Fclose(opened);
}

static void write_text(struct lw_comm *comm, const char *path)
{
    FILE *const text = lw_comm_rank(comm) == 0 ? fopen(path, "w") : NULL;
    if (text) {
        fprintf(text, "no HDF5");
        fclose(text);
    }
    lw_comm_barrier(comm);
}

static void check_open(struct lw_comm *comm, const char *file)
{
    struct lw_error err = {0};
    struct lw_writer *writer;
    char part[320];
    part_name(file, part);
    CHECK(start_pair(comm, file, &same, true, &writer, &err) == LW_EIO && strstr(err.message, "No such file"), "%s", err.message);
    write_text(comm, part);
    check_refused(comm, file, part, &same, LW_EDATA, "cannot go on with");
    leave_half(comm, file, part);
    check_others(comm, file, part);

    CHECK(start_pair(comm, file, &same, true, &writer, &err) == LW_OK, "%s", err.message);
    check_refused(comm, file, part, &same, LW_EIO, "another run is writing");
    lw_writer_destroy(writer);
    lw_comm_barrier(comm);
    CHECK(exists(part), "an opened temporary file was deleted");

    CHECK(start_pair(comm, file, &same, true, &writer, &err) == LW_OK, "%s", err.message);
    write_part(comm, writer, HALF, LENGTH);
    CHECK(lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);
    CHECK(exists(file) && !exists(part), "the file must have its final name only");
    if (lw_comm_rank(comm) == 0)
        check_resumed(file);
    lw_comm_barrier(comm);
    CHECK(lw_comm_rank(comm) != 0 || rename(file, part) == 0, "the file cannot be renamed");
    lw_comm_barrier(comm);
    check_refused(comm, file, part, &same, LW_EDATA, "it is complete");
}

/* ---- tables that grow ---------------------------------------------------------------------------------------------- */

enum { FIRST_ARRAY, LONG_TABLE, SECOND_ARRAY, EMPTY_TABLE, SHORT_TABLE, N_MIXED };
enum { LONG_ROWS = 600000, SHORT_ROWS = 1000, BATCH = 7001 };        /* the long table exceeds a spool's memory */

/* Row number i in the order of writing. p is prime to the number of rows, so that each index occurs once. */
struct peak {
    int64_t index;
    double snr;
};

static struct peak peak_to_come(int64_t i, int64_t n)
{
    const int64_t index = i * 7919 % n;
    return (struct peak){index, (double)index / 3};
}

static int by_index(const void *left, const void *right)
{
    const struct peak *const a = left, *const b = right;
    return (a->index > b->index) - (a->index < b->index);
}

/* Everything that a spec points to. It is overwritten as soon as the writer exists, which must have copied it. */
struct mixed {
    char path[40], label[40], name[40], text[40];
    double reals[3];
    struct lw_column columns[2];
    struct lw_attribute attributes[3];
    struct lw_writer_dataset datasets[N_MIXED];
};

static struct lw_writer_dataset growing(const struct mixed *mixed, const char *path)
{
    return (struct lw_writer_dataset){.path = path, .n_dims = 1, .columns = mixed->columns, .n_columns = 2, .grows = true,
                                      .compare = by_index};
}

static void describe_mixed(struct mixed *mixed)
{
    *mixed = (struct mixed){.path = "/group/of/peaks", .label = "peak", .name = "kind", .text = "candidates",
                            .reals = {1, -2, 0.5}};
    mixed->columns[0] = (struct lw_column){"index", LW_COLUMN_INT};
    mixed->columns[1] = (struct lw_column){"snr", LW_COLUMN_REAL};
    mixed->attributes[0] = (struct lw_attribute){.name = mixed->name, .kind = LW_ATTRIBUTE_TEXT, .text = mixed->text};
    mixed->attributes[1] = (struct lw_attribute){.name = "taps", .kind = LW_ATTRIBUTE_INT, .integer = -7};
    mixed->attributes[2] = (struct lw_attribute){.name = "levels", .kind = LW_ATTRIBUTE_REALS, .reals = mixed->reals, .n_reals = 3};
    const struct lw_writer_dataset array = {.path = "/first", .n_dims = 2, .dims = {ROWS, LENGTH}, .type = {.scalar = LW_INT16}};
    mixed->datasets[FIRST_ARRAY] = mixed->datasets[SECOND_ARRAY] = array;
    mixed->datasets[SECOND_ARRAY].path = "/group/second";
    mixed->datasets[LONG_TABLE] = growing(mixed, mixed->path);
    mixed->datasets[LONG_TABLE].dim_names[0] = mixed->label;
    mixed->datasets[LONG_TABLE].attributes = mixed->attributes;
    mixed->datasets[LONG_TABLE].n_attributes = 3;
    mixed->datasets[EMPTY_TABLE] = growing(mixed, "/empty");
    mixed->datasets[SHORT_TABLE] = growing(mixed, "/short");
}

static int start_mixed(struct lw_comm *comm, const char *file, bool opens, struct lw_writer **writer, struct lw_error *err)
{
    static struct mixed mixed;
    describe_mixed(&mixed);
    const struct lw_writer_spec spec = {.file = file, .datasets = mixed.datasets, .n_datasets = N_MIXED, .pool = pool};
    *writer = NULL;
    const int rc = (opens ? lw_writer_open : lw_writer_create)(comm, &spec, writer, err);
    memset(&mixed, 0x5a, sizeof mixed);
    return rc;
}

/* Rank 0 appends rows [begin, end) in the order of writing. */
static void append_peaks(struct lw_comm *comm, struct lw_writer *writer, int dataset, int64_t begin, int64_t end, int64_t n)
{
    struct peak batch[BATCH];
    struct lw_error err = {0};
    for (int64_t first = begin; first < end && lw_comm_rank(comm) == 0; first += BATCH) {
        const int64_t count = end - first < BATCH ? end - first : BATCH;
        for (int64_t i = 0; i < count; i++)
            batch[i] = peak_to_come(first + i, n);
        CHECK(lw_writer_append(writer, dataset, batch, count, &err) == LW_OK, "%s", err.message);
    }
}

/* Write arrays and tables in turns. */
static void write_mixed(struct lw_comm *comm, struct lw_writer *writer)
{
    const int64_t dims[LW_MAX_DIMS] = {ROWS, LENGTH};
    append_peaks(comm, writer, LONG_TABLE, 0, LONG_ROWS / 3, LONG_ROWS);
    write_all(comm, writer, FIRST_ARRAY, dims, 2, 2);
    append_peaks(comm, writer, SHORT_TABLE, 0, SHORT_ROWS, SHORT_ROWS);
    append_peaks(comm, writer, EMPTY_TABLE, 0, 0, 1);
    append_peaks(comm, writer, LONG_TABLE, LONG_ROWS / 3, LONG_ROWS, LONG_ROWS);
    write_all(comm, writer, SECOND_ARRAY, dims, 2, 2);
}

/* @param n expected rows of the table, sorted. @return the table's address in the file */
static haddr_t check_table(hid_t file, const char *path, int64_t n)
{
    const hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT), stored = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hid_t list = H5Dget_create_plist(dataset), wanted = H5Tcreate(H5T_COMPOUND, sizeof(struct peak));
    hsize_t found = 0;
    H5Tinsert(wanted, "index", 0, H5T_STD_I64LE);
    H5Tinsert(wanted, "snr", 8, H5T_IEEE_F64LE);
    CHECK(H5Tequal(stored, wanted) > 0, "%s: type", path);
    CHECK(H5Sget_simple_extent_dims(space, &found, NULL) == 1 && (int64_t)found == n, "%s: %d rows", path, (int)found);
    CHECK(H5Pget_layout(list) == H5D_CONTIGUOUS, "%s: contiguous", path);
    struct peak *const rows = malloc((size_t)n * sizeof *rows + 1);
    CHECK(H5Dread(dataset, wanted, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0, "%s is read", path);
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < n; i++)
        n_wrong += rows[i].index != i || rows[i].snr != (double)i / 3;
    CHECK(n_wrong == 0, "%s: %d rows are wrong", path, (int)n_wrong);
    const haddr_t at = H5Dget_offset(dataset);
    free(rows);
    H5Tclose(wanted);
    H5Pclose(list);
    H5Sclose(space);
    H5Tclose(stored);
    H5Dclose(dataset);
    return at;
}

static void check_text(hid_t object, const char *name, const char *wanted)
{
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);
    char *text = NULL;
    CHECK(H5Aread(attribute, type, &text) >= 0 && strcmp(text, wanted) == 0, "%s: '%s'", name, text);
    H5free_memory(text);
    H5Tclose(type);
    H5Aclose(attribute);
}

static void check_table_attributes(hid_t file)
{
    const hid_t dataset = H5Dopen2(file, "/group/of/peaks", H5P_DEFAULT);
    const hid_t reals = H5Aopen(dataset, "levels", H5P_DEFAULT);
    double levels[3] = {0};
    check_text(dataset, "kind", "candidates");
    check_text(dataset, "DIMENSION_LABELS", "peak");
    CHECK(H5Aread(reals, H5T_NATIVE_DOUBLE, levels) >= 0 && levels[0] == 1 && levels[1] == -2 && levels[2] == 0.5,
          "an attribute of several numbers is wrong");
    CHECK(read_int(dataset, "taps") == -7, "an attribute of one number is wrong");
    H5Aclose(reals);
    H5Dclose(dataset);
}

static void check_mixed(const char *file)
{
    const int64_t dims[2] = {ROWS, LENGTH};
    const struct lw_type type = {.scalar = LW_INT16};
    const hid_t opened = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(read_int(opened, "lapwing_complete") == 1, "the finished file is not marked as complete");
    compare_all(opened, "/first", type, dims, 2);
    compare_all(opened, "/group/second", type, dims, 2);
    const haddr_t at = check_table(opened, "/group/of/peaks", LONG_ROWS);
    CHECK(at % (1 << 20) == 0, "a long table starts at %llu", (unsigned long long)at);
    check_table(opened, "/short", SHORT_ROWS);
    check_table(opened, "/empty", 0);
    check_table_attributes(opened);
    H5Fclose(opened);
}

/* Start a run that can be continued, with the first array and the long table. */
static int start_long(struct lw_comm *comm, const char *file, bool opens, struct lw_writer **writer, struct lw_error *err)
{
    struct mixed mixed;
    describe_mixed(&mixed);
    const struct lw_writer_spec spec = {
        .file = file, .datasets = mixed.datasets, .n_datasets = LONG_TABLE + 1, .pool = pool, .can_resume = true};
    *writer = NULL;
    return (opens ? lw_writer_open : lw_writer_create)(comm, &spec, writer, err);
}

static void see_rows(void *context, const void *rows, int64_t n)
{
    const struct peak *const peaks = rows;
    int64_t *const seen = context;
    for (int64_t i = 0; i < n; i++)
        CHECK(peaks[i].index == peak_to_come(*seen + i, LONG_ROWS).index, "row %d comes again", (int)(*seen + i));
    *seen += n;
}

static void recall(struct lw_comm *comm, struct lw_writer *writer, int64_t n)
{
    struct lw_error err = {0};
    int64_t seen = 0;
    if (lw_comm_rank(comm) != 0)
        return;
    CHECK(lw_writer_recall(writer, LONG_TABLE, n, see_rows, &seen, &err) == LW_OK, "%s", err.message);
    CHECK(seen == n, "%d rows are recalled, not %d", (int)seen, (int)n);
}

/* One run is interrupted after some rows; a second keeps fewer of them and is interrupted; a third completes the table. */
static void check_rows_resumed(struct lw_comm *comm, const char *file)
{
    enum { SOME = LONG_ROWS / 2, FEWER = LONG_ROWS / 3, MORE = LONG_ROWS - 1000 };
    const int64_t dims[LW_MAX_DIMS] = {ROWS, LENGTH};
    char part[320], beside[320];
    struct lw_error err = {0};
    struct lw_writer *writer;
    part_name(file, part);
    snprintf(beside, sizeof beside, "%.280s" LW_ROWS_SUFFIX, file);
    CHECK(start_long(comm, file, true, &writer, &err) == LW_EIO && strstr(err.message, "No such file"), "%s", err.message);
    CHECK(start_long(comm, file, false, &writer, &err) == LW_OK, "%s", err.message);
    append_peaks(comm, writer, LONG_TABLE, 0, SOME, LONG_ROWS);
    write_all(comm, writer, FIRST_ARRAY, dims, 2, 2);
    lw_writer_sync_begin(writer);
    CHECK(lw_comm_agree(comm, lw_writer_sync_end(writer, &err), &err) == LW_OK, "%s", err.message);
    lw_writer_keep(writer);
    lw_writer_destroy(writer);
    lw_comm_barrier(comm);
    CHECK(exists(part) && exists(beside), "the interrupted run's file or rows are gone");
    lw_comm_barrier(comm);

    CHECK(start_long(comm, file, true, &writer, &err) == LW_OK, "%s", err.message);
    if (lw_comm_rank(comm) == 0)
        CHECK(lw_writer_recall(writer, LONG_TABLE, SOME + 1, see_rows, NULL, &err) == LW_EDATA &&
                  strstr(err.message, "does not hold"),
              "more rows than there are: %s", err.message);
    lw_writer_destroy(writer);
    CHECK(start_long(comm, file, true, &writer, &err) == LW_OK, "%s", err.message);
    recall(comm, writer, FEWER);
    append_peaks(comm, writer, LONG_TABLE, FEWER, MORE, LONG_ROWS);
    lw_writer_destroy(writer);
    lw_comm_barrier(comm);
    CHECK(exists(part) && exists(beside), "the file or its rows are gone after the second run");
    lw_comm_barrier(comm);

    CHECK(start_long(comm, file, true, &writer, &err) == LW_OK, "%s", err.message);
    recall(comm, writer, MORE);
    append_peaks(comm, writer, LONG_TABLE, MORE, LONG_ROWS, LONG_ROWS);
    CHECK(lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);
    CHECK(!exists(part) && !exists(beside), "a file is left beside the result");
    if (lw_comm_rank(comm) == 0) {
        const hid_t opened = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
        compare_all(opened, "/first", (struct lw_type){.scalar = LW_INT16}, dims, 2);
        check_table(opened, "/group/of/peaks", LONG_ROWS);
        H5Fclose(opened);
        remove(file);
    }
    lw_comm_barrier(comm);
}

static void check_growing(struct lw_comm *comm, const char *file)
{
    struct lw_error err = {0};
    struct lw_writer *writer;
    check_rows_resumed(comm, file);
    CHECK(start_mixed(comm, file, false, &writer, &err) == LW_OK, "%s", err.message);
    write_mixed(comm, writer);
    CHECK(lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);
    if (lw_comm_rank(comm) == 0)
        check_mixed(file);
    lw_comm_barrier(comm);
}

/* @param n_threads threads that write; 0: collective calls */
static void check_way(struct lw_comm *comm, int n_threads)
{
    char folder[256], file[300], command[300];
    struct lw_error err = {0};
    make_folder(comm, folder);
    pool = NULL;
    CHECK(n_threads == 0 || lw_pool_create(n_threads, &pool, &err) == LW_OK, "%s", err.message);
    const struct handle_mark mark = mark_handles();
    snprintf(file, sizeof file, "%s/types.h5", folder);
    check_types(comm, file);
    snprintf(file, sizeof file, "%s/life.h5", folder);
    check_life(comm, file);
    lw_comm_barrier(comm);
    snprintf(file, sizeof file, "%s/resumed.h5", folder);
    check_open(comm, file);
    lw_comm_barrier(comm);
    snprintf(file, sizeof file, "%s/growing.h5", folder);
    check_growing(comm, file);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(lw_comm_rank(comm) != 0 || system(command) == 0, "%s", command);
    check_handles(mark);
    lw_pool_destroy(pool);
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    check_way(comm, 0);
    check_way(comm, 1);
    check_way(comm, 5);
    return test_end(comm, "writer");
}
