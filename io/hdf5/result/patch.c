#include "io/hdf5/result/parts.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"

#include <stdio.h>

enum { NAME_SIZE = 2 * LW_MAX_PATH };

/* ---- which array ----------------------------------------------------------------------------------------------------- */

/* Return whether a scale has dates that DASCore can hold: nanoseconds since 1970 fit 64 bits until 2262. */
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
    bool has_times = false, has_channels = false;
    if (!spec->has_scales || spec->n_columns > 0 || spec->type.is_complex || strchr(spec->path + 1, '/'))
        return false;
    for (int d = 0; d < spec->n_dims; d++) {
        const struct lw_writer_scale *const scale = &spec->scales[d];
        if (!lw_scale_is_written(spec, d))
            return false;
        has_times = has_times || has_date(scale, spec->dims[d]);
        has_channels = has_channels || strcmp(spec->dim_names[d], "channel") == 0 ||
                       (scale->kind == LW_SCALE_PLACES && strcmp(scale->units, "m") == 0);
    }
    return has_times && has_channels;
}

/* Return the first array that suits; NULL: there is none. */
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

static int say_whether(hid_t object, const char *name, bool is, struct lw_error *err)
{
    const struct lw_attribute attribute = {.name = name, .kind = LW_ATTRIBUTE_INT, .integer = is};
    return lw_attribute_write(object, &attribute, err);
}

/* Return whether DASCore knows a unit, because it opens no patch with an unknown unit. `words` are units that it knows. */
static bool knows_unit(const char *unit)
{
    static const char *const words[] = {
        "strain", "nanostrain", "microstrain", "millistrain", "rad",    "radian",  "radians", "m",  "mm",
        "um",     "nm",         "pm",          "km",          "s",      "ms",      "us",      "ns", "second",
        "meter",  "meters",     "Hz",          "kHz",         "count",  "counts",  "V",       "mV", "Pa",
        "kPa",    "K",          "mK",          "celsius",     "degree", "degrees", "deg",     "dB", "e",
        "sqrt",   "ϵ",          "nϵ",          "µϵ",          "mϵ",     "µm",      "µs",      "°C",   /* DASCore's */
    };
    static const char between[] = "0123456789.+-*/^() ";
    bool knows = unit[0] != '\0';
    for (const char *at = unit; *at && knows;) {
        const size_t length = strcspn(at, between);
        bool is_word = length == 0;
        for (size_t w = 0; w < sizeof words / sizeof *words && !is_word; w++)
            is_word = length > 0 && strlen(words[w]) == length && strncmp(at, words[w], length) == 0;
        knows = is_word;
        at += length ? length : 1;
    }
    return knows;
}

/* Write the unit of the data, and the input's gauge length and category. */
static int say_attributes(hid_t group, const struct lw_writer_dataset *array, struct lw_error *err)
{
    static const char *const names[][2] = {
        {"gauge_length", "_attrs_gauge_length"}, {"gauge_length_units", "_attrs_gauge_length_units"},
        {"data_category", "_attrs_data_category"},
    };
    const char *unit = "";
    for (int a = 0; a < array->n_attributes && !unit[0]; a++)
        if (strcmp(array->attributes[a].name, "unit") == 0 && array->attributes[a].kind == LW_ATTRIBUTE_TEXT)
            unit = array->attributes[a].text;
    int rc = knows_unit(unit) ? lw_attribute_write_text(group, "_attrs_data_units", unit, err) : LW_OK;
    for (int a = 0; rc == LW_OK && a < array->n_attributes; a++)
        for (size_t n = 0; rc == LW_OK && n < sizeof names / sizeof *names; n++)
            if (strcmp(array->attributes[a].name, names[n][0]) == 0) {
                struct lw_attribute attribute = array->attributes[a];
                attribute.name = names[n][1];
                rc = lw_attribute_write(group, &attribute, err);
            }
    return rc;
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
    const char *const unit = scale.kind == LW_SCALE_DATES ? "s" : scale.kind == LW_SCALE_PLACES ? scale.units : "";
    (void)((rc = say_whether(dataset, "is_datetime64", scale.kind == LW_SCALE_DATES, err)) ||
           (rc = say_whether(dataset, "is_timedelta64", false, err)) ||
           (rc = knows_unit(unit) ? lw_attribute_write_text(dataset, "units", unit, err) : LW_OK));
    H5Dclose(dataset);
    snprintf(name, sizeof name, "_cdims_%s", array->dim_names[d]);
    return rc ? rc : lw_attribute_write_text(group, name, array->dim_names[d], err);
}

/* Create the patch. By __attrs_coords_separate__ DASCore reads it with h5py; PyTables could not read all attributes of arrays. */
static int create_group(hid_t file, const struct lw_writer_dataset *array, struct lw_error *err)
{
    char path[NAME_SIZE], names[NAME_SIZE] = "";
    int rc;
    snprintf(path, sizeof path, "/waveforms%s", array->path);
    LW_CLOSED const hid_t link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(link, 1);
    LW_CLOSED const hid_t group = H5Gcreate2(file, path, link, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        return lw_hdf5_fail(err, LW_EIO, "cannot create %s", path);
    for (int d = 0; d < array->n_dims; d++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", d ? "," : "", array->dim_names[d]);
    (void)((rc = lw_attribute_write_text(group, "_dims", names, err)) ||
           (rc = say_whether(group, "__attrs_coords_separate__", true, err)) || (rc = say_attributes(group, array, err)));
    if (rc == LW_OK && H5Lcreate_hard(file, array->path, group, "data", H5P_DEFAULT, H5P_DEFAULT) < 0)
        rc = lw_hdf5_fail(err, LW_EIO, "cannot link %s", array->path);
    for (int d = 0; d < array->n_dims && rc == LW_OK; d++)
        rc = create_coordinate(group, array, d, err);
    return rc;
}

int lw_patch_create(hid_t file, const struct lw_writer_spec *spec, struct lw_error *err)
{
    const struct lw_writer_dataset *const array = find_array(spec);
    int rc = array ? create_group(file, array, err) : LW_OK;
    if (array && rc == LW_OK && (rc = lw_attribute_write_text(file, "__format__", "DASDAE", err)) == LW_OK)
        rc = lw_attribute_write_text(file, "__DASDAE_version__", "1", err);
    return rc;
}
