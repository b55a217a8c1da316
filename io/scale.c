#include "scale.h"

#include "attribute.h"

#include <float.h>
#include <hdf5_hl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Values of a scale that are looked at; of a longer one, every so many. */
enum { SCALE_SAMPLES = 4096 };

static bool is_time_name(const char *name)
{
    return strcasecmp(name, "time") == 0 || strcasecmp(name, "t") == 0;
}

/* ---- which dimension is time --------------------------------------------------------------------------------------- */

/* A scale is known by its name, or else by the name of its dataset. */
static herr_t stop_at_time_scale(hid_t dataset, unsigned dimension, hid_t scale, void *context)
{
    (void)dataset;
    (void)dimension;
    (void)context;
    char name[256] = "";
    H5DSget_scale_name(scale, name, sizeof name);
    if (is_time_name(name))
        return 1;
    H5Iget_name(scale, name, sizeof name);
    const char *const slash = strrchr(name, '/');
    return is_time_name(slash ? slash + 1 : name);
}

static bool has_time_label(hid_t dataset, unsigned dimension)
{
    char label[64] = "";
    return H5DSget_label(dataset, dimension, label, sizeof label) > 0 && is_time_name(label);
}

int lw_scale_time_dimension(hid_t dataset, int n_dims)
{
    for (int d = 0; d < n_dims; d++)
        if (has_time_label(dataset, (unsigned)d))
            return d;
    for (int d = 0; d < n_dims; d++)
        if (H5DSiterate_scales(dataset, (unsigned)d, NULL, stop_at_time_scale, NULL) > 0)
            return d;
    return -1;
}

/* ---- its values ---------------------------------------------------------------------------------------------------- */

/* `count` values from `first` on, `stride` apart. */
static bool read_values(hid_t scale, hsize_t first, hsize_t stride, hsize_t count, double *values)
{
    const hid_t stored = H5Dget_space(scale);
    const hid_t memory = H5Screate_simple(1, &count, NULL);
    const bool done = H5Sselect_hyperslab(stored, H5S_SELECT_SET, &first, &stride, &count, NULL) >= 0 &&
                      H5Dread(scale, H5T_NATIVE_DOUBLE, memory, stored, H5P_DEFAULT, values) >= 0;
    H5Sclose(memory);
    H5Sclose(stored);
    return done;
}

/* Relative rounding error of the stored values; negative if they are no numbers. */
static double rounding(hid_t scale)
{
    const hid_t type = H5Dget_type(scale);
    const H5T_class_t class = H5Tget_class(type);
    const bool is_short = H5Tget_size(type) < 8;
    H5Tclose(type);
    if (class == H5T_FLOAT && is_short)
        return FLT_EPSILON;
    return class == H5T_FLOAT || class == H5T_INTEGER ? DBL_EPSILON : -1;
}

/* Regular: no value is further from its place than a thousandth of the step, or than its rounding. */
static bool is_regular(const double *values, hsize_t count, hsize_t stride, const struct lw_scale *scale, double epsilon)
{
    for (hsize_t i = 0; i < count; i++) {
        const double place = scale->first + (double)(i * stride) * scale->step;
        if (!(fabs(values[i] - place) <= 1e-3 * fabs(scale->step) + epsilon * fabs(place)))
            return false;
    }
    return true;
}

static bool find_step(hid_t scale, hsize_t length, struct lw_scale *out)
{
    double last, values[SCALE_SAMPLES];
    const double epsilon = rounding(scale);
    const hsize_t stride = (length + SCALE_SAMPLES - 1) / SCALE_SAMPLES;
    const hsize_t count = (length + stride - 1) / stride;
    if (epsilon < 0 || !read_values(scale, 0, stride, count, values) || !read_values(scale, length - 1, 1, 1, &last))
        return false;
    out->first = values[0];
    out->step = (last - out->first) / (double)(length - 1);
    out->step_accuracy = epsilon * fmax(fabs(out->first), fabs(last)) / fabs(last - out->first);
    return isfinite(out->step) && out->step != 0 && is_regular(values, count, stride, out, epsilon);
}

static hsize_t length_of(hid_t scale)
{
    hsize_t length = 0;
    const hid_t space = H5Dget_space(scale);
    if (H5Sget_simple_extent_ndims(space) == 1)
        H5Sget_simple_extent_dims(space, &length, NULL);
    H5Sclose(space);
    return length;
}

static herr_t stop_at_regular_scale(hid_t dataset, unsigned dimension, hid_t scale, void *context)
{
    (void)dataset;
    (void)dimension;
    struct lw_scale *const out = context;
    const hsize_t length = length_of(scale);
    if (length < 2 || !find_step(scale, length, out))
        return 0;
    out->unit[0] = '\0';
    if (!lw_attribute_read_text(scale, "units", out->unit, sizeof out->unit))
        lw_attribute_read_text(scale, "unit", out->unit, sizeof out->unit);
    H5Iget_name(scale, out->path, sizeof out->path);
    return 1;
}

bool lw_scale_read(hid_t dataset, int dimension, struct lw_scale *out)
{
    return H5DSiterate_scales(dataset, (unsigned)dimension, NULL, stop_at_regular_scale, out) > 0;
}

double lw_scale_unit_seconds(const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {
        {"s", 1}, {"sec", 1}, {"second", 1}, {"seconds", 1},
        {"ms", 1e-3}, {"millisecond", 1e-3}, {"milliseconds", 1e-3},
        {"us", 1e-6}, {"microsecond", 1e-6}, {"microseconds", 1e-6},
        {"ns", 1e-9}, {"nanosecond", 1e-9}, {"nanoseconds", 1e-9},
        {"min", 60}, {"minute", 60}, {"minutes", 60}, {"h", 3600}, {"hour", 3600}, {"hours", 3600},
        {"d", 86400}, {"day", 86400}, {"days", 86400},
    };
    const size_t length = strcspn(unit, " ");
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        if (strlen(units[u].name) == length && strncasecmp(unit, units[u].name, length) == 0)
            return units[u].seconds;
    return 0;
}
