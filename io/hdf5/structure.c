#include "io/hdf5/structure.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/error.h"
#include "io/hdf5/type.h"

#include <hdf5.h>
#include <hdf5_hl.h>

/* Of the root group: 0 until lw_structure_complete makes it 1. */
#define COMPLETE "lapwing_complete"

#define ALIGNMENT ((int64_t)1 << 20)    /* of datasets: a Lustre stripe, and a multiple of any page */

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

int64_t lw_structure_element_bytes(const struct lw_writer_dataset *dataset)
{
    return dataset->n_columns > 0 ? dataset->n_columns * 8 : (int64_t)lw_type_bytes(dataset->type);
}

/* More than any disk has where the product does not fit: the claim then says that there is no room. */
static int64_t dataset_bytes(const struct lw_writer_dataset *dataset)
{
    int64_t bytes = lw_structure_element_bytes(dataset);
    for (int d = 0; d < dataset->n_dims; d++)
        if (__builtin_mul_overflow(bytes, dataset->dims[d], &bytes))
            return INT64_MAX;
    return bytes;
}

int64_t lw_structure_room(const struct lw_writer_spec *spec)
{
    int64_t bytes = ALIGNMENT;
    for (int d = 0; d < spec->n_datasets; d++)
        if (__builtin_add_overflow(bytes, dataset_bytes(&spec->datasets[d]), &bytes) ||
            __builtin_add_overflow(bytes, ALIGNMENT, &bytes))
            return INT64_MAX;
    return bytes;
}

/* ---- create -------------------------------------------------------------------------------------------------------- */

/* The lock on the temporary file is this program's own (result_file.h), so HDF5 must not try to take one. */
static hid_t plain_access(void)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_alignment(access, (hsize_t)ALIGNMENT, (hsize_t)ALIGNMENT);
#if H5_VERSION_GE(1, 10, 7)
    H5Pset_file_locking(access, false, true);
#endif
    return access;
}

static hid_t make_table_type(const struct lw_column *columns, int count)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, (size_t)count * 8);
    for (int c = 0; c < count; c++)
        H5Tinsert(type, columns[c].name, (size_t)c * 8,
                  columns[c].kind == LW_COLUMN_INT ? H5T_STD_I64LE : H5T_IEEE_F64LE);
    return type;
}

/* Contiguous, all of it at once, never filled: the room is reserved by the file system, and every sample is written. */
static hid_t create_contiguous(hid_t file, const struct lw_writer_dataset *spec)
{
    hsize_t dims[LW_MAX_DIMS];
    for (int d = 0; d < spec->n_dims; d++)
        dims[d] = (hsize_t)spec->dims[d];
    const hid_t type = spec->n_columns > 0 ? make_table_type(spec->columns, spec->n_columns) : lw_hdf5_type_make(spec->type);
    const hid_t space = H5Screate_simple(spec->n_dims, dims, NULL);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_layout(creation, H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    H5Pset_create_intermediate_group(link, 1);
    const hid_t dataset = H5Dcreate2(file, spec->path, type, space, link, creation, H5P_DEFAULT);
    H5Pclose(link);
    H5Pclose(creation);
    H5Sclose(space);
    H5Tclose(type);
    return dataset;
}

static int label_dimensions(hid_t dataset, const struct lw_writer_dataset *spec, struct lw_error *err)
{
    for (int d = 0; d < spec->n_dims; d++)
        if (spec->dim_names[d] && H5DSset_label(dataset, (unsigned)d, spec->dim_names[d]) < 0)
            return lw_hdf5_fail(err, LW_EIO, "cannot label dimension %d of %s", d, spec->path);
    return LW_OK;
}

static int write_attributes(hid_t object, const struct lw_attribute *attributes, int count, struct lw_error *err)
{
    int rc = LW_OK;
    for (int a = 0; a < count && rc == LW_OK; a++)
        rc = lw_attribute_write(object, &attributes[a], err);
    return rc;
}

/* @param end  raised to where the dataset ends in the file */
static int create_dataset(hid_t file, const struct lw_writer_dataset *spec, int64_t *end, struct lw_error *err)
{
    const hid_t dataset = create_contiguous(file, spec);
    if (dataset < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot create %s", spec->path);
    int rc = label_dimensions(dataset, spec, err);
    if (rc == LW_OK)
        rc = write_attributes(dataset, spec->attributes, spec->n_attributes, err);
    const int64_t its_end = (int64_t)(H5Dget_offset(dataset) + H5Dget_storage_size(dataset));
    *end = its_end > *end ? its_end : *end;
    H5Dclose(dataset);
    return rc;
}

static struct lw_attribute completion(int64_t value)
{
    return (struct lw_attribute){.name = COMPLETE, .kind = LW_ATTRIBUTE_INT, .integer = value};
}

static int create_all(hid_t file, const struct lw_writer_spec *spec, int64_t *end, struct lw_error *err)
{
    const struct lw_attribute incomplete = completion(0);
    int rc;
    if ((rc = write_attributes(file, &incomplete, 1, err)) ||
        (rc = write_attributes(file, spec->attributes, spec->n_attributes, err)))
        return rc;
    for (int d = 0; d < spec->n_datasets && rc == LW_OK; d++)
        rc = create_dataset(file, &spec->datasets[d], end, err);
    return rc;
}

/* Writes what HDF5 still holds. After a failure, HDF5 1.10 would try again when MPI ends, and crash. */
static int close_file(hid_t file, int rc, const char *name, bool *is_stuck, struct lw_error *err)
{
    *is_stuck = H5Fflush(file, H5F_SCOPE_LOCAL) < 0 || H5Fclose(file) < 0;
    return *is_stuck && rc == LW_OK ? lw_hdf5_fail(err, LW_EIO, "cannot write '%s'", name) : rc;
}

int lw_structure_create(const struct lw_result_file *result, const struct lw_writer_spec *spec, bool *is_stuck,
                        struct lw_error *err)
{
    const hid_t access = plain_access();
    const hid_t file = H5Fcreate(result->part, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    if (file < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot create '%s'", result->part);
    int64_t end = 0;
    int rc = create_all(file, spec, &end, err);
    if (rc == LW_OK)
        rc = lw_result_file_reserve(result, end, err);      /* before the first byte is written */
    return close_file(file, rc, result->part, is_stuck, err);
}

/* ---- complete ------------------------------------------------------------------------------------------------------ */

int lw_structure_complete(const struct lw_result_file *result, const struct lw_attribute *attributes, int n_attributes,
                          bool *is_stuck, struct lw_error *err)
{
    const hid_t access = plain_access();
    const hid_t file = H5Fopen(result->part, H5F_ACC_RDWR, access);
    H5Pclose(access);
    if (file < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot open '%s' to complete it", result->part);
    const struct lw_attribute complete = completion(1);
    int rc = LW_OK;
    for (int a = 0; a < n_attributes && rc == LW_OK; a++)
        rc = lw_attribute_overwrite(file, &attributes[a], err);
    if (rc == LW_OK)
        rc = lw_attribute_overwrite(file, &complete, err);
    return close_file(file, rc, result->part, is_stuck, err);
}
