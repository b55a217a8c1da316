/* das_libraries.c - files of libraries for distributed acoustic sensing: DASCore's DASDAE and H5Simple, xdas. */
#include "io/hdf5/conventions/conventions.h"

#include <stdio.h>

/* ---- DASCore's DASDAE: each patch is a group of /waveforms with data, _coord_time, _coord_distance and attributes. */

/* Set axis, distances and times. Commas separate the names of the dimensions in _dims; `other` is the name beside time. */
static int describe_dasdae(struct lw_subject *subject)
{
    char names[96] = "", other[32], place[96], unit[32] = "", category[64];
    double is_date = 0;
    lw_subject_text(subject, "../@_dims", names, sizeof names);
    const int time = lw_subject_find_time(names);
    if (time < 0 || time >= subject->info->n_dims)
        return LW_OK;
    const size_t first = strcspn(names, ",");
    const char *const beside = time > 0 ? names : names + first + (names[first] == ',');
    snprintf(other, sizeof other, "%.*s", (int)strcspn(beside, ","), beside);
    lw_subject_name(subject, time, other);
    snprintf(place, sizeof place, "../@_attrs_%s_units", other);
    if (!lw_subject_text(subject, place, unit, sizeof unit) && strcmp(other, "distance") == 0)
        snprintf(unit, sizeof unit, "m");
    snprintf(place, sizeof place, "../_coord_%s", other);
    lw_subject_distances(subject, place, unit);
    lw_subject_real(subject, "../_coord_time@is_datetime64", &is_date);
    lw_subject_times(subject, "../_coord_time", is_date ? "ns since 1970-01-01" : "ns");
    if (lw_subject_text(subject, "../@_attrs_data_category", category, sizeof category))
        subject->info->is_das = strcmp(category, "DAS") == 0;
    return LW_OK;
}

const struct lw_convention lw_convention_dasdae = {
    .name = "DASDAE",
    .mark = {"@__DASDAE_version__", "waveforms"},
    .pattern = "waveforms/*/data",
    .unit = "../@_attrs_data_units",
    .gauge = "../@_attrs_gauge_length",
    .gauge_unit = {"../@_attrs_gauge_length_units"},
    .recorder = {{"network", "../@_attrs_network"}, {"station", "../@_attrs_station"}, {"instrument", "../@_attrs_instrument_id"}},
    .describe = describe_dasdae,
};

/* ---- xdas: netCDF-4 with coordinates that are interpolated between tie points (CF conventions, section 8.3). The data's
 * attribute coordinate_interpolation names, for each dimension, the datasets with the tie points' indices and values:
 *
 *     "time: time_indices time_values distance: distance_indices distance_values"
 *
 * A dimension with more than two tie points is regular if each lies within half a step of the line from the first to the last. */

enum { MOST_TIES = 4096, NAME = 64 };

/* Tie points of one dimension. */
struct ties {
    char indices_path[LW_PLACE], values_path[LW_PLACE];
    int n;
    double indices[MOST_TIES], values[MOST_TIES];
    double slope;               /* value per index, from the first point to the last */
    bool is_line;               /* the dimension is regular */
};

static bool is_xdas_data(hid_t file, const char *path)
{
    return lw_place_exists(file, path, "./@coordinate_interpolation");
}

static bool read_ties(const struct lw_subject *subject, struct ties *ties)
{
    ties->n = lw_place_reals(subject->file, ties->indices_path, ties->indices, MOST_TIES, subject->err);
    const int n_values = lw_place_reals(subject->file, ties->values_path, ties->values, MOST_TIES, subject->err);
    bool increases = ties->n >= 2 && n_values == ties->n && ties->indices[0] == 0;
    for (int i = 1; increases && i < ties->n; i++)
        increases = ties->indices[i] > ties->indices[i - 1];
    if (!increases)
        return false;
    ties->slope = (ties->values[ties->n - 1] - ties->values[0]) / (ties->indices[ties->n - 1] - ties->indices[0]);
    ties->is_line = ties->slope != 0;
    for (int i = 1; ties->is_line && i < ties->n; i++)
        ties->is_line = fabs(ties->values[i] - ties->values[0] - ties->slope * ties->indices[i]) <= 0.5 * fabs(ties->slope);
    return true;
}

static void take_time(struct lw_subject *subject, const struct ties *ties)
{
    struct lw_times times;
    struct lw_period period;
    int64_t intervals;
    if (!lw_times_read(subject->file, ties->values_path, "", &times, subject->err))
        return;
    lw_times_take_start(&times, &subject->info->axis);
    if (!ties->is_line || ties->indices[ties->n - 1] > 9e15)
        return;
    intervals = (int64_t)ties->indices[ties->n - 1];
    if (times.span_ns > 0 && !__builtin_mul_overflow(intervals, INT64_C(1000000000), &intervals) &&
        lw_period_make(times.span_ns, intervals, &period))
        lw_subject_period(subject, period, "tie points of time");
    else if (times.span_s > 0)
        lw_subject_rate(subject, ties->indices[ties->n - 1] / times.span_s, "tie points of time");
}

static void take_coordinate(struct lw_subject *subject, int d, const struct ties *ties)
{
    struct lw_coordinate *const coordinate = &subject->info->coordinates[d];
    char place[LW_PLACE + 8];
    snprintf(place, sizeof place, "%s@units", ties->values_path);
    if (!lw_subject_text(subject, place, coordinate->unit, sizeof coordinate->unit) && strcmp(coordinate->name, "distance") == 0)
        snprintf(coordinate->unit, sizeof coordinate->unit, "m");
    coordinate->is_regular = ties->is_line;
    coordinate->first = ties->values[0];
    coordinate->step = ties->slope;
}

static void take_dimension(struct lw_subject *subject, const char *name, const char *indices, const char *values)
{
    struct ties ties;
    const struct lw_dataset_info *const info = subject->info;
    lw_place_from(info->path, indices, ties.indices_path);
    lw_place_from(info->path, values, ties.values_path);
    for (int d = 0; d < info->n_dims; d++) {
        if (strcmp(info->coordinates[d].name, name) != 0 || !read_ties(subject, &ties))
            continue;
        if (d == info->metadata_axis)
            take_time(subject, &ties);
        else
            take_coordinate(subject, d, &ties);
    }
}

static int describe_xdas(struct lw_subject *subject)
{
    char text[512], name[NAME], indices[NAME + 3] = "../", values[NAME + 3] = "../";
    int used = 0;
    if (!lw_subject_text(subject, "./@coordinate_interpolation", text, sizeof text))
        return LW_OK;
    for (const char *at = text; sscanf(at, " %63[^: ]: %63s %63s%n", name, indices + 3, values + 3, &used) == 3; at += used)
        take_dimension(subject, name, indices, values);
    return LW_OK;
}

const struct lw_convention lw_convention_xdas = {
    .name = "xdas", .pattern = "*", .is_data = is_xdas_data,
    .describe = describe_xdas,
};

/* ---- H5Simple, DASCore's name for plain files in which only the names of datasets show the contents: raw or data; timestamp,
 * timestamps or time; channels or distance. PubDAS has these files. */

static const char *const time_names[] = {"/timestamp", "/timestamps", "/time"};

static const char *find_times(hid_t file)
{
    for (size_t n = 0; n < sizeof time_names / sizeof *time_names; n++)
        if (lw_place_exists(file, "", time_names[n]))
            return time_names[n];
    return NULL;
}

/* Datasets with dimension scales are left out, because their scales tell more. */
static bool is_simple_data(hid_t file, const char *path)
{
    const char *const name = path[0] == '/' ? path + 1 : path;
    const bool is_named = strcmp(name, "raw") == 0 || (strcmp(name, "data") == 0 && !lw_place_exists(file, "", "raw"));
    return is_named && find_times(file) && !lw_place_exists(file, path, "./@DIMENSION_LIST");
}

/* Set axis, times and distances. The axis is the dimension that is as long as the times, the first if both are. */
static int describe_simple(struct lw_subject *subject)
{
    struct lw_times times;
    const char *const path = find_times(subject->file);
    const int64_t *const dims = subject->info->dims;
    if (!path || !lw_times_read(subject->file, path, "", &times, subject->err))
        return LW_OK;
    const int time = times.n == dims[0] ? 0 : subject->info->n_dims == 2 && times.n == dims[1] ? 1 : -1;
    if (time < 0)
        return LW_OK;
    const bool has_distance = lw_place_exists(subject->file, "", "/distance");
    lw_subject_name(subject, time, has_distance ? "distance" : "channel");
    lw_times_take_start(&times, &subject->info->axis);
    lw_times_take_rate(&times, &subject->info->axis);
    if (has_distance)
        lw_subject_distances(subject, "/distance", "m");
    else if (!lw_subject_distances(subject, "/channels", ""))
        lw_subject_distance(subject, 0, 1, "");
    return LW_OK;
}

const struct lw_convention lw_convention_simple = {
    .name = "H5Simple", .pattern = "*", .is_data = is_simple_data,
    .describe = describe_simple,
};
