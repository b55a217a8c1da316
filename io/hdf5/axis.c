#include "io/hdf5/inspect.h"

#include "base/text.h"
#include "io/hdf5/attribute.h"
#include "io/hdf5/conventions/conventions.h"
#include "io/hdf5/library.h"
#include "io/hdf5/scale.h"
#include "io/notes/recorder.h"
#include "signal/post.h"

#include <stdio.h>

/* Attributes that give the rate in hertz, or the period in seconds. */
static const struct {
    const char *name;
    bool is_period;
} rates[] = {
    {"sample_rate_hz", false}, {"sample_rate", false}, {"sampling_rate", false}, {"sampling_frequency", false},
    {"SampleRate", false}, {"SamplingRate", false}, {"SamplingFrequency", false}, {"SamplingFrequency[Hz]", false},
    {"OutputDataRate", false}, {"fs", false}, {"Fs", false},
    {"dt", true}, {"delta_t", true}, {"sampling_interval", true}, {"tsamp", true},
};

static bool read_positive(hid_t object, const char *name, double *value, double *accuracy, struct lw_error *err)
{
    return lw_attribute_read_real(object, name, value, accuracy, err) && *value > 0;
}

static bool find_rate_attribute(hid_t object, struct lw_axis_metadata *axis, struct lw_error *err)
{
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        double value;
        if (read_positive(object, rates[r].name, &value, &axis->rate_accuracy, err)) {
            axis->sample_rate_hz = rates[r].is_period ? 1 / value : value;
            snprintf(axis->source, sizeof axis->source, "attribute %s", rates[r].name);
            return true;
        }
    }
    return false;
}

/* Read GWOSC's attribute Xspacing, in the unit Xunits. */
static bool find_spacing(hid_t dataset, struct lw_axis_metadata *axis, struct lw_error *err)
{
    double spacing;
    char unit[64] = "s";
    lw_attribute_read_text(dataset, "Xunits", unit, sizeof unit, err);
    const double seconds = lw_sampling_unit_seconds(unit);
    if (!read_positive(dataset, "Xspacing", &spacing, &axis->rate_accuracy, err) || seconds == 0)
        return false;
    axis->sample_rate_hz = 1 / (spacing * seconds);
    snprintf(axis->source, sizeof axis->source, "attribute Xspacing");
    return true;
}

/* Take rate and start from a scale whose numbers have no date. The scale of a time dimension counts seconds if it has no unit. The
 * step is a difference of rounded numbers, so a rate that is whole within the rounding becomes whole. */
static bool take_scale(const struct lw_scale *scale, bool is_time, struct lw_axis_metadata *axis)
{
    const double seconds = scale->unit[0] ? lw_sampling_unit_seconds(scale->unit) : is_time ? 1 : 0;
    if (seconds == 0 || scale->step <= 0)
        return false;
    const double rate = 1 / (scale->step * seconds), whole = nearbyint(rate);
    axis->sample_rate_hz = fabs(rate - whole) <= 2 * scale->step_accuracy * whole ? whole : rate;
    axis->rate_accuracy = 2 * scale->step_accuracy;
    axis->start = scale->first;
    axis->has_start = true;
    snprintf(axis->start_unit, sizeof axis->start_unit, "%s", scale->unit[0] ? scale->unit : "second");
    snprintf(axis->source, sizeof axis->source, "dimension scale %.100s", scale->path);
    return true;
}

/* Find rate and start from the time dimension's scale. Times with a date are read exactly (times.c). */
static bool find_scale(hid_t file, hid_t dataset, const struct lw_dataset_info *info, struct lw_axis_metadata *axis,
                       struct lw_error *err)
{
    struct lw_scale scale;
    struct lw_times times;
    const int dimension = info->n_dims == 1 ? 0 : info->metadata_axis;
    if (dimension < 0 || !lw_scale_read(dataset, dimension, info->n_dims, &scale, err))
        return false;
    if (lw_times_read(file, scale.path, "", &times, err) && times.has_date && times.period.numerator > 0) {
        lw_times_take_start(&times, axis);
        lw_times_take_rate(&times, axis);
        return true;
    }
    return take_scale(&scale, info->metadata_axis == dimension, axis);
}

/* Return whether the rate of a group applies to the dataset. It applies to series only. The group may also hold times and
 * spectra, for instance blocks [block x frequency x place] of a DAS interrogator. */
static bool is_series(const struct lw_dataset_info *info)
{
    int64_t most = 1;
    for (int d = 0; d < info->n_dims; d++)
        most = info->dims[d] > most ? info->dims[d] : most;
    return info->n_dims <= 2 && most > 1 && !lw_scale_is_time(lw_last_part(info->path));
}

static void find_rate_above(hid_t file, const char *path, struct lw_axis_metadata *axis, struct lw_error *err)
{
    char group[LW_MAX_PATH];
    snprintf(group, sizeof group, "%s", path);
    bool found = false;
    while (!found && group[0]) {
        *strrchr(group, '/') = '\0';
        LW_CLOSED const hid_t object = H5Oopen(file, group[0] ? group : "/", H5P_DEFAULT);
        if (object < 0)
            return;
        found = find_rate_attribute(object, axis, err);
        if (found)
            lw_append(axis->source, sizeof axis->source, " of %.64s", group[0] ? group : "/");
    }
}

/* GWpy and PyCBC count seconds of GPS, but their files do not name the unit. A start of 0 means that none was set. */
static void take_gps_start(struct lw_axis_metadata *axis, double start)
{
    axis->has_start = true;
    axis->start = start;
    snprintf(axis->start_unit, sizeof axis->start_unit, "%s", start != 0 ? "GPS second" : "second");
}

/* Read GWpy's attributes: x0, dx and xunit for times along dimension 0; y0, dy and yunit for a spectrogram's frequencies. */
static void find_gwpy(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_coordinate *const frequency = &info->coordinates[1];
    double first, step, accuracy;
    char unit[32];
    if (!read_positive(dataset, "dx", &step, &accuracy, err) || !lw_attribute_read_real(dataset, "x0", &first, &accuracy, err) ||
        !lw_attribute_read_text(dataset, "xunit", unit, sizeof unit, err))
        return;
    snprintf(info->convention, sizeof info->convention, "GWpy");
    const double seconds = lw_sampling_unit_seconds(unit);
    if (seconds == 0)
        return;
    info->axis.sample_rate_hz = 1 / (step * seconds);
    snprintf(info->axis.source, sizeof info->axis.source, "attribute dx");
    take_gps_start(&info->axis, first * seconds);
    info->metadata_axis = 0;
    if (info->n_dims != 2 || !lw_attribute_read_real(dataset, "dy", &frequency->step, &accuracy, err) || frequency->step == 0)
        return;
    frequency->is_regular = lw_attribute_read_real(dataset, "y0", &frequency->first, &accuracy, err);
    snprintf(frequency->name, sizeof frequency->name, "frequency");
    lw_attribute_read_text(dataset, "yunit", frequency->unit, sizeof frequency->unit, err);
}

/* Find the start: a number with a unit, or a date, which becomes "0 s since DATE". GWOSC has Xstart, Xunits, Xlabel. */
static void find_start(hid_t dataset, struct lw_axis_metadata *axis, struct lw_error *err)
{
    static const char *const dates[] = {"start_time", "ISO8601 Timestamp"};
    char text[48] = "", unit[48] = "";
    double accuracy;

    if (lw_attribute_read_real(dataset, "start_time", &axis->start, &accuracy, err)) {
        axis->has_start = true;
        if (!lw_attribute_read_text(dataset, "start_unit", axis->start_unit, sizeof axis->start_unit, err) &&
            H5Aexists(dataset, "delta_t") > 0)
            take_gps_start(axis, axis->start);      /* PyCBC */
    } else if (lw_attribute_read_real(dataset, "Xstart", &axis->start, &accuracy, err)) {
        axis->has_start = true;
        const bool is_gps = lw_attribute_read_text(dataset, "Xlabel", text, sizeof text, err) && strncmp(text, "GPS", 3) == 0;
        lw_attribute_read_text(dataset, "Xunits", unit, sizeof unit, err);
        snprintf(axis->start_unit, sizeof axis->start_unit, "%s%s", is_gps ? "GPS " : "", unit);
    }
    for (size_t d = 0; d < sizeof dates / sizeof *dates && !axis->has_start; d++) {
        if (lw_attribute_read_text(dataset, dates[d], text, sizeof text, err) && text[0]) {
            axis->has_start = true;
            axis->start = 0;
            snprintf(axis->start_unit, sizeof axis->start_unit, "s since %s", text);
        }
    }
}

/* ---- the recorder ------------------------------------------------------------------------------------------------------ */

/* Read the recorder from attributes of a dataset or file. Results keep their input's attributes, in the names of any format. */
static void find_recorder(hid_t object, struct lw_recorder *recorder, struct lw_error *err)
{
    static const struct {
        const char *what, *name;
    } fields[] = {
        {"detector", "detector"}, {"telescope", "telescope"}, {"telescope", "TELESCOP"}, {"telescope", "telescope_id"},
        {"instrument", "instrument"}, {"instrument", "INSTRUME"}, {"filter", "FILTER"}, {"front end", "FRONTEND"},
        {"back end", "BACKEND"}, {"back end", "machine_id"}, {"beam", "IBEAM"}, {"beam", "ibeam"}, {"network", "network"},
        {"station", "station"}, {"channel", "channel"}, {"channel", "channels"}, {"serial number", "serial_number"},
        {"fibre", "fibre"}, {"facility", "facility"}, {"dispersion measure", "refdm"}, {"job number", "JobID"},
        {"line number", "LineNumber"},
    };
    char text[256];
    double value, accuracy;
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        if (lw_attribute_read_text(object, fields[f].name, text, sizeof text, err))
            lw_recorder_add(recorder, fields[f].what, text);
        else if (lw_attribute_read_real(object, fields[f].name, &value, &accuracy, err))
            lw_recorder_add_number(recorder, fields[f].what, value);
}

/* ---- the other dimensions ---------------------------------------------------------------------------------------------- */

static void name_time(struct lw_dataset_info *info)
{
    if (info->metadata_axis >= 0)
        snprintf(info->coordinates[info->metadata_axis].name, sizeof info->coordinates[0].name, "time");
}

static void find_coordinates(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_scale scale;
    for (int d = 0; d < info->n_dims; d++) {
        struct lw_coordinate *const coordinate = &info->coordinates[d];
        if (d == info->metadata_axis || coordinate->is_regular || !coordinate->name[0] ||
            !lw_scale_read(dataset, d, info->n_dims, &scale, err))
            continue;
        coordinate->is_regular = true;
        coordinate->first = scale.first;
        coordinate->step = scale.step;
        snprintf(coordinate->unit, sizeof coordinate->unit, "%.31s", strcmp(scale.unit, "1") == 0 ? "" : scale.unit);
    }
}

/* ---- times beside the data --------------------------------------------------------------------------------------------- */

static bool has_rate(const struct lw_axis_metadata *axis) { return axis->period.numerator > 0 || axis->sample_rate_hz > 0; }
static bool has_start(const struct lw_axis_metadata *axis) { return axis->has_start || axis->scale != LW_TIME_UNKNOWN; }

/* Find times beside the data: by the convention, or by a search if there is none. A dataset of times has no times of its own. */
static bool find_times(struct lw_subject *subject, struct lw_times *times)
{
    const bool may_have = subject->info->n_dims > 1 || !lw_conventions_name_times(lw_last_part(subject->info->path));
    if (subject->times[0])
        return lw_times_read(subject->file, subject->times, "", times, subject->err) &&
               (subject->info->metadata_axis < 0 || times->n == subject->info->dims[subject->info->metadata_axis]);
    return !subject->info->convention[0] && may_have && is_series(subject->info) && lw_conventions_find_times(subject, times);
}

/* Let times beside the data supply a start or rate that is unknown. A known rate must agree with them. */
static void use_times(struct lw_subject *subject)
{
    struct lw_times times;
    struct lw_axis_metadata *const axis = &subject->info->axis;
    const bool is_by_times = strncmp(axis->source, "times ", 6) == 0 || strncmp(axis->source, "dimension scale", 15) == 0;
    if (is_by_times || !find_times(subject, &times))
        return;
    if (!has_start(axis) && (times.has_date || times.period.numerator > 0))
        lw_times_take_start(&times, axis);
    if (!has_rate(axis))
        lw_times_take_rate(&times, axis);
    else if (!(subject->info->hints.sample_rate_hz > 0))
        lw_times_check(&times, axis, subject->err);
}

/* ---- all of it --------------------------------------------------------------------------------------------------------- */

/* Return whether the dataset is a result of this program with powers or amplitudes, made by --post. */
static bool is_power(hid_t dataset, struct lw_error *err)
{
    char post[16];
    if (!lw_attribute_read_text(dataset, "post", post, sizeof post, err))
        return false;
    for (int kind = 0; kind < LW_POST_KINDS; kind++)
        if (strcmp(post, lw_post_operations[kind].name) == 0)
            return lw_post_operations[kind].traits & LW_POST_REAL;
    return false;
}

/* Find the rate, start, unit and coordinates that the convention has not given. */
static void find_rest(hid_t file, hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    static const char *const units[] = {"unit", "units", "Yunits", NULL};
    struct lw_axis_metadata *const axis = &info->axis;
    const bool is_whole = info->blocks.n == 0;
    if (!has_rate(axis) && !find_rate_attribute(dataset, axis, err) && !find_spacing(dataset, axis, err) &&
        !(is_whole && find_scale(file, dataset, info, axis, err)) && is_series(info))
        find_rate_above(file, info->path, axis, err);
    if (!has_start(axis))
        find_start(dataset, axis, err);
    if (!axis->unit[0])
        lw_attribute_read_first(dataset, units, axis->unit, sizeof axis->unit, err);
    if (is_whole)
        find_coordinates(dataset, info, err);
}

int lw_hdf5_sampling_find(hid_t file, hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_error broken = {0};
    struct lw_subject subject = {.file = file, .info = info, .err = &broken};
    info->axis = (struct lw_axis_metadata){0};
    info->metadata_axis = lw_scale_time_dimension(dataset, info->n_dims, &broken);
    for (int d = 0; d < info->n_dims; d++)
        lw_scale_name(dataset, d, info->n_dims, info->coordinates[d].name, sizeof info->coordinates[d].name, &broken);
    name_time(info);
    info->is_power = is_power(dataset, &broken);
    const int rc = lw_conventions_describe(&subject);
    if (rc == LW_OK && !info->convention[0])
        find_gwpy(dataset, info, &broken);
    if (rc == LW_OK)
        find_rest(file, dataset, info, &broken);
    if (broken.code == LW_OK)
        use_times(&subject);
    find_recorder(dataset, &info->recorder, &broken);
    find_recorder(file, &info->recorder, &broken);
    name_time(info);
    return broken.code == LW_OK ? LW_OK : lw_fail(err, broken.code, "%s", broken.message);
}
