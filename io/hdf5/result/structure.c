/* structure.c - HDF5 as a format of results: everything of a result file except its samples.
 *
 * Rank 0 alone works here, through an HDF5 handle without MPI, so that a failure is an error like any other. In collective calls on
 * metadata, a failure would leave the other ranks waiting for ever. */
#include "io/write/structure.h"

#include "base/integers.h"
#include "base/text.h"
#include "io/bytes/transfer.h"
#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"
#include "io/hdf5/result/parts.h"

#include <hdf5_hl.h>
#include <inttypes.h>
#include <stdio.h>

/* Attribute of the root group: 0 until `complete` makes it 1. */
#define COMPLETE "lapwing_complete"

#define ALIGNMENT ((int64_t)1 << 20)    /* alignment of datasets: a usual stripe, a multiple of any page */

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

/* Return the bytes of a sample, or of a row of a table. */
static int64_t element_bytes(const struct lw_writer_dataset *dataset)
{
    if (dataset->holds_words)
        return (int64_t)sizeof(uint64_t);
    return dataset->n_columns > 0 ? dataset->n_columns * 8 : (int64_t)lw_type_bytes(dataset->type);
}

/* Return the bytes of a dataset. INT64_MAX stands for an overflow; lw_result_file_claim then finds that there is no room. */
static int64_t dataset_bytes(const struct lw_writer_dataset *dataset)
{
    int64_t bytes = element_bytes(dataset);
    for (int d = 0; d < dataset->n_dims; d++)
        if (__builtin_mul_overflow(bytes, dataset->dims[d], &bytes))
            return INT64_MAX;
    return bytes;
}

static int64_t room(const struct lw_writer_spec *spec)
{
    int64_t bytes = ALIGNMENT + lw_patch_room(spec);
    for (int d = 0; d < spec->n_datasets; d++)
        if (__builtin_add_overflow(bytes, dataset_bytes(&spec->datasets[d]), &bytes) ||
            (spec->datasets[d].n_columns > 0 && __builtin_add_overflow(bytes, dataset_bytes(&spec->datasets[d]), &bytes)) ||
            __builtin_add_overflow(bytes, ALIGNMENT + lw_scales_room(&spec->datasets[d]), &bytes))
            return INT64_MAX;
    return bytes;
}

/* ---- create -------------------------------------------------------------------------------------------------------- */

/* Open the temporary file. HDF5 must not lock it, because it bears this program's own lock (result_file.h). Datasets are aligned to
 * longer stripes, too; `room` does not count that, because a file has stripes only once it exists.
 * @param flags  as for H5Fopen; H5F_ACC_TRUNC: a new file */
static hid_t open_part(const struct lw_result_file *result, unsigned flags)
{
    LW_CLOSED const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    struct lw_storage storage;
    lw_storage_find(result->fd, &storage);
    const bool is_long = storage.stripe_bytes > ALIGNMENT && storage.stripe_bytes <= LW_AGGREGATE_BYTES;
    H5Pset_alignment(access, (hsize_t)ALIGNMENT, (hsize_t)(is_long ? storage.stripe_bytes : ALIGNMENT));
#if H5_VERSION_GE(1, 10, 7)
    H5Pset_file_locking(access, false, true);
#endif
    return flags == H5F_ACC_TRUNC ? H5Fcreate(result->part, flags, H5P_DEFAULT, access) : H5Fopen(result->part, flags, access);
}

static hid_t make_type(const struct lw_writer_dataset *spec)
{
    if (spec->holds_words)
        return H5Tcopy(H5T_NATIVE_UINT64);
    if (spec->n_columns == 0)
        return lw_hdf5_type_make(spec->type);
    const hid_t type = H5Tcreate(H5T_COMPOUND, (size_t)spec->n_columns * 8);
    for (int c = 0; c < spec->n_columns; c++)
        H5Tinsert(type, spec->columns[c].name, (size_t)c * 8,
                  spec->columns[c].kind == LW_COLUMN_INT ? H5T_STD_I64LE : H5T_IEEE_F64LE);
    return type;
}

static hid_t make_space(const struct lw_writer_dataset *spec)
{
    hsize_t dims[LW_MAX_DIMS];
    for (int d = 0; d < spec->n_dims; d++)
        dims[d] = (hsize_t)spec->dims[d];
    return H5Screate_simple(spec->n_dims, dims, NULL);
}

/* Write or overwrite attributes. @param put  lw_attribute_write or lw_attribute_overwrite */
static int put_attributes(hid_t object, const struct lw_attribute *attributes, int count,
                          int (*put)(hid_t object, const struct lw_attribute *attribute, struct lw_error *err),
                          struct lw_error *err)
{
    int rc = LW_OK;
    for (int a = 0; a < count && rc == LW_OK; a++)
        rc = put(object, &attributes[a], err);
    return rc;
}

static struct lw_extent find_extent(hid_t dataset, const struct lw_writer_dataset *spec)
{
    struct lw_extent extent = {
        .offset = (int64_t)H5Dget_offset(dataset), .element_bytes = element_bytes(spec), .n_dims = spec->n_dims,
    };
    for (int d = 0; d < spec->n_dims; d++)
        extent.dims[d] = spec->dims[d];
    return extent;
}

/* Return the end of the last dataset in the file. */
static int64_t find_end(const struct lw_writer_spec *spec, const struct lw_extent *extents)
{
    int64_t end = 0;
    for (int d = 0; d < spec->n_datasets; d++)
        end = lw_max64(end, extents[d].offset + dataset_bytes(&spec->datasets[d]));
    return end;
}

/* Create a dataset that is contiguous, allocated at once and never filled, because every sample is written later. */
static int create_dataset(hid_t file, const struct lw_writer_dataset *spec, struct lw_extent *extent, struct lw_error *err)
{
    LW_CLOSED const hid_t type = make_type(spec), space = make_space(spec);
    LW_CLOSED const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    LW_CLOSED const hid_t link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_layout(creation, H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    H5Pset_create_intermediate_group(link, 1);
    LW_CLOSED const hid_t dataset = H5Dcreate2(file, spec->path, type, space, link, creation, H5P_DEFAULT);
    if (dataset < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot create %s", spec->path);
    int rc = LW_OK;
    for (int d = 0; d < spec->n_dims && rc == LW_OK; d++)
        if (spec->dim_names[d] && H5DSset_label(dataset, (unsigned)d, spec->dim_names[d]) < 0)
            rc = lw_hdf5_fail(err, LW_EIO, "cannot label dimension %d of %s", d, spec->path);
    (void)(rc || (rc = lw_scales_attach(file, dataset, spec, err)) ||
           (rc = put_attributes(dataset, spec->attributes, spec->n_attributes, lw_attribute_write, err)));
    *extent = find_extent(dataset, spec);
    return rc;
}

static struct lw_attribute completion(int64_t value)
{
    return (struct lw_attribute){.name = COMPLETE, .kind = LW_ATTRIBUTE_INT, .integer = value};
}

static bool has_scales(const struct lw_writer_spec *spec)
{
    for (int d = 0; d < spec->n_datasets; d++)
        if (spec->datasets[d].has_scales)
            return true;
    return false;
}

static int create_all(hid_t file, const struct lw_writer_spec *spec, struct lw_extent *extents, struct lw_error *err)
{
    static const struct lw_attribute conventions = {.name = "Conventions", .kind = LW_ATTRIBUTE_TEXT, .text = "CF-1.8"};
    const struct lw_attribute incomplete = completion(0);
    int rc;
    if ((rc = lw_attribute_write(file, &incomplete, err)) ||
        (rc = has_scales(spec) ? lw_attribute_write(file, &conventions, err) : LW_OK) ||
        (rc = put_attributes(file, spec->attributes, spec->n_attributes, lw_attribute_write, err)))
        return rc;
    for (int d = 0; d < spec->n_datasets && rc == LW_OK; d++)
        if (!spec->datasets[d].grows)
            rc = create_dataset(file, &spec->datasets[d], &extents[d], err);
    return rc ? rc : lw_patch_create(file, spec, err);
}

/* Close the file; HDF5 writes its caches. After a failure (*is_stuck), HDF5 1.10 would try again when MPI ends, and crash. */
static int close_file(hid_t file, int rc, const char *name, bool *is_stuck, struct lw_error *err)
{
    *is_stuck = H5Fflush(file, H5F_SCOPE_LOCAL) < 0 || H5Fclose(file) < 0;
    return *is_stuck && rc == LW_OK ? lw_hdf5_fail(err, LW_EIO, "cannot write '%s'", name) : rc;
}

static int create(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_extent *extents, bool *is_stuck,
                  struct lw_error *err)
{
    const hid_t file = open_part(result, H5F_ACC_TRUNC);
    if (file < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot create '%s'", result->part);
    int rc = create_all(file, spec, extents, err);
    if (rc == LW_OK)
        rc = lw_result_file_reserve(result, find_end(spec, extents), err);      /* reserved before the first byte is written */
    return close_file(file, rc, result->part, is_stuck, err);
}

/* ---- check --------------------------------------------------------------------------------------------------------- */

/* Write a shape such as "float32 [2 x 4000]". */
static void describe(hid_t type, hid_t space, char *text, size_t size)
{
    char type_text[96];
    hsize_t dims[H5S_MAX_RANK];
    const int n_dims = H5Sget_simple_extent_dims(space, dims, NULL);
    snprintf(text, size, "%s [", lw_hdf5_type_text(type, type_text, sizeof type_text));
    for (int d = 0; d < n_dims; d++)
        lw_append(text, size, "%s%" PRIu64 "%s", d ? " x " : "", (uint64_t)dims[d], d == n_dims - 1 ? "]" : "");
}

static int check_same(const char *part, hid_t dataset, const struct lw_writer_dataset *spec, struct lw_error *err)
{
    char found[320], wanted[320];
    LW_CLOSED const hid_t its_type = H5Dget_type(dataset), its_space = H5Dget_space(dataset);
    LW_CLOSED const hid_t type = make_type(spec), space = make_space(spec);
    const bool is_same = H5Tequal(its_type, type) > 0 && H5Sextent_equal(its_space, space) > 0;
    describe(its_type, its_space, found, sizeof found);
    describe(type, space, wanted, sizeof wanted);
    return is_same ? LW_OK : lw_fail(err, LW_EDATA, "cannot go on with '%.200s': its dataset %.100s is %s, that of this run %s",
                                     part, spec->path, found, wanted);
}

/* Check a dataset. Samples are written to their places on disk, so the dataset must be contiguous and allocated. */
static int check_dataset(hid_t file, const char *part, const struct lw_writer_dataset *spec, struct lw_extent *extent,
                         struct lw_error *err)
{
    if (spec->grows)            /* `complete` creates the dataset */
        return LW_OK;
    LW_CLOSED const hid_t dataset = H5Dopen2(file, spec->path, H5P_DEFAULT);
    if (dataset < 0)
        return lw_hdf5_fail(err, LW_EDATA, "cannot go on with '%.200s': it has no dataset %.100s", part, spec->path);
    *extent = find_extent(dataset, spec);
    const int rc = check_same(part, dataset, spec, err);
    LW_CLOSED const hid_t creation = H5Dget_create_plist(dataset);
    if (rc || (H5Pget_layout(creation) == H5D_CONTIGUOUS && H5Dget_offset(dataset) != HADDR_UNDEF))
        return rc;
    return lw_fail(err, LW_EDATA, "cannot go on with '%.200s': its dataset %.100s is not as this program makes them, contiguous "
                   "and with its room on disk", part, spec->path);
}

/* No child process looks at the file first (shield.h), because the engine may be at work. The earlier run flushed the structure. */
static int check(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_extent *extents,
                 struct lw_error *err)
{
    double complete, accuracy;
    struct lw_error broken = {0};
    int rc = LW_OK;
    LW_CLOSED const hid_t file = open_part(result, H5F_ACC_RDONLY);
    if (file < 0)
        return lw_hdf5_fail(err, LW_EDATA, "cannot go on with '%s' (try again, or start over with --resume never)", result->part);
    if (!lw_attribute_read_real(file, COMPLETE, &complete, &accuracy, &broken))
        return lw_fail(err, LW_EDATA, "cannot go on with '%s': it is no result of this program", result->part);
    if (complete != 0)
        return lw_fail(err, LW_EDATA, "cannot go on with '%s': it is complete; rename it", result->part);
    for (int d = 0; d < spec->n_datasets && rc == LW_OK; d++)
        rc = check_dataset(file, result->part, &spec->datasets[d], &extents[d], err);
    return rc ? rc : lw_result_file_reserve(result, find_end(spec, extents), err);
}

/* ---- complete ------------------------------------------------------------------------------------------------------ */

/* Write a table's rows without HDF5, like samples, so that a failure is an error and the file can still be closed. */
static int write_rows(const struct lw_result_file *result, struct lw_growing *table, struct lw_error *err)
{
    struct lw_error reason;
    const void *rows;
    int64_t n, at = table->offset;
    int rc = lw_spool_sort(table->spool, err);
    while (rc == LW_OK && (rc = lw_spool_next(table->spool, &rows, &n, err)) == LW_OK && n > 0) {
        const int64_t bytes = n * element_bytes(&table->dataset);
        if (lw_bytes_write(result->fd, rows, at, bytes, &reason) != LW_OK)
            return lw_fail(err, LW_EIO, "cannot write '%.600s', rows of %.100s: %.200s", result->part, table->dataset.path,
                           reason.message);
        at += bytes;
    }
    return rc;
}

static int create_tables(hid_t file, const struct lw_structure_end *end, struct lw_error *err)
{
    int rc = LW_OK;
    for (int t = 0; t < end->n_tables && rc == LW_OK; t++) {
        struct lw_growing *const table = end->tables[t];
        if (!table)
            continue;
        struct lw_writer_dataset spec = table->dataset;
        struct lw_extent extent = {0};
        spec.dims[0] = lw_spool_rows(table->spool);
        rc = create_dataset(file, &spec, &extent, err);
        table->offset = extent.offset;
    }
    return rc;
}

/* Add the growing tables, and the columns of all tables. The new structure is flushed after the rows and before the mark of
 * completion. So a killed run never marks a file whose rows are missing, and changes no structure while rows are written. */
static int add_tables(hid_t file, const struct lw_result_file *result, const struct lw_structure_end *end, struct lw_error *err)
{
    struct lw_columns columns;
    hsize_t bytes;
    int rc;
    if ((rc = create_tables(file, end, err)) || (rc = lw_columns_create(file, &columns, err)))
        return rc;
    if (H5Fget_filesize(file, &bytes) < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot make room for the tables of '%s'", result->part);
    rc = lw_result_file_reserve(result, (int64_t)bytes, err);
    for (int t = 0; t < end->n_tables && rc == LW_OK; t++)
        if (end->tables[t])
            rc = write_rows(result, end->tables[t], err);
    if (rc == LW_OK && columns.n_tables > 0)
        rc = lw_columns_write(file, result, &columns, err);
    if (rc == LW_OK && H5Fflush(file, H5F_SCOPE_LOCAL) < 0)
        rc = lw_hdf5_fail(err, LW_EIO, "cannot write '%s'", result->part);
    return rc;
}

static int complete(const struct lw_result_file *result, const struct lw_structure_end *end, bool *is_stuck, struct lw_error *err)
{
    const struct lw_attribute mark = completion(1);
    const hid_t file = open_part(result, H5F_ACC_RDWR);
    if (file < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot open '%s' to complete it", result->part);
    int rc;
    (void)((rc = add_tables(file, result, end, err)) ||
           (rc = put_attributes(file, end->attributes, end->n_attributes, lw_attribute_overwrite, err)) ||
           (rc = lw_attribute_overwrite(file, &mark, err)));
    return close_file(file, rc, result->part, is_stuck, err);
}

const struct lw_structure lw_structure_hdf5 = {
    .start = lw_hdf5_start, .room = room, .create = create, .check = check, .complete = complete,
    .open_together = lw_collective_open, .write_together = lw_collective_write,
    .flush_together = lw_collective_flush, .close_together = lw_collective_close,
};
