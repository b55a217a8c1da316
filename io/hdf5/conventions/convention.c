#include "io/hdf5/conventions/convention.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/library.h"
#include "io/hdf5/scale.h"
#include "io/notes/recorder.h"

#include <stdio.h>
#include <string.h>
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

int lw_subject_find_time_item(const struct lw_subject *subject, const char *attribute)
{
    char name[32];
    int time = -1;
    const hid_t data = lw_place_open_dataset(subject->file, subject->info->path);
    for (int d = 0; data >= 0 && d < subject->info->n_dims && time < 0; d++)
        if (lw_attribute_read_item(data, attribute, d, subject->info->n_dims, name, sizeof name, subject->err) &&
            lw_subject_find_time(name) == 0)
            time = d;
    lw_hdf5_close(data);
    return time;
}

static struct lw_coordinate *beside_axis(struct lw_subject *subject)
{
    struct lw_dataset_info *const info = subject->info;
    return info->n_dims == 2 && info->metadata_axis >= 0 ? &info->coordinates[1 - info->metadata_axis] : NULL;
}

static void set_unit(struct lw_coordinate *coordinate, const char *unit)
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
    set_unit(distance, unit[0] || strcmp(distance->name, "distance") != 0 ? unit : "m");
}

bool lw_subject_distances(struct lw_subject *subject, const char *place, const char *unit)
{
    struct lw_scale scale;
    char whole[LW_PLACE];
    struct lw_coordinate *const distance = beside_axis(subject);
    const hid_t dataset = distance ? lw_place_open_dataset(subject->file, lw_place_from(subject->info->path, place, whole)) : -1;
    if (dataset < 0)
        return false;
    const bool found = lw_scale_read_dataset(dataset, &scale, subject->err) &&
                       scale.n == subject->info->dims[1 - subject->info->metadata_axis];
    H5Dclose(dataset);
    if (!found)
        return false;
    distance->is_regular = true;
    distance->first = scale.first;
    distance->step = scale.step;
    set_unit(distance, scale.unit[0] ? scale.unit : unit);
    return true;
}

/* ---- the axis -------------------------------------------------------------------------------------------------------- */

static void set_source(struct lw_subject *subject, const char *source)
{
    snprintf(subject->info->axis.source, sizeof subject->info->axis.source, "%s", source);
}

void lw_subject_rate(struct lw_subject *subject, double hertz, const char *source)
{
    if (!(hertz > 0))
        return;
    subject->info->axis.sample_rate_hz = hertz;
    set_source(subject, source);
}

void lw_subject_period(struct lw_subject *subject, struct lw_period period, const char *source)
{
    subject->info->axis.period = period;
    subject->info->axis.sample_rate_hz = lw_period_rate(period);
    set_source(subject, source);
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

/* ---- a row ----------------------------------------------------------------------------------------------------------- */

static void take_version(const struct lw_convention *row, struct lw_subject *subject)
{
    double version;
    if (lw_subject_real(subject, row->version, &version))
        snprintf(subject->info->convention, sizeof subject->info->convention, "%s %.0f", row->name, version);
}

static void take_distance(const struct lw_convention *row, struct lw_subject *subject)
{
    double first = 0, step;
    char unit[64] = "";
    if (!lw_subject_real(subject, row->step, &step))
        return;
    lw_subject_real(subject, row->first, &first);
    lw_subject_text(subject, row->step_unit, unit, sizeof unit);
    lw_subject_distance(subject, first, step, unit);
}

static void take_times(const struct lw_convention *row, struct lw_subject *subject)
{
    char text[64];
    bool found = false;
    if (row->are_times_checked)
        lw_place_from(subject->info->path, row->times[0], subject->times);
    for (int t = 0; t < 2 && row->times[t] && !found; t++)
        found = lw_subject_times(subject, row->times[t], row->times_unit ? row->times_unit : "");
    for (int s = 0; s < 2 && !found; s++)
        found = lw_subject_text(subject, row->start[s], text, sizeof text) && lw_subject_start(subject, text);
}

static const char *source_of(const char *place, char text[96])
{
    const char *const name = strchr(place, '@');
    snprintf(text, 96, "%s%.80s", name ? "attribute " : "", name ? name + 1 : place);
    return text;
}

static void take_rate(const struct lw_convention *row, struct lw_subject *subject)
{
    double value;
    char source[96];
    struct lw_period period;
    if (lw_subject_real(subject, row->rate, &value))
        lw_subject_rate(subject, value, source_of(row->rate, source));
    if (lw_subject_real(subject, row->interval, &value) && lw_times_step(value, &period))
        lw_subject_period(subject, period, source_of(row->interval, source));
}

static void take_gauge(const struct lw_convention *row, struct lw_subject *subject)
{
    double length;
    struct lw_coordinate metres;
    char unit[32] = "m";
    if (!lw_subject_text(subject, row->gauge_unit[0], unit, sizeof unit))
        lw_subject_text(subject, row->gauge_unit[1], unit, sizeof unit);
    set_unit(&metres, unit[0] ? unit : "m");
    if (strcmp(metres.unit, "m") == 0 && lw_subject_real(subject, row->gauge, &length) && length > 0)
        subject->info->gauge_length_m = length;
}

static void take_recorder(const struct lw_convention *row, struct lw_subject *subject)
{
    char text[256];
    double value;
    for (int r = 0; r < 3 && row->recorder[r].what; r++)
        if (lw_subject_text(subject, row->recorder[r].place, text, sizeof text))
            lw_recorder_add(&subject->info->recorder, row->recorder[r].what, text);
        else if (lw_subject_real(subject, row->recorder[r].place, &value))
            lw_recorder_add_number(&subject->info->recorder, row->recorder[r].what, value);
}

int lw_convention_describe(const struct lw_convention *row, struct lw_subject *subject)
{
    char unit[64];
    const int time = row->find_time ? row->find_time(subject) : 0;
    snprintf(subject->info->convention, sizeof subject->info->convention, "%s", row->name);
    subject->info->is_das = row->is_das;
    take_version(row, subject);
    if (row->other)
        lw_subject_name(subject, time > 0 ? time : 0, row->other);
    take_distance(row, subject);
    take_times(row, subject);
    take_rate(row, subject);
    if (lw_subject_text(subject, row->unit, unit, sizeof unit) && strcmp(unit, "NaN") != 0)
        lw_subject_unit(subject, unit);
    take_gauge(row, subject);
    take_recorder(row, subject);
    return row->describe ? row->describe(subject) : LW_OK;
}
