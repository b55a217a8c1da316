/* simple.c - plain files of which the names of datasets alone tell what they hold: raw or data; timestamp, timestamps or time;
 * channels or distance. Archives of PubDAS have them, and DASCore calls them H5Simple. */
#include "io/hdf5/conventions/convention.h"

#include <string.h>

static const char *const time_names[] = {"/timestamp", "/timestamps", "/time"};

static const char *find_times(hid_t file)
{
    for (size_t n = 0; n < sizeof time_names / sizeof *time_names; n++)
        if (lw_place_exists(file, "", time_names[n]))
            return time_names[n];
    return NULL;
}

/* Datasets with dimension scales say more themselves. */
static bool is_data(hid_t file, const char *path)
{
    const char *const name = path[0] == '/' ? path + 1 : path;
    const bool is_named = strcmp(name, "raw") == 0 || (strcmp(name, "data") == 0 && !lw_place_exists(file, "", "raw"));
    return is_named && find_times(file) && !lw_place_exists(file, path, "./@DIMENSION_LIST");
}

/* The dimension that is as long as the times, the first one of two alike. */
static int describe(struct lw_subject *subject)
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
    .name = "H5Simple",
    .pattern = "*",
    .is_data = is_data,
    .describe = describe,
};
