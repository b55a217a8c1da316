/* subject.c - fill the description of a dataset from what its convention provides: axes, rate, times, coordinates, unit. */
#include "io/hdf5/conventions/conventions.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"
#include "io/hdf5/scale.h"

#include <stdio.h>
#include <strings.h>

/* ---- values ---------------------------------------------------------------------------------------------------------- */

bool lw_subject_real(const struct lw_subject *subject, const char *place, double *value)
{
    char whole[LW_PLACE];
    return place && lw_place_real(subject->file, lw_place_from(subject->info->path, place, whole), value, subject->err);
}

bool lw_subject_text(const struct lw_subject *subject, const char *place, char *text, size_t size)
{
    char whole[LW_PLACE];
    return place && lw_place_text(subject->file, lw_place_from(subject->info->path, place, whole), text, size, subject->err);
}

/* ---- dimensions ------------------------------------------------------------------------------------------------------ */

void lw_subject_name(struct lw_subject *subject, int time, const char *other)
{
    struct lw_dataset_info *const info = subject->info;
    if (info->n_dims > 2 || time < 0 || time >= info->n_dims)
        return;
    info->metadata_axis = time;
    for (int d = 0; d < info->n_dims; d++)
        snprintf(info->coordinates[d].name, sizeof info->coordinates[d].name, "%s", d == time ? "time" : other);
}

int lw_subject_find_time(const char *names)
{
    int number = 0;
    for (const char *at = names; *at; number++) {
        const size_t length = strcspn(at, ", ;");
        if (strncasecmp(at, "time", 4) == 0 || (length == 1 && (*at == 't' || *at == 'T')))
            return number;
        at += length;
        at += strspn(at, ", ;");
    }
    return -1;
}

int lw_subject_find_time_by(const struct lw_subject *subject, const char *attribute)
{
    char names[64];
    int time = -1;
    LW_CLOSED const hid_t data = lw_place_open_dataset(subject->file, subject->info->path);
    if (data >= 0 && lw_attribute_read_text(data, attribute, names, sizeof names, subject->err))
        time = lw_subject_find_time(names);
    else
        for (int d = 0; data >= 0 && d < subject->info->n_dims && time < 0; d++)
            if (lw_attribute_read_item(data, attribute, d, subject->info->n_dims, names, sizeof names, subject->err) &&
                lw_subject_find_time(names) == 0)
                time = d;
    return time;
}

static struct lw_coordinate *beside_axis(struct lw_subject *subject)
{
    struct lw_dataset_info *const info = subject->info;
    return info->n_dims == 2 && info->metadata_axis >= 0 ? &info->coordinates[1 - info->metadata_axis] : NULL;
}

void lw_coordinate_name_unit(struct lw_coordinate *coordinate, const char *unit)
{
    static const char *const metres[] = {"meters", "meter", "metres", "metre", "[m]"};
    snprintf(coordinate->unit, sizeof coordinate->unit, "%.31s", unit);
    for (size_t m = 0; m < sizeof metres / sizeof *metres; m++)
        if (strcasecmp(unit, metres[m]) == 0)
            snprintf(coordinate->unit, sizeof coordinate->unit, "m");
}

void lw_subject_distance(struct lw_subject *subject, double first, double step, const char *unit)
{
    struct lw_coordinate *const distance = beside_axis(subject);
    if (!distance)
        return;
    distance->is_regular = step != 0;
    distance->first = first;
    distance->step = step;
    lw_coordinate_name_unit(distance, unit[0] || strcmp(distance->name, "distance") != 0 ? unit : "m");
}

bool lw_subject_distances(struct lw_subject *subject, const char *place, const char *unit)
{
    struct lw_scale scale;
    char whole[LW_PLACE];
    struct lw_coordinate *const distance = beside_axis(subject);
    lw_place_from(subject->info->path, place, whole);
    LW_CLOSED const hid_t dataset = distance ? lw_place_open_dataset(subject->file, whole) : -1;
    if (dataset < 0 || !lw_scale_read_dataset(dataset, &scale, subject->err) ||
        scale.n != subject->info->dims[1 - subject->info->metadata_axis])
        return false;
    distance->is_regular = true;
    distance->first = scale.first;
    distance->step = scale.step;
    lw_coordinate_name_unit(distance, scale.unit[0] ? scale.unit : unit);
    return true;
}

/* ---- the axis -------------------------------------------------------------------------------------------------------- */

void lw_subject_rate(struct lw_subject *subject, double hertz, const char *source)
{
    if (!(hertz > 0))
        return;
    subject->info->axis.sample_rate_hz = hertz;
    snprintf(subject->info->axis.source, sizeof subject->info->axis.source, "%s", source);
}

void lw_subject_period(struct lw_subject *subject, struct lw_period period, const char *source)
{
    subject->info->axis.period = period;
    subject->info->axis.sample_rate_hz = lw_period_rate(period);
    snprintf(subject->info->axis.source, sizeof subject->info->axis.source, "%s", source);
}

void lw_subject_start_at(struct lw_subject *subject, struct lw_instant utc)
{
    subject->info->axis.scale = LW_TIME_UTC;
    subject->info->axis.instant = utc;
}

bool lw_subject_start(struct lw_subject *subject, const char *text)
{
    struct lw_instant start;
    if (!lw_instant_parse(text, &start))
        return false;
    lw_subject_start_at(subject, start);
    return true;
}

void lw_subject_unit(struct lw_subject *subject, const char *unit)
{
    snprintf(subject->info->axis.unit, sizeof subject->info->axis.unit, "%s", unit);
}

bool lw_subject_times(struct lw_subject *subject, const char *place, const char *unit)
{
    struct lw_times times;
    char whole[LW_PLACE];
    if (!lw_times_read(subject->file, lw_place_from(subject->info->path, place, whole), unit, &times, subject->err))
        return false;
    lw_times_take_start(&times, &subject->info->axis);
    lw_times_take_rate(&times, &subject->info->axis);
    return true;
}
