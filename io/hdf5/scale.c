#include "io/hdf5/scale.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"

#include <float.h>
#include <stdio.h>
#include <strings.h>

/* Most values of a scale that are checked; of a longer scale, every n-th value is checked. */
enum { SCALE_SAMPLES = 4096 };

bool lw_scale_is_time(const char *name)
{
    return strcasecmp(name, "time") == 0 || strcasecmp(name, "t") == 0;
}

/* ---- the scales of a dimension ------------------------------------------------------------------------------------- */

typedef bool take_fn(hid_t scale, void *context, struct lw_error *err);

static bool is_scale(hid_t object, struct lw_error *err)
{
    char class[32] = "";
    return H5Iget_type(object) == H5I_DATASET && lw_attribute_read_text(object, "CLASS", class, sizeof class, err) &&
           strcmp(class, "DIMENSION_SCALE") == 0;
}

/* Offer the scales of a dimension to `take` until it returns true. DIMENSION_LIST holds a list of references for each dimension.
 * An attribute of another form is ignored, and so are references to nothing. @return  whether `take` has returned true */
static bool find_scale(hid_t dataset, int dimension, int n_dims, take_fn *take, void *context, struct lw_error *err)
{
    hvl_t lists[H5S_MAX_RANK];
    const htri_t exists = H5Aexists(dataset, "DIMENSION_LIST");
    if (exists == 0)
        return false;
    LW_CLOSED const hid_t attribute = exists > 0 ? H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT) : -1;
    LW_CLOSED const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    LW_CLOSED const hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    const bool is_known = type >= 0 && space >= 0;
    LW_CLOSED const hid_t item = is_known && H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : -1;
    const bool fits = item >= 0 && H5Tequal(item, H5T_STD_REF_OBJ) > 0 && n_dims <= H5S_MAX_RANK &&
                      H5Sget_simple_extent_npoints(space) == n_dims;
    const bool is_read = fits && H5Aread(attribute, type, lists) >= 0;
    if (!is_known || (fits && !is_read))
        lw_attribute_broken(dataset, "attribute DIMENSION_LIST", err);
    bool is_taken = false;
    for (size_t s = 0; is_read && s < lists[dimension].len && !is_taken; s++) {
        const hobj_ref_t *const reference = (const hobj_ref_t *)lists[dimension].p + s;
        LW_CLOSED const hid_t scale = H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, reference);
        is_taken = scale >= 0 && is_scale(scale, err) && take(scale, context, err);
    }
    if (is_read)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, lists);
    return is_taken;
}

/* ---- which dimension is time --------------------------------------------------------------------------------------- */

/* Get the name of a scale. If it is empty, or the remark that netCDF-4 gives to a scale without values, get the dataset's name. */
static void name_of(hid_t scale, char name[256], struct lw_error *err)
{
    static const char remark[] = "This is a netCDF dimension";
    char path[256] = "";
    if (lw_attribute_read_text(scale, "NAME", name, 256, err) && name[0] && strncmp(name, remark, strlen(remark)) != 0)
        return;
    H5Iget_name(scale, path, sizeof path);
    snprintf(name, 256, "%s", lw_last_part(path));
}

static bool take_time(hid_t scale, void *context, struct lw_error *err)
{
    (void)context;
    char name[256] = "", path[256] = "";
    name_of(scale, name, err);
    H5Iget_name(scale, path, sizeof path);
    return lw_scale_is_time(name) || lw_scale_is_time(lw_last_part(path));
}

static bool take_name(hid_t scale, void *context, struct lw_error *err)
{
    name_of(scale, context, err);
    return true;
}

bool lw_scale_name(hid_t dataset, int dimension, int n_dims, char *name, size_t size, struct lw_error *err)
{
    char found[256] = "";
    if (!lw_attribute_read_item(dataset, "DIMENSION_LABELS", dimension, n_dims, found, sizeof found, err) || !found[0])
        find_scale(dataset, dimension, n_dims, take_name, found, err);
    snprintf(name, size, "%s", found);
    return found[0] != '\0';
}

bool lw_scale_is_one(hid_t dataset)
{
    struct lw_error broken = {0};
    return is_scale(dataset, &broken);
}

int lw_scale_time_dimension(hid_t dataset, int n_dims, struct lw_error *err)
{
    char label[64] = "";
    for (int d = 0; d < n_dims; d++)
        if (lw_attribute_read_item(dataset, "DIMENSION_LABELS", d, n_dims, label, sizeof label, err) && lw_scale_is_time(label))
            return d;
    for (int d = 0; d < n_dims; d++)
        if (find_scale(dataset, d, n_dims, take_time, NULL, err))
            return d;
    return -1;
}

/* ---- the values of a scale --------------------------------------------------------------------------------------- */

/* Find first value and step. @return  whether all values lie on this regular scale, to a thousandth of a step or their rounding */
static bool find_step(hid_t scale, hsize_t length, struct lw_scale *out, struct lw_error *err)
{
    double last, values[SCALE_SAMPLES];
    LW_CLOSED const hid_t type = H5Dget_type(scale);
    const H5T_class_t class = H5Tget_class(type);
    const double epsilon = class == H5T_FLOAT && H5Tget_size(type) < 8 ? FLT_EPSILON : DBL_EPSILON;     /* relative rounding */
    const hsize_t stride = (length + SCALE_SAMPLES - 1) / SCALE_SAMPLES;
    const hsize_t count = (length + stride - 1) / stride;
    if (class != H5T_FLOAT && class != H5T_INTEGER)
        return false;
    if (!lw_hdf5_read_list(scale, H5T_NATIVE_DOUBLE, 0, stride, count, values) ||
        !lw_hdf5_read_list(scale, H5T_NATIVE_DOUBLE, length - 1, 1, 1, &last)) {
        lw_attribute_broken(scale, "the dimension scale", err);
        return false;
    }
    out->first = values[0];
    out->step = (last - out->first) / (double)(length - 1);
    out->step_accuracy = epsilon * fmax(fabs(out->first), fabs(last)) / fabs(last - out->first);
    bool is_regular = isfinite(out->step) && out->step != 0;
    for (hsize_t i = 0; i < count && is_regular; i++) {
        const double place = out->first + (double)(i * stride) * out->step;
        is_regular = fabs(values[i] - place) <= 1e-3 * fabs(out->step) + epsilon * fabs(place);
    }
    return is_regular;
}

bool lw_scale_read_dataset(hid_t scale, struct lw_scale *out, struct lw_error *err)
{
    const hsize_t length = lw_hdf5_length(scale);
    if (length < 2 || !find_step(scale, length, out, err))
        return false;
    out->n = (int64_t)length;
    out->unit[0] = '\0';
    if (!lw_attribute_read_text(scale, "units", out->unit, sizeof out->unit, err))
        lw_attribute_read_text(scale, "unit", out->unit, sizeof out->unit, err);
    H5Iget_name(scale, out->path, sizeof out->path);
    return true;
}

static bool take_regular(hid_t scale, void *context, struct lw_error *err)
{
    return lw_scale_read_dataset(scale, context, err);
}

bool lw_scale_read(hid_t dataset, int dimension, int n_dims, struct lw_scale *out, struct lw_error *err)
{
    return find_scale(dataset, dimension, n_dims, take_regular, out, err);
}
