#include "io/hdf5/inspect.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"

#include <stdio.h>

/* ---- attributes ---------------------------------------------------------------------------------------------------- */

/* Most bytes of a text (a longer text is cut), and most numbers of an attribute. */
enum { MOST_TEXT = 4096, MOST_REALS = LW_ATTRIBUTE_MOST_REALS };

struct visit {
    lw_attribute_fn *visit;
    void *context;
};

static bool read_numbers(hid_t attribute, hid_t type, double reals[MOST_REALS], struct lw_attribute *out)
{
    const H5T_class_t class = H5Tget_class(type);
    LW_CLOSED const hid_t space = H5Aget_space(attribute);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if ((class != H5T_INTEGER && class != H5T_FLOAT) || count < 1 || count > MOST_REALS)
        return false;
    if (count == 1 && class == H5T_INTEGER && (H5Tget_sign(type) == H5T_SGN_2 || H5Tget_size(type) < sizeof(int64_t))) {
        out->kind = LW_ATTRIBUTE_INT;
        return H5Aread(attribute, H5T_NATIVE_INT64, &out->integer) >= 0;
    }
    if (H5Aread(attribute, H5T_NATIVE_DOUBLE, reals) < 0)
        return false;
    out->kind = count == 1 ? LW_ATTRIBUTE_REAL : LW_ATTRIBUTE_REALS;
    out->real = reals[0];
    out->reals = reals;
    out->n_reals = (int)count;
    return true;
}

static herr_t visit_one(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    const struct visit *const visit = context;
    char text[MOST_TEXT];
    double reals[MOST_REALS];
    struct lw_attribute found = {.name = name, .kind = LW_ATTRIBUTE_TEXT, .text = text};
    struct lw_error broken = {0};
    (void)info;
    LW_CLOSED const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    LW_CLOSED const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    if (type >= 0 && (H5Tget_class(type) == H5T_STRING ? lw_attribute_read_text(object, name, text, MOST_TEXT, &broken)
                                                       : read_numbers(attribute, type, reals, &found)))
        visit->visit(&found, visit->context);
    return 0;
}

/* Visit the attributes of an object. @param path  relative to `from`, a file or an object */
static void visit_path(hid_t from, const char *path, lw_attribute_fn *visit, void *context)
{
    struct visit all = {visit, context};
    LW_CLOSED const hid_t object = H5Oopen(from, path, H5P_DEFAULT);
    if (object >= 0)
        H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_one, &all);
}

void lw_hdf5_visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    struct lw_error unreadable;
    char group[LW_MAX_PATH];
    LW_CLOSED hid_t file = -1;
    snprintf(group, sizeof group, "%s", info->path);
    char *const slash = strrchr(group, '/');
    if (!slash || lw_probe_file(info->file, &file, &unreadable))
        return;
    slash[slash == group ? 1 : 0] = '\0';
    visit_path(file, info->path, visit, context);
    if (group[1] || H5Aexists(file, "lapwing_complete") <= 0)
        visit_path(file, group, visit, context);
}

/* ---- dimensions, columns ------------------------------------------------------------------------------------------- */

static void read_dataset(hid_t dataset, struct lw_notes *notes)
{
    struct lw_error broken = {0};
    hsize_t dims[H5S_MAX_RANK] = {0};
    const int n_dims = lw_hdf5_shape(dataset, dims);
    LW_CLOSED const hid_t creation = H5Dget_create_plist(dataset);
    const haddr_t offset = H5Dget_offset(dataset);
    if (H5Pget_layout(creation) == H5D_CONTIGUOUS && H5Pget_external_count(creation) == 0 && offset != HADDR_UNDEF) {
        notes->offset = (int64_t)offset;
        notes->bytes = (int64_t)H5Dget_storage_size(dataset);
    }
    for (int d = 0; n_dims <= LW_MAX_DIMS && d < n_dims; d++)
        notes->dims[notes->n_dims++] = (int64_t)dims[d];
    visit_path(dataset, ".", lw_said_add, &notes->dataset);
    for (int d = 0; d < n_dims && n_dims <= LW_MAX_DIMS; d++)
        lw_attribute_read_item(dataset, "DIMENSION_LABELS", d, n_dims, notes->dimensions[d], LW_NOTE_NAME, &broken);
    if (n_dims != 1)
        return;
    notes->n_rows = (int64_t)dims[0];
    LW_CLOSED const hid_t type = H5Dget_type(dataset);
    const int n = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
    notes->n_columns = n < LW_MOST_COLUMNS ? n : LW_MOST_COLUMNS;
    for (int c = 0; c < notes->n_columns; c++) {
        char *const name = H5Tget_member_name(type, (unsigned)c);
        const H5T_class_t class = H5Tget_member_class(type, (unsigned)c);
        snprintf(notes->columns[c].name, LW_NOTE_NAME, "%s", name && strlen(name) < LW_NOTE_NAME ? name : "");
        notes->columns[c].is_number = class == H5T_INTEGER || class == H5T_FLOAT;
        H5free_memory(name);
    }
}

/* H5Dget_storage_size makes HDF5 read the chunks' index, so that a damaged index crashes only this child process (shield.h). */
int lw_hdf5_read_notes(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err)
{
    LW_CLOSED hid_t file = -1, dataset = -1;
    int rc;
    if ((rc = lw_probe_file(object->file, &file, err)) || (rc = lw_probe_check_complete(file, object->file, err)) ||
        (rc = lw_probe_dataset(file, object->file, object->path, &dataset, err)))
        return rc;
    visit_path(file, "/", lw_said_add, &notes->file);
    read_dataset(dataset, notes);
    H5Dget_storage_size(dataset);
    return LW_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

/* The table is checked again, because it may have changed and HDF5 does not report columns that are missing. */
int lw_hdf5_read_rows(const struct lw_object *object, const struct lw_rows *rows, double *values, struct lw_error *err)
{
    LW_CLOSED hid_t file = -1, dataset = -1;
    hsize_t dims[H5S_MAX_RANK] = {0};
    int rc;
    if ((rc = lw_probe_file(object->file, &file, err)) ||
        (rc = lw_probe_dataset(file, object->file, object->path, &dataset, err)) || rows->count == 0)
        return rc;
    LW_CLOSED const hid_t there = H5Dget_type(dataset);
    bool fits = lw_hdf5_shape(dataset, dims) == 1 && rows->first + rows->count <= (int64_t)dims[0] &&
                H5Tget_class(there) == H5T_COMPOUND;
    for (int c = 0; fits && c < rows->n_columns; c++)
        fits = H5Tget_member_index(there, rows->columns[c]) >= 0;
    if (!fits)
        return lw_fail(err, LW_EDATA, "'%s' changed while it was read", object->file);
    LW_CLOSED const hid_t type = H5Tcreate(H5T_COMPOUND, (size_t)rows->n_columns * sizeof(double));
    for (int c = 0; c < rows->n_columns; c++)
        H5Tinsert(type, rows->columns[c], (size_t)c * sizeof(double), H5T_NATIVE_DOUBLE);
    const bool done = lw_hdf5_read_list(dataset, type, (hsize_t)rows->first, 1, (hsize_t)rows->count, values);
    return done ? LW_OK : lw_hdf5_fail(err, LW_EIO, "cannot read %s", object->name);
}
