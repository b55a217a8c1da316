/* test_errors.c - tests of a user's mistakes with an input file: every rank gets the documented code, and a message that names
 * the mistake and the remedy. */
#include "base/memory.h"
#include "io/list.h"
#include "io/read/whole.h"
#include "io/read/reader.h"
#include "io_test.h"

#include <sys/stat.h>

/* ---- the files ----------------------------------------------------------------------------------------------------- */

static void put_dataset(hid_t file, const char *path, hid_t type, int n_dims, const hsize_t *dims)
{
    const hid_t space = n_dims < 0 ? H5Screate(H5S_NULL) : H5Screate_simple(n_dims, dims, NULL);
    const hid_t dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(dataset >= 0, "%s is made", path);
    H5Dclose(dataset);
    H5Sclose(space);
}

static hid_t compound(const char *first, const char *second, hid_t a, hid_t b, size_t gap)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, H5Tget_size(a) + H5Tget_size(b) + gap);
    H5Tinsert(type, first, 0, a);
    H5Tinsert(type, second, H5Tget_size(a) + gap, b);
    return type;
}

static void write_good_file(const char *path)
{
    const hsize_t dims[5] = {4, 3, 2, 2, 2}, none[2] = {0, 3};
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, "/group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t named = H5Tcopy(H5T_STD_I16LE);
    H5Tcommit2(file, "/named", named, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tclose(named);
    H5Lcreate_soft("/nowhere", file, "/broken", H5P_DEFAULT, H5P_DEFAULT);
    put_dataset(file, "/good", H5T_IEEE_F32LE, 2, dims);
    put_dataset(file, "/int64", H5T_STD_I64LE, 1, dims);
    put_dataset(file, "/uint32", H5T_STD_U32LE, 1, dims);
    put_dataset(file, "/text", H5T_C_S1, 1, dims);
    put_dataset(file, "/single", H5T_IEEE_F32LE, 0, dims);
    put_dataset(file, "/none", H5T_IEEE_F32LE, -1, dims);
    put_dataset(file, "/zero", H5T_IEEE_F32LE, 2, none);
    put_dataset(file, "/five", H5T_IEEE_F32LE, 5, dims);
    put_dataset(file, "/three", H5T_IEEE_F32LE, 3, dims);

    const struct {
        const char *path;
        hid_t type;
    } odd[] = {
        {"/swapped_parts", compound("i", "r", H5T_IEEE_F32LE, H5T_IEEE_F32LE, 0)},
        {"/mixed_parts", compound("r", "i", H5T_IEEE_F32LE, H5T_IEEE_F64LE, 0)},
        {"/integer_parts", compound("r", "i", H5T_STD_I16LE, H5T_STD_I16LE, 0)},
        {"/padded_parts", compound("r", "i", H5T_IEEE_F32LE, H5T_IEEE_F32LE, 4)},
        {"/table", compound("time", "flux", H5T_IEEE_F32LE, H5T_IEEE_F32LE, 0)},
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        put_dataset(file, odd[i].path, odd[i].type, 1, dims);
        H5Tclose(odd[i].type);
    }
    H5Fclose(file);
}

/* The first `keep` bytes of the good file, then `junk` bytes of noise. */
static void damage(const char *good, const char *path, size_t keep, size_t junk)
{
    unsigned char buffer[16384];
    FILE *const from = fopen(good, "rb"), *const to = fopen(path, "wb");
    fwrite(buffer, 1, fread(buffer, 1, keep, from), to);
    fill_bytes(buffer, 77, sizeof buffer);
    fwrite(buffer, 1, junk, to);
    fclose(from);
    fclose(to);
}

/* A file with more datasets than an error lists. The newline in a name must not begin a line of the message. */
static void write_many_file(const char *path)
{
    const hsize_t dims[1] = {3};
    char name[40];
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, "/run", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "/many%02d\nx", i);
        put_dataset(file, name, H5T_STD_I16LE, 1, dims);
    }
    put_dataset(file, "/run/strain", H5T_IEEE_F32LE, 1, dims);
    put_dataset(file, "/run/quality", H5T_IEEE_F32LE, 1, dims);
    H5Fclose(file);
}

static void write_files(const char *folder)
{
    char good[300], path[300];
    snprintf(path, sizeof path, "%s/many.h5", folder);
    write_many_file(path);
    snprintf(good, sizeof good, "%s/good.h5", folder);
    write_good_file(good);
    snprintf(path, sizeof path, "%s/folder.h5", folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/empty.h5", folder);
    damage(good, path, 0, 0);
    snprintf(path, sizeof path, "%s/random.h5", folder);
    damage(good, path, 0, 4000);
    snprintf(path, sizeof path, "%s/signature.h5", folder);
    damage(good, path, 8, 0);
    snprintf(path, sizeof path, "%s/truncated.h5", folder);
    damage(good, path, 1500, 0);
    snprintf(path, sizeof path, "%s/overwritten.h5", folder);
    damage(good, path, 100, 16000);
}

/* ---- opening them -------------------------------------------------------------------------------------------------- */

struct mistake {
    const char *name;           /* name of the file in the folder */
    int code;
    const char *says[3];        /* texts that the message must contain */
};

static const struct mistake mistakes[] = {
    {"missing.h5:/good", LW_EIO, {"missing.h5", "No such file"}},
    {"missing.h5", LW_EIO, {"missing.h5", "No such file"}},
    {"no/folder/at.h5:/good", LW_EIO, {"No such file"}},
    {"folder.h5:/good", LW_EIO, {"folder.h5", "it is a folder"}},
    {"empty.h5:/good", LW_EDATA, {"not an HDF5 file"}},
    {"random.h5:/good", LW_EDATA, {"not an HDF5 file"}},
    {"signature.h5:/good", LW_EDATA, {"signature.h5", "damaged"}},
    {"truncated.h5:/good", LW_EDATA, {"damaged", "truncated"}},
    {"overwritten.h5:/good", LW_EDATA, {"overwritten.h5"}},
    {"good.h5", LW_EUSAGE, {"name a dataset", "/good float32 [4 x 3]", "/int64 int64 [4]"}},
    {"good.h5:/", LW_EDATA, {"is a group", "/good"}},
    {"good.h5:/group", LW_EDATA, {"'/group'", "is a group", "/good float32 [4 x 3]"}},
    {"good.h5:/named", LW_EDATA, {"a named type"}},
    {"good.h5:/nothing", LW_EDATA, {"no dataset '/nothing'", "/good float32 [4 x 3]"}},
    {"good.h5:/good/deeper", LW_EDATA, {"no dataset '/good/deeper'"}},
    {"good.h5:/broken", LW_EDATA, {"no dataset '/broken'"}},
    {"good.h5:/int64", LW_EDATA, {"holds int64", "int8, uint8", "{r, i}"}},
    {"good.h5:/uint32", LW_EDATA, {"holds uint32", "convert"}},
    {"good.h5:/text", LW_EDATA, {"holds text"}},
    {"good.h5:/swapped_parts", LW_EDATA, {"compound {i, r}", "{re, im}"}},
    {"good.h5:/mixed_parts", LW_EDATA, {"compound {r, i}"}},
    {"good.h5:/integer_parts", LW_EDATA, {"compound {r, i}"}},
    {"good.h5:/padded_parts", LW_EDATA, {"compound {r, i}"}},
    {"good.h5:/table", LW_EDATA, {"compound {time, flux}"}},
    {"good.h5:/single", LW_EDATA, {"0 dimensions", "single value"}},
    {"good.h5:/none", LW_EDATA, {"is empty"}},
    {"good.h5:/zero", LW_EDATA, {"is empty", "dimension 0"}},
    {"good.h5:/five", LW_EDATA, {"5 dimensions", "1 to 4"}},
};

static void check_message(const char *name, const struct mistake *mistake, int rc, const struct lw_error *err)
{
    CHECK(rc == mistake->code, "%s: code %d, not %d: %s", name, rc, mistake->code, err->message);
    for (int s = 0; s < 3 && mistake->says[s] && rc; s++)
        CHECK(strstr(err->message, mistake->says[s]) || strstr(err->list, mistake->says[s]), "%s: '%s' is not in: %s\n%s", name,
              mistake->says[s], err->message, err->list);
}

static void check_mistake(struct lw_comm *comm, const char *folder, const struct mistake *mistake)
{
    char name[400];
    struct lw_error err = {0};
    struct lw_reader *reader = NULL;
    snprintf(name, sizeof name, "%s/%s", folder, mistake->name);
    const int rc = lw_reader_open(comm, name, &reader, &err);
    check_message(name, mistake, rc, &err);
    CHECK(!reader, "%s: no reader", name);
    lw_reader_close(reader);
}

/* The list of datasets has the 20 nearest names first, then the number of the others. */
static void check_list(struct lw_comm *comm, const char *folder, const char *wanted, const char *suggested, const char *first_lines)
{
    char name[400];
    struct lw_error err = {0};
    struct lw_reader *reader = NULL;
    snprintf(name, sizeof name, "%s/many.h5:%s", folder, wanted);
    const int rc = lw_reader_open(comm, name, &reader, &err);
    CHECK(rc == LW_EDATA && !reader && strstr(err.message, "; the file has 32 datasets"), "%s: code %d: %s", wanted, rc,
          err.message);
    const char *const near = strstr(err.message, "; did you mean ");
    CHECK(suggested ? near && strcmp(near, suggested) == 0 : !near, "%s: %s", wanted, err.message);
    CHECK(strncmp(err.list, first_lines, strlen(first_lines)) == 0, "%s: %s", wanted, err.list);
    int n_lines = 0;
    for (const char *at = err.list; *at; at++)
        n_lines += *at == '\n';
    CHECK(n_lines == 21 && strstr(err.list, "\nand 12 more; 'lapwing info FILE' lists them\n"), "%s: %d lines: %s", wanted, n_lines,
          err.list);
}

static void check_lists(struct lw_comm *comm, const char *folder)
{
    static const char in_order[] = "/many00\\x0ax int16 [3]\n/many01\\x0ax int16 [3]\n";
    check_list(comm, folder, "/completely/else", NULL, in_order);
    check_list(comm, folder, "/run/strian", "; did you mean /run/strain?", "/run/strain float32 [3]\n/many00\\x0ax int16 [3]\n");
    check_list(comm, folder, "/strain", "; did you mean /run/strain?", "/run/strain float32 [3]\n/many00\\x0ax int16 [3]\n");
    check_list(comm, folder, "/run", "; did you mean /run/quality?", "/run/quality float32 [3]\n/run/strain float32 [3]\n/many00");
    check_list(comm, folder, "/many29\nxy", "; did you mean /many29\nx?", "/many29\\x0ax int16 [3]\n");
}

/* Mistakes with a filter file. Filters may have any number type, so the list differs from that of inputs. */
static const struct mistake small_mistakes[] = {
    {"missing.h5:/good", LW_EIO, {"No such file"}},
    {"truncated.h5:/good", LW_EDATA, {"damaged"}},
    {"good.h5", LW_EUSAGE, {"name a dataset"}},
    {"good.h5:/nothing", LW_EDATA, {"no dataset"}},
    {"good.h5:/text", LW_EDATA, {"holds text, not numbers"}},
    {"good.h5:/three", LW_EDATA, {"3 dimensions", "1 or 2"}},
    {"good.h5:/zero", LW_EDATA, {"is empty"}},
    {"good.h5:/table", LW_EDATA, {"compound {time, flux}"}},
};

static void check_small_mistake(struct lw_comm *comm, const char *folder, const struct mistake *mistake)
{
    char name[400];
    struct lw_error err = {0};
    struct lw_dataset_info info;
    double *values = NULL;
    snprintf(name, sizeof name, "%s/%s", folder, mistake->name);
    const int rc = lw_reader_read_numbers(comm, name, 2, &info, &values, &err);
    check_message(name, mistake, rc, &err);
    CHECK(!values, "%s: no values", name);
    struct lw_whole whole;
    struct lw_error again = {0};
    check_message(name, mistake, lw_whole_open(comm, NULL, name, NULL, &whole, &again), &again);
}

/* ---- views --------------------------------------------------------------------------------------------------------- */

static void check_views(struct lw_comm *comm, const char *folder)
{
    static const struct {
        struct lw_view_spec view;
        const char *says;       /* text of the message; NULL: the view is legal */
    } cases[] = {
        {{.axis = 0, .start = 0, .count = 4, .channels = {0, 3, 1}}, NULL},
        {{.axis = 1, .start = 2, .count = 1, .channels = {3, 4, 9}}, NULL},
        {{.axis = 2, .start = 0, .count = 1, .channels = {0, 1, 1}}, "dimension 2 cannot"},
        {{.axis = -1, .start = 0, .count = 1, .channels = {0, 1, 1}}, "dimension -1 cannot"},
        {{.axis = 0, .start = 0, .count = 4, .channels = {0, 1, 1}, .has_rows = true}, NULL},
        {{.axis = 1, .start = 0, .count = 3, .channels = {0, 1, 1}, .has_rows = true}, "dimension 1 cannot"},
        {{.axis = 0, .start = 0, .count = 5, .channels = {0, 3, 1}}, "samples 0..4"},
        {{.axis = 0, .start = 4, .count = 1, .channels = {0, 3, 1}}, "there are 0..3"},
        {{.axis = 0, .start = -1, .count = 1, .channels = {0, 3, 1}}, "samples -1..-1"},
        {{.axis = 0, .start = 0, .count = 0, .channels = {0, 3, 1}}, "samples"},
        {{.axis = 0, .start = 0, .count = 4, .channels = {0, 4, 1}}, "channels 0..3"},
        {{.axis = 0, .start = 0, .count = 4, .channels = {2, 2, 1}}, "channels"},
        {{.axis = 0, .start = 0, .count = 4, .channels = {0, 3, 0}}, "step 0"},
    };
    char name[400];
    struct lw_error err = {0};
    struct lw_reader *reader = NULL;
    snprintf(name, sizeof name, "%s/good.h5:/good", folder);
    CHECK(lw_reader_open(comm, name, &reader, &err) == LW_OK, "%s", err.message);
    for (size_t c = 0; reader && c < sizeof cases / sizeof *cases; c++) {
        struct lw_view_spec view = cases[c].view;
        view.max_axis = view.max_channels = 1;
        const int rc = lw_reader_select(reader, &view, &err);
        CHECK(rc == (cases[c].says ? LW_ECONFIG : LW_OK), "view %zu: code %d", c, rc);
        if (cases[c].says)
            CHECK(strstr(err.message, cases[c].says), "'%s' is not in: %s", cases[c].says, err.message);
    }
    lw_reader_close(reader);

    reader = NULL;
    snprintf(name, sizeof name, "%s/good.h5:/three", folder);
    CHECK(lw_reader_open(comm, name, &reader, &err) == LW_OK, "%s", err.message);
    const struct lw_view_spec view = {.count = 1, .channels = {0, 1, 1}, .max_axis = 1, .max_channels = 1};
    CHECK(reader && lw_reader_select(reader, &view, &err) == LW_EDATA && strstr(err.message, "3 dimensions"),
          "a view of the wrong number of dimensions is not refused");
    struct lw_view_spec images = {.axis = 1, .count = 3, .channels = {0, 4, 1}, .max_axis = 3, .max_channels = 4,
                                  .has_rows = true};
    CHECK(reader && lw_reader_select(reader, &images, &err) == LW_OK, "%s", err.message);
    images.axis = 0;
    CHECK(reader && lw_reader_select(reader, &images, &err) == LW_ECONFIG, "an axis other than that of rows is not refused");
    lw_reader_close(reader);
}

/* ---- listing ------------------------------------------------------------------------------------------------------- */

static void count_row(const struct lw_listing *row, void *context)
{
    int *const seen = context;
    seen[0]++;
    seen[1] += strcmp(row->path, "/good") == 0 && strcmp(row->shape, "[4 x 3]") == 0 && strcmp(row->type, "float32") == 0 &&
               strcmp(row->storage, "contiguous") == 0;
    seen[2] += strcmp(row->path, "/single") == 0 && strcmp(row->shape, "single value") == 0;
    seen[3] += strcmp(row->path, "/none") == 0 && strcmp(row->shape, "no data") == 0;
}

static void check_listing(const char *folder)
{
    char path[300];
    int seen[4] = {0};
    struct lw_error err = {0};
    snprintf(path, sizeof path, "%s/good.h5", folder);
    CHECK(lw_list_file(path, count_row, seen, &err) == LW_OK, "%s", err.message);
    CHECK(seen[0] == 14 && seen[1] == 1 && seen[2] == 1 && seen[3] == 1, "%d datasets, %d %d %d", seen[0], seen[1], seen[2],
          seen[3]);
    snprintf(path, sizeof path, "%s/random.h5", folder);
    CHECK(lw_list_file(path, count_row, seen, &err) == LW_EDATA, "%s", err.message);
    snprintf(path, sizeof path, "%s/missing.h5", folder);
    CHECK(lw_list_file(path, count_row, seen, &err) == LW_EIO, "%s", err.message);
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    char folder[256], command[300];
    make_folder(comm, folder);
    const struct handle_mark mark = mark_handles();
    if (lw_comm_rank(comm) == 0)
        write_files(folder);
    lw_comm_barrier(comm);
    for (size_t m = 0; m < sizeof mistakes / sizeof *mistakes; m++)
        check_mistake(comm, folder, &mistakes[m]);
    for (size_t m = 0; m < sizeof small_mistakes / sizeof *small_mistakes; m++)
        check_small_mistake(comm, folder, &small_mistakes[m]);
    check_lists(comm, folder);
    check_views(comm, folder);
    check_listing(folder);
    lw_comm_barrier(comm);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(lw_comm_rank(comm) != 0 || system(command) == 0, "%s", command);
    check_handles(mark);
    return test_end(comm, "errors");
}
