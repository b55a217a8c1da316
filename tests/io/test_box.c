/* test_box.c - tests of boxes of samples read as real numbers: chunked and contiguous files, by threads and by the format, with
 * steps, and across a gap between files. */
#include "io/format.h"
#include "io/read/box.h"
#include "io_test.h"

#include <math.h>

enum { A = 5, B = 300, C = 22, N_BOXES = 40 };

static int16_t data[A][B][C];

static void write_text(hid_t dataset, const char *name, const char *text)
{
    const hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    const hid_t attribute = H5Acreate2(dataset, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, text);
    H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(space);
}

static void write_real(hid_t dataset, const char *name, double value)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(dataset, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value);
    H5Aclose(attribute);
    H5Sclose(space);
}

/* @param start time of the first sample in seconds, at 1 Hz; negative: the file has no times */
static void write_file(const char *file, int n_dims, const hsize_t *dims, const hsize_t *chunk, const int16_t *samples,
                       double start)
{
    const hid_t created = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), list = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(n_dims, dims, NULL);
    if (chunk) {
        H5Pset_chunk(list, n_dims, chunk);
        H5Pset_deflate(list, 1);
    }
    const hid_t dataset = H5Dcreate2(created, "x", H5T_STD_I16BE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    CHECK(H5Dwrite(dataset, H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples) >= 0, "%s", file);
    if (start >= 0) {
        write_real(dataset, "sample_rate_hz", 1);
        write_real(dataset, "start_time", start);
        write_text(dataset, "start_unit", "s since 2023-01-01T00:00:00");
    }
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(created);
}

static int below(int n)
{
    static unsigned state = 1;
    state = state * 1103515245u + 12345u;
    return (int)((state >> 16) % (unsigned)n);
}

/* A box of any size, with steps in any dimension. */
static struct lw_sample_box choose_box(void)
{
    const int lengths[] = {A, B, C};
    struct lw_sample_box box = {.count = {1, 1, 1, 1}, .step = {1, 1, 1, 1}};
    for (int d = 0; d < 3; d++) {
        box.first[d] = below(lengths[d]);
        box.step[d] = 1 + below(4);
        box.count[d] = 1 + below((int)((lengths[d] - 1 - box.first[d]) / box.step[d]) + 1);
    }
    return box;
}

static void check_boxes(struct lw_boxes *boxes, const char *what)
{
    struct lw_sample_box wanted[N_BOXES];
    struct lw_error err = {0};
    int64_t n = 0, at = 0;
    for (int b = 0; b < N_BOXES; b++) {
        wanted[b] = choose_box();
        n += wanted[b].count[0] * wanted[b].count[1] * wanted[b].count[2];
    }
    double *const values = malloc((size_t)n * sizeof *values);
    CHECK(lw_boxes_read(boxes, wanted, N_BOXES, values, &err) == LW_OK, "%s: %s", what, err.message);
    for (int b = 0; b < N_BOXES; b++) {
        const struct lw_sample_box *const box = &wanted[b];
        for (int64_t i = 0; i < box->count[0]; i++)
            for (int64_t j = 0; j < box->count[1]; j++)
                for (int64_t k = 0; k < box->count[2]; k++, at++) {
                    const int16_t sample = data[box->first[0] + i * box->step[0]][box->first[1] + j * box->step[1]]
                                               [box->first[2] + k * box->step[2]];
                    CHECK(values[at] == sample, "%s: box %d has %g in place of %d", what, b, values[at], sample);
                }
    }
    free(values);
}

static void test_one_file(const char *file, const hsize_t *chunk, bool is_pooled)
{
    const hsize_t dims[] = {A, B, C};
    struct lw_dataset_info info;
    struct lw_boxes *boxes = NULL;
    struct lw_error err = {0};
    char what[80];
    snprintf(what, sizeof what, "%s, by %s", chunk ? "chunks" : "no chunks", is_pooled ? "threads" : "the format");
    write_file(file, 3, dims, chunk, &data[0][0][0], -1);
    CHECK(lw_examine_dataset(file, NULL, LW_USE_NUMBERS, &info, &err) == LW_OK, "%s", err.message);
    const struct lw_boxes_spec spec = {.info = &info, .is_pooled = is_pooled};
    const int rc = lw_boxes_open(&spec, &boxes, &err);
    CHECK(rc == LW_OK, "%s", err.message);
    if (rc == LW_OK)
        check_boxes(boxes, what);
    lw_boxes_close(boxes);
}

/* Read one axis with samples 0 to 99 and 150 to 249, forwards in steps of 3. */
static void test_gap(struct lw_comm *comm, const char *folder)
{
    enum { LENGTH = 100, GAP = 50, STEP = 3, COUNT = (2 * LENGTH + GAP) / STEP };
    const hsize_t length = LENGTH;
    const int16_t *const all = &data[0][0][0];
    char names[2][300], both[700];
    double values[COUNT];
    struct lw_error err = {0};
    struct lw_reader *reader;
    struct lw_boxes *boxes = NULL;
    for (int f = 0; f < 2; f++) {
        snprintf(names[f], sizeof names[f], "%s/%d.h5", folder, f);
        write_file(names[f], 1, &length, NULL, all + f * LENGTH, 1000 + f * (LENGTH + GAP));
    }
    snprintf(both, sizeof both, "%s %s", names[0], names[1]);
    const struct lw_reader_request request = {.names = both, .least_dims = 1, .most_dims = LW_MAX_DIMS, .gaps = LW_GAPS_ZERO,
                                              .join = LW_JOIN_TIME};
    int rc = lw_reader_describe(comm, &request, &reader, &err);
    CHECK(rc == LW_OK && lw_reader_info(reader)->dims[0] == 2 * LENGTH + GAP, "%s", err.message);
    if (rc)
        return;
    const struct lw_boxes_spec spec = {.info = lw_reader_info(reader), .files = reader, .is_pooled = true};
    const struct lw_sample_box box = {.count = {COUNT, 1, 1, 1}, .step = {STEP, 1, 1, 1}};
    CHECK((rc = lw_boxes_open(&spec, &boxes, &err)) == LW_OK && (rc = lw_boxes_read(boxes, &box, 1, values, &err)) == LW_OK, "%s",
          err.message);
    for (int i = 0; i < COUNT && rc == LW_OK; i++) {
        const int at = i * STEP;
        if (at >= LENGTH && at < LENGTH + GAP)
            CHECK(isnan(values[i]), "sample %d of the gap is %g", at, values[i]);
        else
            CHECK(values[i] == all[at < LENGTH ? at : at - GAP], "sample %d is %g", at, values[i]);
    }
    lw_boxes_close(boxes);
    lw_reader_close(reader);
    unlink(names[0]);
    unlink(names[1]);
}

int main(int argc, char **argv)
{
    static const hsize_t chunk[] = {2, 64, 5};
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    char folder[256], file[300];
    make_folder(comm, folder);
    snprintf(file, sizeof file, "%s/x.h5", folder);
    fill_bytes(data, 0, sizeof data);
    for (int pooled = 0; pooled < 2; pooled++) {
        test_one_file(file, NULL, pooled);
        test_one_file(file, chunk, pooled);
    }
    test_gap(comm, folder);
    unlink(file);
    rmdir(folder);
    return test_end(comm, "boxes");
}
