#include "io/hdf5/result/patch.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/error.h"
#include "io/hdf5/result/scales.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 2 * LW_MAX_PATH };

/* ---- which array ----------------------------------------------------------------------------------------------------- */

/* Nanoseconds since 1970 fit into 64 bits until 2262. */
static bool has_date(const struct lw_writer_scale *scale, int64_t length)
{
    const int64_t most = 9000000000;
    if (scale->kind != LW_SCALE_TIMES || !scale->is_dated)
        return false;
    const int64_t last = scale->first + (length - 1) * scale->step;
    return scale->start.seconds > -most && lw_instant_of_sample(scale->start, scale->period, last).seconds < most;
}

static bool suits(const struct lw_writer_dataset *spec)
{
    bool has_times = false, has_distances = false;
    if (!spec->has_scales || spec->n_columns > 0 || spec->type.is_complex || strchr(spec->path + 1, '/'))
        return false;
    for (int d = 0; d < spec->n_dims; d++) {
        const struct lw_writer_scale *const scale = &spec->scales[d];
        if (!lw_scale_is_written(spec, d))
            return false;
        has_times = has_times || has_date(scale, spec->dims[d]);
        has_distances = has_distances || (scale->kind == LW_SCALE_PLACES && strcmp(scale->units, "m") == 0);
    }
    return has_times && has_distances;
}

/* NULL: none. */
static const struct lw_writer_dataset *find_array(const struct lw_writer_spec *spec)
{
    for (int d = 0; d < spec->n_datasets; d++)
        if (suits(&spec->datasets[d]))
            return &spec->datasets[d];
    return NULL;
}

int64_t lw_patch_room(const struct lw_writer_spec *spec)
{
    const struct lw_writer_dataset *const array = find_array(spec);
    return array ? lw_scales_room(array) : 0;
}

/* ---- its group ------------------------------------------------------------------------------------------------------- */

static int say(hid_t object, const char *name, const char *text, struct lw_error *err)
{
    const struct lw_attribute attribute = {.name = name, .kind = LW_ATTRIBUTE_TEXT, .text = text};
    return lw_attribute_write(object, &attribute, err);
}

static int say_whether(hid_t object, const char *name, bool is, struct lw_error *err)
{
    const struct lw_attribute attribute = {.name = name, .kind = LW_ATTRIBUTE_INT, .integer = is};
    return lw_attribute_write(object, &attribute, err);
}

static int create_coordinate(hid_t group, const struct lw_writer_dataset *array, int d, struct lw_error *err)
{
    struct lw_writer_scale scale = array->scales[d];
    char name[NAME_SIZE];
    hid_t dataset;
    if (scale.kind == LW_SCALE_TIMES)
        scale.kind = LW_SCALE_DATES;
    snprintf(name, sizeof name, "_coord_%s", array->dim_names[d]);
    int rc = lw_scale_create(group, name, &scale, array->dims[d], &dataset, err);
    if (rc)
        return rc;
    (void)((rc = say_whether(dataset, "is_datetime64", scale.kind == LW_SCALE_DATES, err)) ||
           (rc = say_whether(dataset, "is_timedelta64", false, err)));
    H5Dclose(dataset);
    snprintf(name, sizeof name, "_cdims_%s", array->dim_names[d]);
    return rc ? rc : say(group, name, array->dim_names[d], err);
}

/* With this layout of attributes and coordinates DASCore reads by h5py; without it by PyTables, which cannot read all attributes that
 * an array may have. */
static int describe(hid_t group, const struct lw_writer_dataset *array, struct lw_error *err)
{
    char names[NAME_SIZE] = "";
    for (int d = 0; d < array->n_dims; d++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", d ? "," : "", array->dim_names[d]);
    const int rc = say(group, "_dims", names, err);
    return rc ? rc : say_whether(group, "__attrs_coords_separate__", true, err);
}

static int fill_group(hid_t file, hid_t group, const struct lw_writer_dataset *array, struct lw_error *err)
{
    int rc = describe(group, array, err);
    if (rc == LW_OK && H5Lcreate_hard(file, array->path, group, "data", H5P_DEFAULT, H5P_DEFAULT) < 0)
        rc = lw_hdf5_fail(err, LW_EIO, "cannot link %s", array->path);
    for (int d = 0; d < array->n_dims && rc == LW_OK; d++)
        rc = create_coordinate(group, array, d, err);
    return rc;
}

static int create_group(hid_t file, const struct lw_writer_dataset *array, struct lw_error *err)
{
    char path[NAME_SIZE];
    snprintf(path, sizeof path, "/waveforms%s", array->path);
    const hid_t link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(link, 1);
    const hid_t group = H5Gcreate2(file, path, link, H5P_DEFAULT, H5P_DEFAULT);
    H5Pclose(link);
    if (group < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot create %s", path);
    const int rc = fill_group(file, group, array, err);
    H5Gclose(group);
    return rc;
}

int lw_patch_create(hid_t file, const struct lw_writer_spec *spec, struct lw_error *err)
{
    const struct lw_writer_dataset *const array = find_array(spec);
    int rc = LW_OK;
    if (array)
        (void)((rc = create_group(file, array, err)) || (rc = say(file, "__format__", "DASDAE", err)) ||
               (rc = say(file, "__DASDAE_version__", "1", err)));
    return rc;
}
