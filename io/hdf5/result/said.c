#include "io/hdf5/result/said.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/inspect.h"

#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Longer texts are cut. */
enum { MOST_TEXT = 4096, MOST_REALS = LW_ATTRIBUTE_MOST_REALS };

struct visit {
    lw_attribute_fn *visit;
    void *context;
};

static bool read_text(hid_t object, const char *name, char text[MOST_TEXT], struct lw_attribute *out)
{
    struct lw_error broken = {0};
    out->kind = LW_ATTRIBUTE_TEXT;
    out->text = text;
    return lw_attribute_read_text(object, name, text, MOST_TEXT, &broken);
}

static bool is_whole(hid_t type)
{
    return H5Tget_class(type) == H5T_INTEGER && (H5Tget_sign(type) == H5T_SGN_2 || H5Tget_size(type) < sizeof(int64_t));
}

static bool read_numbers(hid_t attribute, hid_t type, double reals[MOST_REALS], struct lw_attribute *out)
{
    const H5T_class_t class = H5Tget_class(type);
    const hid_t space = H5Aget_space(attribute);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    if ((class != H5T_INTEGER && class != H5T_FLOAT) || count < 1 || count > MOST_REALS)
        return false;
    if (count == 1 && is_whole(type)) {
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
    struct lw_attribute found = {.name = name};
    (void)info;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    if (type >= 0 && (H5Tget_class(type) == H5T_STRING ? read_text(object, name, text, &found)
                                                       : read_numbers(attribute, type, reals, &found)))
        visit->visit(&found, visit->context);
    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return 0;
}

void lw_hdf5_visit_object(hid_t object, lw_attribute_fn *visit, void *context)
{
    struct visit all = {visit, context};
    H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_one, &all);
}

static void visit_path(hid_t file, const char *path, lw_attribute_fn *visit, void *context)
{
    const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    if (object < 0)
        return;
    lw_hdf5_visit_object(object, visit, context);
    H5Oclose(object);
}

void lw_hdf5_visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    struct lw_error unreadable;
    char group[LW_MAX_PATH];
    hid_t file;
    snprintf(group, sizeof group, "%s", info->path);
    char *const slash = strrchr(group, '/');
    if (!slash || lw_probe_file(info->file, &file, &unreadable))
        return;
    slash[slash == group ? 1 : 0] = '\0';
    visit_path(file, info->path, visit, context);
    if (group[1] || H5Aexists(file, "lapwing_complete") <= 0)
        visit_path(file, group, visit, context);
    H5Fclose(file);
}
