/* test_whole.c - tests of whole datasets in their stored type: against the same dataset read as numbers, for all types, layouts and
 * shares of ranks. */
#include "base/integers.h"
#include "base/memory.h"
#include "base/pool.h"
#include "io/read/whole.h"
#include "io_test.h"

#include <math.h>

enum { ROWS = 37, ROW = 211 };

static const char *const layouts[] = {"plain", "chunks", "deflate"};

/* Write a dataset of bytes that are small numbers in every type. */
static void write_one(hid_t file, const char *name, hid_t type, const char *layout, int n_dims, const hsize_t *dims)
{
    static int16_t numbers[ROWS * ROW * 2];
    const bool is_complex = H5Tget_class(type) == H5T_COMPOUND;
    const hsize_t chunk[2] = {n_dims == 2 ? 5 : 17, dims[1] == 1 ? 1 : 40};
    const hid_t space = H5Screate_simple(n_dims, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    if (strcmp(layout, "plain") != 0)
        H5Pset_chunk(list, n_dims, chunk);
    if (strcmp(layout, "deflate") == 0)
        H5Pset_deflate(list, 1);
    for (int i = 0; i < ROWS * ROW * 2; i++)
        numbers[i] = (int16_t)(test_byte((uint64_t)i) % 100);
    const hid_t pair = H5Tcreate(H5T_COMPOUND, 2 * sizeof *numbers);
    H5Tinsert(pair, "r", 0, H5T_NATIVE_INT16);
    H5Tinsert(pair, "i", sizeof *numbers, H5T_NATIVE_INT16);
    const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    CHECK(H5Dwrite(dataset, is_complex ? pair : H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0, "%s", name);
    H5Dclose(dataset);
    H5Tclose(pair);
    H5Pclose(list);
    H5Sclose(space);
}

static hid_t complex_of(hid_t part)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, 2 * H5Tget_size(part));
    H5Tinsert(type, "r", 0, part);
    H5Tinsert(type, "i", H5Tget_size(part), part);
    return type;
}

/* Return a type's handle, to be closed, and whether a bank keeps it as it is: samples have no 64-bit integers. */
static hid_t type_of(int number, bool *is_kept)
{
    const struct lw_type type = test_type(number < N_TEST_TYPES ? number : 0);
    *is_kept = number < N_TEST_TYPES;
    if (number >= N_TEST_TYPES)
        return H5Tcopy(H5T_STD_I64BE);
    const hid_t scalar = test_scalar(type.scalar, type.is_swapped);
    return type.is_complex ? complex_of(scalar) : H5Tcopy(scalar);
}

enum { N_TYPES = N_TEST_TYPES + 1 };

/* Shapes of a type's datasets: all three for some types. */
static int n_shapes(int type) { return type % 5 == 0 ? 3 : 1; }

static void write_all(const char *path)
{
    static const hsize_t dims[3][2] = {{ROWS, ROW}, {ROW, 0}, {ROW, 1}};
    static const int n_dims[3] = {2, 1, 2};
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (int t = 0; t < N_TYPES; t++)
        for (int l = 0; l < 3; l++)
            for (int s = 0; s < n_shapes(t); s++) {
                char name[64];
                bool is_kept;
                const hid_t type = type_of(t, &is_kept);
                snprintf(name, sizeof name, "%d-%s-%d", t, layouts[l], s);
                write_one(file, name, type, layouts[l], n_dims[s], dims[s]);
                H5Tclose(type);
            }
    H5Fclose(file);
}

/* Take rows in pieces of 5, some of which are expected before, and note a hash of each row for check_hashes. */
static uint64_t hashes[ROWS];

static uint64_t hash_row(const struct lw_whole *whole, int64_t row)
{
    const unsigned char *const bytes = lw_whole_row(whole, row);
    uint64_t hash = 1;
    for (int64_t i = 0; i < lw_whole_row_bytes(whole); i++)
        hash = hash * 0x9e3779b97f4a7c15u + bytes[i];
    return hash;
}

static int check_taken(struct lw_whole *whole, struct lw_error *err)
{
    enum { PIECE = 5 };
    int rc = lw_whole_reserve(whole, PIECE, err);
    rc = rc ? rc : lw_whole_reserve_ahead(whole, PIECE, err);
    whole->at_once = 2;
    for (int64_t first = 0; rc == LW_OK && first < whole->rows && first < ROWS; first += PIECE) {
        const int64_t n = whole->rows - first < PIECE ? whole->rows - first : PIECE;
        rc = lw_whole_take(whole, first, n, err);
        const int64_t next = first + n, n_next = lw_min64(PIECE, whole->rows - next);
        for (int64_t i = 0; i < first / PIECE % 5 && n_next > 0; i++)      /* one expectation in four is of other rows */
            lw_whole_expect(whole, first / PIECE % 4 == 3 ? 0 : next, first / PIECE % 4 == 3 && i % 2 ? 1 : n_next);
        for (int64_t row = first; rc == LW_OK && row < first + n && row < ROWS; row++)
            hashes[row] = hash_row(whole, row);
    }
    whole->at_once = ROWS;
    return rc;
}

static void check_one(struct lw_comm *comm, struct lw_pool *pool, const char *name, bool is_kept)
{
    struct lw_error err = {0};
    struct lw_whole whole;
    struct lw_dataset_info info;
    double *expected = NULL;
    int rc = lw_reader_read_numbers(comm, name, 2, &info, &expected, &err);
    CHECK(rc == LW_OK, "%s", err.message);
    rc = rc ? rc : lw_whole_open(comm, pool, name, NULL, &whole, &err);
    rc = rc ? rc : check_taken(&whole, &err);
    rc = rc ? rc : lw_whole_hold(comm, &whole, &err);
    CHECK(rc == LW_OK, "%s", err.message);
    if (rc == LW_OK) {
        const int64_t n = whole.rows * whole.row * (whole.type.is_complex ? 2 : 1);
        CHECK(whole.info.n_dims == info.n_dims && whole.info.dims[0] == info.dims[0], "%s: another shape", name);
        CHECK(!is_kept || (whole.type.scalar == info.type.scalar && whole.type.is_swapped == info.type.is_swapped),
              "%s: the type is not the stored one", name);
        int64_t n_wrong = 0;
        for (int64_t i = 0; i < n; i++)
            n_wrong += lw_type_number(whole.type, whole.data, i) != expected[i];
        CHECK(n_wrong == 0, "%s: %lld of %lld numbers are wrong", name, (long long)n_wrong, (long long)n);
        for (int64_t row = 0; row < whole.rows && row < ROWS; row++)
            CHECK(hashes[row] == hash_row(&whole, row), "%s: row %lld differs when it is taken", name, (long long)row);
        CHECK(lw_whole_not_finite(&whole, 0, whole.rows) == -1, "%s: a number counts as not finite", name);
        lw_whole_release(&whole);
    }
    lw_free(expected);
}

/* Numbers that are not finite are found, the first of them, in whichever rank's share. */
static void check_not_finite(struct lw_comm *comm, const char *folder)
{
    static const int64_t places[] = {0, ROW - 1, 19 * ROW + 7, ROWS * ROW - 1};
    char name[300];
    snprintf(name, sizeof name, "%s/nan.h5", folder);
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        if (lw_comm_rank(comm) == 0) {
            static float values[ROWS * ROW];
            const hsize_t dims[2] = {ROWS, ROW};
            for (int64_t i = 0; i < ROWS * ROW; i++)
                values[i] = i < places[p] ? 1 : NAN;
            const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(2, dims, NULL);
            const hid_t set = H5Dcreate2(file, "h", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
            H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
            H5Dclose(set);
            H5Sclose(space);
            H5Fclose(file);
        }
        lw_comm_barrier(comm);
        char dataset[320];
        struct lw_error err = {0};
        struct lw_whole whole;
        snprintf(dataset, sizeof dataset, "%s:/h", name);
        int rc = lw_whole_open(comm, NULL, dataset, NULL, &whole, &err);
        rc = rc ? rc : lw_whole_hold(comm, &whole, &err);
        CHECK(rc == LW_OK && lw_whole_not_finite(&whole, 0, ROWS) == places[p], "NaN at %lld", (long long)places[p]);
        const int64_t next = places[p] / ROW + 1;
        CHECK(lw_whole_not_finite(&whole, next, ROWS) == (next < ROWS ? next * ROW : -1), "NaN from row %lld on", (long long)next);
        lw_whole_release(&whole);
        lw_comm_barrier(comm);
    }
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    struct lw_error err = {0};
    struct lw_pool *pool = NULL;
    char folder[256], file[280], name[400];
    make_folder(comm, folder);
    snprintf(file, sizeof file, "%s/all.h5", folder);
    if (lw_comm_rank(comm) == 0)
        write_all(file);
    lw_comm_barrier(comm);
    CHECK(lw_pool_create(3, &pool, &err) == LW_OK, "%s", err.message);
    for (int t = 0; t < N_TYPES; t += IS_SANITIZED ? 3 : 1)
        for (int l = 0; l < 3; l++)
            for (int s = 0; s < n_shapes(t); s++) {
                bool is_kept;
                H5Tclose(type_of(t, &is_kept));
                snprintf(name, sizeof name, "%s:/%d-%s-%d", file, t, layouts[l], s);
                check_one(comm, t % 4 == 3 ? NULL : pool, name, is_kept);
            }
    check_not_finite(comm, folder);
    lw_pool_destroy(pool);
    const int failed = (int)lw_comm_max(comm, check_failed), result = check_result("io_whole");
    lw_comm_stop(comm);
    return result || failed;
}
