#include "io/hdf5/conventions/place.h"

#include "io/hdf5/attribute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- attributes ----------------------------------------------------------------------------------------------------- */

/* Open the object of a place. @param name  set to the attribute's, NULL: the place is that of a dataset */
static hid_t open_object(hid_t file, const char *place, const char **name)
{
    char path[LW_PLACE];
    const char *const at = strrchr(place, '@');
    *name = at ? at + 1 : NULL;
    snprintf(path, sizeof path, "%.*s", at ? (int)(at - place) : (int)strlen(place), place);
    return H5Oopen(file, path[0] ? path : "/", H5P_DEFAULT);
}

static hssize_t count_elements(hid_t space)
{
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    return H5Sget_simple_extent_ndims(space) <= 1 ? count : -1;
}

static bool are_numbers(hid_t type)
{
    const H5T_class_t class = H5Tget_class(type);
    return class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM;
}

static bool are_finite(const double *values, int count)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static int read_attribute_reals(hid_t object, const char *name, double *values, int most, struct lw_error *err)
{
    const hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    if (attribute < 0)
        return 0;
    const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    const hssize_t count = count_elements(space);
    const bool fits = count >= 1 && count <= most && are_numbers(type);
    const bool is_read = fits && H5Aread(attribute, H5T_NATIVE_DOUBLE, values) >= 0;
    if (fits && !is_read)
        lw_attribute_broken(object, name, err);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return is_read && are_finite(values, (int)count) ? (int)count : 0;
}

/* ---- datasets ------------------------------------------------------------------------------------------------------- */

static bool is_plain(hid_t dataset)
{
    const hid_t creation = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = H5Pget_layout(creation);
    const bool plain = (layout == H5D_COMPACT || layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED) &&
                       H5Pget_external_count(creation) == 0;
    H5Pclose(creation);
    return plain;
}

/* HDF5 copies as many bytes of a compact dataset as its shape says. */
static bool is_all_there(hid_t dataset)
{
    const hid_t creation = H5Dget_create_plist(dataset), type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    hsize_t needed = H5Tget_size(type);
    const bool there = count >= 0 && !__builtin_mul_overflow(needed, (hsize_t)count, &needed) &&
                       (H5Pget_layout(creation) != H5D_COMPACT || H5Dget_storage_size(dataset) >= needed);
    H5Sclose(space);
    H5Tclose(type);
    H5Pclose(creation);
    return there;
}

hid_t lw_place_open_dataset(hid_t file, const char *path)
{
    const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    if (object < 0)
        return -1;
    if (H5Iget_type(object) == H5I_DATASET && is_plain(object) && is_all_there(object))
        return object;
    H5Oclose(object);
    return -1;
}

static int read_dataset_reals(hid_t dataset, double *values, int most, struct lw_error *err)
{
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hssize_t count = count_elements(space);
    const bool fits = count >= 1 && count <= most && are_numbers(type);
    const bool is_read = fits && H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    if (fits && !is_read)
        lw_attribute_broken(dataset, "a dataset", err);
    H5Sclose(space);
    H5Tclose(type);
    return is_read && are_finite(values, (int)count) ? (int)count : 0;
}

/* Texts of fixed or variable length may be padded with spaces. */
static void copy_text(const char *from, size_t length, char *text, size_t size)
{
    size_t used = strnlen(from, length);
    while (used > 0 && from[used - 1] == ' ')
        used--;
    snprintf(text, size, "%.*s", (int)(used < size ? used : size), from);
}

static bool read_variable_item(hid_t dataset, hid_t type, hid_t space, int index, char *text, size_t size)
{
    char *stored[H5S_MAX_RANK] = {NULL};
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored) < 0)
        return false;
    if (stored[index])
        copy_text(stored[index], size, text, size);
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, stored);
    return true;
}

static bool read_fixed_item(hid_t dataset, hid_t type, int count, int index, char *text, size_t size)
{
    char stored[1 << 14];
    const size_t bytes = H5Tget_size(type);
    if (bytes > sizeof stored / (size_t)count || H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored) < 0)
        return false;
    copy_text(stored + (size_t)index * bytes, bytes, text, size);
    return true;
}

static bool read_dataset_item(hid_t dataset, int index, char *text, size_t size, struct lw_error *err)
{
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hssize_t count = count_elements(space);
    bool done = false;
    text[0] = '\0';
    if (H5Tget_class(type) == H5T_STRING && count > index && count <= H5S_MAX_RANK) {
        done = H5Tis_variable_str(type) > 0 ? read_variable_item(dataset, type, space, index, text, size)
                                            : read_fixed_item(dataset, type, (int)count, index, text, size);
        if (!done)
            lw_attribute_broken(dataset, "a dataset", err);
    }
    H5Sclose(space);
    H5Tclose(type);
    return done && text[0];
}

/* ---- either --------------------------------------------------------------------------------------------------------- */

bool lw_place_exists(hid_t file, const char *path, const char *place)
{
    char whole[LW_PLACE];
    const char *name;
    const hid_t object = open_object(file, lw_place_from(path, place, whole), &name);
    if (object < 0)
        return false;
    const bool exists = !name || H5Aexists(object, name) > 0;
    H5Oclose(object);
    return exists;
}

int lw_place_reals(hid_t file, const char *place, double *values, int most, struct lw_error *err)
{
    const char *name;
    const hid_t object = strchr(place, '@') ? open_object(file, place, &name) : lw_place_open_dataset(file, place);
    if (object < 0)
        return 0;
    const int count = strchr(place, '@') ? read_attribute_reals(object, name, values, most, err)
                                         : read_dataset_reals(object, values, most, err);
    H5Oclose(object);
    return count;
}

bool lw_place_item(hid_t file, const char *place, int index, char *text, size_t size, struct lw_error *err)
{
    const hid_t dataset = lw_place_open_dataset(file, place);
    const bool found = dataset >= 0 && read_dataset_item(dataset, index, text, size, err);
    if (dataset >= 0)
        H5Dclose(dataset);
    return found;
}

bool lw_place_text(hid_t file, const char *place, char *text, size_t size, struct lw_error *err)
{
    const char *name;
    text[0] = '\0';
    if (!strchr(place, '@'))
        return lw_place_item(file, place, 0, text, size, err);
    const hid_t object = open_object(file, place, &name);
    const bool found = object >= 0 && lw_attribute_read_text(object, name, text, size, err) && text[0];
    if (object >= 0)
        H5Oclose(object);
    return found;
}

static bool parse_real(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && end[strspn(end, " \t\r\n")] == '\0' && isfinite(*value);
}

bool lw_place_real(hid_t file, const char *place, double *value, struct lw_error *err)
{
    char text[64];
    return lw_place_reals(file, place, value, 1, err) == 1 ||
           (lw_place_text(file, place, text, sizeof text, err) && parse_real(text, value));
}

const char *lw_place_from(const char *path, const char *place, char whole[LW_PLACE])
{
    const bool is_from_object = place[0] == '.';
    size_t length = is_from_object ? strlen(path) : 0;
    for (; strncmp(place, "../", 3) == 0; place += 3)
        while (length > 0 && path[--length] != '/')
            ;
    place += strncmp(place, "./", 2) == 0 ? 2 : 0;
    snprintf(whole, LW_PLACE, "%.*s%s%s", (int)length, path, is_from_object && place[0] != '@' ? "/" : "", place);
    return whole;
}
