#include "io/hdf5/notes.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/hdf5/attribute.h"
#include "io/hdf5/error.h"
#include "io/hdf5/probe.h"

#include <stdio.h>
#include <string.h>

/* ---- attributes ---------------------------------------------------------------------------------------------------- */

struct visit {
    struct lw_note_list *list;
    struct lw_error *broken;
};

/* HDF5 converts as it reads, so all of them are read. An attribute lies in its object's header, 64 KiB at most, unless the file
 * stores large ones elsewhere. */
static bool read_reals(hid_t attribute, hid_t type, struct lw_note *note)
{
    enum { MOST = 8192 };
    const H5T_class_t class = H5Tget_class(type);
    const hid_t space = H5Aget_space(attribute);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    if ((class != H5T_INTEGER && class != H5T_FLOAT) || count < 1 || count > MOST)
        return false;
    double *const all = lw_alloc_array(count, sizeof *all, "an attribute", NULL);
    const bool done = all && H5Aread(attribute, H5T_NATIVE_DOUBLE, all) >= 0;
    if (done) {
        note->n_reals = (int)count;
        memcpy(note->reals, all, (size_t)min64(count, LW_NOTE_REALS) * sizeof *all);
    }
    lw_free(all);
    return done;
}

static herr_t visit_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    struct visit *const visit = context;
    (void)info;
    if (visit->list->count == LW_MOST_NOTES || strlen(name) >= LW_NOTE_NAME)
        return 0;
    struct lw_note *const note = &visit->list->notes[visit->list->count];
    *note = (struct lw_note){0};
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    const bool is_text = type >= 0 && H5Tget_class(type) == H5T_STRING;
    const bool found = is_text ? lw_attribute_read_text(object, name, note->text, sizeof note->text, visit->broken)
                               : type >= 0 && read_reals(attribute, type, note);
    if (found) {
        snprintf(note->name, sizeof note->name, "%s", name);
        visit->list->count++;
    }
    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return 0;
}

/* Attributes that cannot be read are left out: they would only be shown. */
static void read_attributes(hid_t object, struct lw_note_list *list)
{
    struct lw_error broken = {0};
    struct visit visit = {list, &broken};
    H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_attribute, &visit);
}

/* ---- dimensions, columns ------------------------------------------------------------------------------------------- */

static int read_shape(hid_t dataset, hsize_t dims[H5S_MAX_RANK])
{
    const hid_t space = H5Dget_space(dataset);
    const int n_dims = H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    return n_dims;
}

static void read_columns(hid_t dataset, struct lw_notes *notes)
{
    const hid_t type = H5Dget_type(dataset);
    const int n = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
    notes->n_columns = n < LW_MOST_COLUMNS ? n : LW_MOST_COLUMNS;
    for (int c = 0; c < notes->n_columns; c++) {
        char *const name = H5Tget_member_name(type, (unsigned)c);
        const H5T_class_t class = H5Tget_member_class(type, (unsigned)c);
        snprintf(notes->columns[c].name, LW_NOTE_NAME, "%s", name && strlen(name) < LW_NOTE_NAME ? name : "");
        notes->columns[c].is_number = class == H5T_INTEGER || class == H5T_FLOAT;
        H5free_memory(name);
    }
    H5Tclose(type);
}

static void read_dataset(hid_t dataset, struct lw_notes *notes)
{
    struct lw_error broken = {0};
    hsize_t dims[H5S_MAX_RANK] = {0};
    const int n_dims = read_shape(dataset, dims);
    read_attributes(dataset, &notes->dataset);
    for (int d = 0; d < n_dims && n_dims <= LW_MAX_DIMS; d++)
        lw_attribute_read_item(dataset, "DIMENSION_LABELS", d, n_dims, notes->dimensions[d], LW_NOTE_NAME, &broken);
    if (n_dims != 1)
        return;
    notes->n_rows = (int64_t)dims[0];
    read_columns(dataset, notes);
}

/* The chunks are counted so that their index is read here, where it may be damaged. */
int lw_hdf5_read_notes(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err)
{
    hid_t file, dataset;
    int rc = lw_probe_file(object->file, &file, err);
    if (rc)
        return rc;
    if ((rc = lw_probe_check_complete(file, object->file, err)) == LW_OK &&
        (rc = lw_probe_dataset(file, object->file, object->path, &dataset, err)) == LW_OK) {
        const hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
        read_attributes(root, &notes->file);
        H5Gclose(root);
        read_dataset(dataset, notes);
        H5Dget_storage_size(dataset);
        H5Dclose(dataset);
    }
    H5Fclose(file);
    return rc;
}

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

static hid_t row_type(const struct lw_rows *rows)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, (size_t)rows->n_columns * sizeof(double));
    for (int c = 0; c < rows->n_columns; c++)
        H5Tinsert(type, rows->columns[c], (size_t)c * sizeof(double), H5T_NATIVE_DOUBLE);
    return type;
}

/* HDF5 leaves alone what the file does not have, so that a table that has changed is looked at once more. */
static bool is_as_wanted(hid_t dataset, const struct lw_rows *rows)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    bool fits = read_shape(dataset, dims) == 1 && rows->first + rows->count <= (int64_t)dims[0];
    const hid_t type = H5Dget_type(dataset);
    fits = fits && H5Tget_class(type) == H5T_COMPOUND;
    for (int c = 0; fits && c < rows->n_columns; c++)
        fits = H5Tget_member_index(type, rows->columns[c]) >= 0;
    H5Tclose(type);
    return fits;
}

static int read_rows(hid_t dataset, const struct lw_object *object, const struct lw_rows *rows, double *values,
                     struct lw_error *err)
{
    if (!is_as_wanted(dataset, rows))
        return lw_fail(err, LW_EDATA, "'%s' changed while it was read", object->file);
    int rc = LW_OK;
    const hsize_t first = (hsize_t)rows->first, count = (hsize_t)rows->count;
    const hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, &count, NULL), type = row_type(rows);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL);
    if (H5Dread(dataset, type, memory, space, H5P_DEFAULT, values) < 0)
        rc = lw_hdf5_fail(err, LW_EIO, "cannot read %s", object->name);
    H5Tclose(type);
    H5Sclose(memory);
    H5Sclose(space);
    return rc;
}

int lw_hdf5_read_rows(const struct lw_object *object, const struct lw_rows *rows, double *values, struct lw_error *err)
{
    hid_t file, dataset;
    int rc = lw_probe_file(object->file, &file, err);
    if (rc)
        return rc;
    if ((rc = lw_probe_dataset(file, object->file, object->path, &dataset, err)) == LW_OK) {
        rc = rows->count > 0 ? read_rows(dataset, object, rows, values, err) : LW_OK;
        H5Dclose(dataset);
    }
    H5Fclose(file);
    return rc;
}
