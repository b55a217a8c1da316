#include "io/hdf5/conventions/conventions.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"

#include <stdio.h>

/* Open the object of a place. @param name  set to the attribute's name, or to NULL for a dataset */
static hid_t open_object(hid_t file, const char *place, const char **name)
{
    char path[LW_PLACE];
    const char *const at = strrchr(place, '@');
    *name = at ? at + 1 : NULL;
    snprintf(path, sizeof path, "%.*s", at ? (int)(at - place) : (int)strlen(place), place);
    return H5Oopen(file, path[0] ? path : "/", H5P_DEFAULT);
}

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

/* Read the numbers of an attribute or dataset. @return  how many @param is_broken  set: numbers exist but are unreadable */
static int read_reals(hid_t source, double *values, int most, bool *is_broken)
{
    const bool is_attribute = H5Iget_type(source) == H5I_ATTR;
    LW_CLOSED const hid_t type = is_attribute ? H5Aget_type(source) : H5Dget_type(source);
    LW_CLOSED const hid_t space = is_attribute ? H5Aget_space(source) : H5Dget_space(source);
    const H5T_class_t class = H5Tget_class(type);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const bool fits = count >= 1 && count <= most && H5Sget_simple_extent_ndims(space) <= 1 &&
                      (class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM);
    const bool is_read = fits && (is_attribute ? H5Aread(source, H5T_NATIVE_DOUBLE, values)
                                               : H5Dread(source, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values)) >= 0;
    *is_broken = fits && !is_read;
    for (int i = 0; is_read && i < (int)count; i++)
        if (!isfinite(values[i]))
            return 0;
    return is_read ? (int)count : 0;
}

/* ---- datasets ------------------------------------------------------------------------------------------------------- */

/* A compact dataset must be whole, because HDF5 copies as many bytes as its shape needs, even if fewer are stored. */
hid_t lw_place_open_dataset(hid_t file, const char *path)
{
    const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    const bool is_dataset = object >= 0 && H5Iget_type(object) == H5I_DATASET;
    LW_CLOSED const hid_t creation = is_dataset ? H5Dget_create_plist(object) : -1;
    const H5D_layout_t layout = is_dataset ? H5Pget_layout(creation) : H5D_LAYOUT_ERROR;
    if ((layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED || (layout == H5D_COMPACT && lw_hdf5_is_all_there(object))) &&
        H5Pget_external_count(creation) == 0)
        return object;
    lw_hdf5_close(object);
    return -1;
}

/* ---- attributes or datasets ----------------------------------------------------------------------------------------- */

bool lw_place_exists(hid_t file, const char *path, const char *place)
{
    char whole[LW_PLACE];
    const char *name;
    LW_CLOSED const hid_t object = open_object(file, lw_place_from(path, place, whole), &name);
    return object >= 0 && (!name || H5Aexists(object, name) > 0);
}

int lw_place_reals(hid_t file, const char *place, double *values, int most, struct lw_error *err)
{
    const char *name = NULL;
    bool is_broken = false;
    LW_CLOSED const hid_t object = strchr(place, '@') ? open_object(file, place, &name) : lw_place_open_dataset(file, place);
    if (object < 0)
        return 0;
    LW_CLOSED const hid_t attribute = name && H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    const hid_t source = name ? attribute : object;
    const int count = source >= 0 ? read_reals(source, values, most, &is_broken) : 0;
    if (is_broken)
        lw_attribute_broken(object, name ? name : "a dataset", err);
    return count;
}

bool lw_place_item(hid_t file, const char *place, int index, char *text, size_t size, struct lw_error *err)
{
    LW_CLOSED const hid_t dataset = lw_place_open_dataset(file, place);
    return dataset >= 0 && lw_dataset_read_item(dataset, index, text, size, err);
}

bool lw_place_text(hid_t file, const char *place, char *text, size_t size, struct lw_error *err)
{
    const char *name;
    text[0] = '\0';
    if (!strchr(place, '@'))
        return lw_place_item(file, place, 0, text, size, err);
    LW_CLOSED const hid_t object = open_object(file, place, &name);
    return object >= 0 && lw_attribute_read_text(object, name, text, size, err) && text[0];
}

bool lw_place_real(hid_t file, const char *place, double *value, struct lw_error *err)
{
    char text[64];
    return lw_place_reals(file, place, value, 1, err) == 1 ||
           (lw_place_text(file, place, text, sizeof text, err) && lw_attribute_parse_number(text, value) && isfinite(*value));
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
