#include "io/hdf5/attribute.h"

#include "base/memory.h"
#include "io/hdf5/library.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

/* Most bytes of a text of fixed length, which lies in its object's header of 64 KiB. Texts of variable length lie elsewhere. */
enum { TEXT_LONGEST = 60000 };

/* ---- reading ------------------------------------------------------------------------------------------------------- */

struct found {
    hid_t attribute, type;              /* `attribute` may also be a dataset */
    hssize_t n_elements;
};

static herr_t read_found(const struct found *found, hid_t type, void *into)
{
    return H5Iget_type(found->attribute) == H5I_ATTR ? H5Aread(found->attribute, type, into)
                                                     : H5Dread(found->attribute, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, into);
}

void lw_attribute_broken(hid_t object, const char *what, struct lw_error *err)
{
    char place[256] = "";
    if (err->code != LW_OK)
        return;
    lw_hdf5_fail(err, LW_EDATA, "%s cannot be read", what);
    H5Iget_name(object, place, sizeof place);
    const size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, " (of %s)", place[0] ? place : "the file");
}

static void note_broken(hid_t object, const char *name, struct lw_error *err)
{
    char what[128];
    snprintf(what, sizeof what, "attribute %.100s", name);
    lw_attribute_broken(object, what, err);
}

static struct found find(hid_t object, const char *name, struct lw_error *err)
{
    struct found found = {-1, -1, 0};
    const htri_t exists = H5Aexists(object, name);
    if (exists > 0 && (found.attribute = H5Aopen(object, name, H5P_DEFAULT)) >= 0)
        found.type = H5Aget_type(found.attribute);
    if (exists != 0 && found.type < 0)
        note_broken(object, name, err);
    if (found.type < 0)
        return found;
    LW_CLOSED const hid_t space = H5Aget_space(found.attribute);
    found.n_elements = H5Sget_simple_extent_npoints(space);
    return found;
}

static bool is_text(const struct found *found, int count)
{
    return H5Tget_class(found->type) == H5T_STRING && found->n_elements == count && count <= H5S_MAX_RANK;
}

/* Return text number `index`, to be released with lw_free; NULL: the texts cannot be read. */
static char *take_variable_text(const struct found *found, int index)
{
    char *stored[H5S_MAX_RANK] = {NULL};
    char *text = NULL;
    if (read_found(found, found->type, stored) < 0)
        return NULL;
    const char *const wanted = stored[index] ? stored[index] : "";
    if ((text = lw_alloc(strlen(wanted) + 1, "an attribute", NULL)))
        strcpy(text, wanted);
    for (int i = 0; i < found->n_elements; i++)
        H5free_memory(stored[i]);
    return text;
}

/* Return the text like take_variable_text. Texts of fixed length may be padded with spaces and may lack the final zero. */
static char *take_fixed_text(const struct found *found, int index)
{
    const size_t stored_size = H5Tget_size(found->type);
    LW_FREED char *const all = lw_alloc_array(found->n_elements, stored_size, "an attribute", NULL);
    char *text = NULL;
    if (all && read_found(found, found->type, all) >= 0) {
        const char *const stored = all + (size_t)index * stored_size;
        size_t length = strnlen(stored, stored_size);
        while (length > 0 && stored[length - 1] == ' ')
            length--;
        if ((text = lw_alloc(length + 1, "an attribute", NULL)))
            memcpy(text, stored, length);
    }
    return text;
}

static char *take_item(const struct found *found, int index)
{
    return (H5Tis_variable_str(found->type) > 0 ? take_variable_text : take_fixed_text)(found, index);
}

bool lw_attribute_parse_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && end[strspn(end, " \t\r\n")] == '\0';
}

bool lw_attribute_read_real(hid_t object, const char *name, double *value, double *accuracy, struct lw_error *err)
{
    const struct found found = find(object, name, err);
    const H5T_class_t class = found.type >= 0 ? H5Tget_class(found.type) : H5T_NO_CLASS;
    const bool numeric = (class == H5T_INTEGER || class == H5T_FLOAT) && found.n_elements == 1;
    const bool textual = found.type >= 0 && is_text(&found, 1);
    LW_FREED char *const text = textual ? take_item(&found, 0) : NULL;
    *accuracy = numeric && class == H5T_FLOAT && H5Tget_size(found.type) < 8 ? (double)FLT_EPSILON : 0;
    const bool done = text || (numeric && H5Aread(found.attribute, H5T_NATIVE_DOUBLE, value) >= 0);
    if ((numeric || textual) && !done)
        note_broken(object, name, err);
    lw_hdf5_close(found.type);
    lw_hdf5_close(found.attribute);
    return done && (numeric || lw_attribute_parse_number(text, value)) && isfinite(*value);
}

static char *find_item(hid_t object, const char *name, int index, int count, struct lw_error *err)
{
    const struct found found = find(object, name, err);
    const bool fits = found.type >= 0 && is_text(&found, count);
    char *const text = fits ? take_item(&found, index) : NULL;
    if (fits && !text)
        note_broken(object, name, err);
    lw_hdf5_close(found.type);
    lw_hdf5_close(found.attribute);
    return text;
}

bool lw_attribute_read_item(hid_t object, const char *name, int index, int count, char *text, size_t size, struct lw_error *err)
{
    LW_FREED char *const whole = find_item(object, name, index, count, err);
    if (whole)
        snprintf(text, size, "%s", whole);
    return whole != NULL;
}

bool lw_dataset_read_item(hid_t dataset, int index, char *text, size_t size, struct lw_error *err)
{
    enum { MOST_BYTES = 1 << 14 };
    hsize_t dims[H5S_MAX_RANK];
    const int n_dims = lw_hdf5_shape(dataset, dims);
    const struct found found = {dataset, H5Dget_type(dataset),
                                n_dims == 0                              ? 1
                                : n_dims == 1 && dims[0] <= H5S_MAX_RANK ? (hssize_t)dims[0]
                                                                         : 0};
    const bool fits = index < found.n_elements && is_text(&found, (int)found.n_elements);
    const bool is_small =
        fits && (H5Tis_variable_str(found.type) > 0 || H5Tget_size(found.type) <= MOST_BYTES / (size_t)found.n_elements);
    LW_FREED char *const whole = is_small ? take_item(&found, index) : NULL;
    snprintf(text, size, "%s", whole ? whole : "");
    for (size_t used = strlen(text); used > 0 && text[used - 1] == ' '; used--)
        text[used - 1] = '\0';
    if (fits && !whole)
        lw_attribute_broken(dataset, "a dataset", err);
    H5Tclose(found.type);
    return text[0] != '\0';
}

char *lw_attribute_take_text(hid_t object, const char *name, struct lw_error *err)
{
    return find_item(object, name, 0, 1, err);
}

bool lw_attribute_read_text(hid_t object, const char *name, char *text, size_t size, struct lw_error *err)
{
    return lw_attribute_read_item(object, name, 0, 1, text, size, err);
}

bool lw_attribute_read_first(hid_t object, const char *const *names, char *text, size_t size, struct lw_error *err)
{
    text[0] = '\0';
    for (; *names; names++)
        if (lw_attribute_read_text(object, *names, text, size, err) && text[0])
            return true;
    text[0] = '\0';
    return false;
}

/* ---- writing ------------------------------------------------------------------------------------------------------- */

/* Make the type of an attribute. Even an empty fixed text needs a byte, because HDF5 has no type of size 0. */
static hid_t stored_type(const struct lw_attribute *attribute)
{
    if (attribute->kind != LW_ATTRIBUTE_TEXT)
        return H5Tcopy(attribute->kind == LW_ATTRIBUTE_INT ? H5T_STD_I64LE : H5T_IEEE_F64LE);
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, !attribute->is_late ? H5T_VARIABLE : attribute->text[0] ? strlen(attribute->text) : 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    if (attribute->is_late)
        H5Tset_strpad(type, H5T_STR_NULLPAD);
    return type;
}

static herr_t put_text(hid_t stored, const char *text)
{
    LW_CLOSED const hid_t type = H5Aget_type(stored);
    char padded[TEXT_LONGEST + 1] = "";
    const size_t size = H5Tget_size(type);
    if (H5Tis_variable_str(type) > 0)
        return H5Awrite(stored, type, &text);
    if (strlen(text) > size || size >= sizeof padded)
        return -1;
    memcpy(padded, text, strlen(text));
    return H5Awrite(stored, type, padded);
}

/* Write the value and close the attribute. @param how  "write", "overwrite" */
static int put(hid_t stored, const struct lw_attribute *attribute, const char *how, struct lw_error *err)
{
    herr_t written = -1;
    if (stored >= 0 && attribute->kind == LW_ATTRIBUTE_TEXT)
        written = put_text(stored, attribute->text);
    else if (stored >= 0 && attribute->kind == LW_ATTRIBUTE_INT)
        written = H5Awrite(stored, H5T_NATIVE_INT64, &attribute->integer);
    else if (stored >= 0)
        written = H5Awrite(stored, H5T_NATIVE_DOUBLE, attribute->kind == LW_ATTRIBUTE_REAL ? &attribute->real : attribute->reals);
    const int rc = written < 0 ? lw_hdf5_fail(err, LW_EIO, "cannot %s attribute '%s'", how, attribute->name) : LW_OK;
    lw_hdf5_close(stored);
    return rc;
}

int lw_attribute_write(hid_t object, const struct lw_attribute *attribute, struct lw_error *err)
{
    if (attribute->kind == LW_ATTRIBUTE_TEXT && attribute->is_late && strlen(attribute->text) > TEXT_LONGEST)
        return lw_fail(err, LW_ECONFIG, "the text for attribute '%s' has %zu bytes, at most %d fit in a result file",
                       attribute->name, strlen(attribute->text), TEXT_LONGEST);

    LW_CLOSED const hid_t type = stored_type(attribute);
    const hsize_t n = (hsize_t)attribute->n_reals;
    LW_CLOSED const hid_t space = attribute->kind == LW_ATTRIBUTE_REALS ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
    const hid_t stored = H5Acreate2(object, attribute->name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    return put(stored, attribute, "write", err);
}

int lw_attribute_write_text(hid_t object, const char *name, const char *text, struct lw_error *err)
{
    return lw_attribute_write(object, &(struct lw_attribute){.name = name, .kind = LW_ATTRIBUTE_TEXT, .text = text}, err);
}

int lw_attribute_overwrite(hid_t object, const struct lw_attribute *attribute, struct lw_error *err)
{
    return put(H5Aopen(object, attribute->name, H5P_DEFAULT), attribute, "overwrite", err);
}
