/* xdas.c - what xdas writes: netCDF-4 with coordinates that are interpolated between tie points (CF conventions, section 8.3). The
 * attribute coordinate_interpolation of the data says, for each dimension, which datasets hold their indices and values:
 *
 *     "time: time_indices time_values distance: distance_indices distance_values"
 *
 * An axis of more than two tie points is regular if none is further than half a step from the line between the first and last. */
#include "io/hdf5/conventions/convention.h"

#include "io/hdf5/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TIES = 4096, NAME = 64 };

/* Tie points of one dimension. */
struct ties {
    char indices_path[LW_PLACE], values_path[LW_PLACE];
    int n;
    double indices[MOST_TIES], values[MOST_TIES];
};

static bool is_data(hid_t file, const char *path)
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
    return increases;
}

static double slope_of(const struct ties *ties)
{
    return (ties->values[ties->n - 1] - ties->values[0]) / (ties->indices[ties->n - 1] - ties->indices[0]);
}

static bool is_line(const struct ties *ties)
{
    const double slope = slope_of(ties);
    bool is = slope != 0;
    for (int i = 1; is && i < ties->n; i++)
        is = fabs(ties->values[i] - ties->values[0] - slope * ties->indices[i]) <= 0.5 * fabs(slope);
    return is;
}

static void take_time(struct lw_subject *subject, const struct ties *ties)
{
    struct lw_times times;
    struct lw_period period;
    int64_t intervals;
    if (!lw_times_read(subject->file, ties->values_path, "", &times, subject->err))
        return;
    lw_times_take_start(&times, &subject->info->axis);
    if (!is_line(ties) || ties->indices[ties->n - 1] > 9e15)
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
    coordinate->is_regular = is_line(ties);
    coordinate->first = ties->values[0];
    coordinate->step = slope_of(ties);
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

static int describe(struct lw_subject *subject)
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
    .name = "xdas",
    .pattern = "*",
    .is_data = is_data,
    .describe = describe,
};
