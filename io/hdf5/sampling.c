#include "io/hdf5/sampling.h"

#include "io/hdf5/attribute.h"
#include "io/hdf5/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Attributes that give the sampling, in hertz or, as periods, in seconds. */
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

/* GWOSC: Xspacing in Xunits. */
static bool find_spacing(hid_t dataset, struct lw_axis_metadata *axis, struct lw_error *err)
{
    double spacing;
    char unit[64] = "s";
    lw_attribute_read_text(dataset, "Xunits", unit, sizeof unit, err);
    const double seconds = lw_scale_unit_seconds(unit);
    if (!read_positive(dataset, "Xspacing", &spacing, &axis->rate_accuracy, err) || seconds == 0)
        return false;
    axis->sample_rate_hz = 1 / (spacing * seconds);
    snprintf(axis->source, sizeof axis->source, "attribute Xspacing");
    return true;
}

/* The step of a scale is a difference of rounded numbers: a rate that may well be whole is whole. */
static double rounded_rate(double rate, double accuracy)
{
    const double whole = nearbyint(rate);
    return fabs(rate - whole) <= 2 * accuracy * whole ? whole : rate;
}

/* Without a unit, the scale of a dimension called time counts seconds. */
static bool find_scale(hid_t dataset, const struct lw_dataset_info *info, struct lw_axis_metadata *axis, struct lw_error *err)
{
    struct lw_scale scale;
    const int dimension = info->n_dims == 1 ? 0 : info->metadata_axis;
    if (dimension < 0 || !lw_scale_read(dataset, dimension, info->n_dims, &scale, err))
        return false;
    const double unnamed = info->metadata_axis == dimension ? 1 : 0;
    const double seconds = scale.unit[0] ? lw_scale_unit_seconds(scale.unit) : unnamed;
    if (seconds == 0 || scale.step <= 0)
        return false;
    axis->sample_rate_hz = rounded_rate(1 / (scale.step * seconds), scale.step_accuracy);
    axis->rate_accuracy = 2 * scale.step_accuracy;
    axis->start = scale.first;
    axis->has_start = true;
    snprintf(axis->start_unit, sizeof axis->start_unit, "%s", scale.unit[0] ? scale.unit : "second");
    snprintf(axis->source, sizeof axis->source, "dimension scale %.100s", scale.path);
    return true;
}

/* A group may hold more than the series that its rate is of: coordinates of time, and spectra, such as the blocks
 * [block x frequency x place] of a DAS interrogator. */
static bool is_series(const struct lw_dataset_info *info)
{
    int64_t most = 1;
    for (int d = 0; d < info->n_dims; d++)
        most = info->dims[d] > most ? info->dims[d] : most;
    const char *const slash = strrchr(info->path, '/');
    return info->n_dims <= 2 && most > 1 && !lw_scale_is_time(slash ? slash + 1 : info->path);
}

static void find_rate_above(hid_t file, const char *path, struct lw_axis_metadata *axis, struct lw_error *err)
{
    char group[LW_MAX_PATH];
    snprintf(group, sizeof group, "%s", path);
    bool found = false;
    while (!found && group[0]) {
        *strrchr(group, '/') = '\0';
        const hid_t object = H5Oopen(file, group[0] ? group : "/", H5P_DEFAULT);
        if (object < 0)
            return;
        found = find_rate_attribute(object, axis, err);
        if (found)
            snprintf(axis->source + strlen(axis->source), sizeof axis->source - strlen(axis->source), " of %.64s",
                     group[0] ? group : "/");
        H5Oclose(object);
    }
}

/* GWOSC: Xstart in Xunits, since what Xlabel says. */
static void name_start(hid_t dataset, struct lw_axis_metadata *axis, struct lw_error *err)
{
    char label[48], unit[48] = "";
    const bool is_gps = lw_attribute_read_text(dataset, "Xlabel", label, sizeof label, err) && strncmp(label, "GPS", 3) == 0;
    lw_attribute_read_text(dataset, "Xunits", unit, sizeof unit, err);
    snprintf(axis->start_unit, sizeof axis->start_unit, "%s%s", is_gps ? "GPS " : "", unit);
}

/* The start as a number of its own unit, or, where it is a date, as 0 seconds since then. */
static void find_start(hid_t dataset, struct lw_axis_metadata *axis, struct lw_error *err)
{
    static const char *const dates[] = {"start_time", "ISO8601 Timestamp"};
    char text[48] = "";
    double accuracy;

    if (lw_attribute_read_real(dataset, "start_time", &axis->start, &accuracy, err)) {
        axis->has_start = true;
        lw_attribute_read_text(dataset, "start_unit", axis->start_unit, sizeof axis->start_unit, err);
    } else if (lw_attribute_read_real(dataset, "Xstart", &axis->start, &accuracy, err)) {
        axis->has_start = true;
        name_start(dataset, axis, err);
    }
    for (size_t d = 0; d < sizeof dates / sizeof *dates && !axis->has_start; d++) {
        if (lw_attribute_read_text(dataset, dates[d], text, sizeof text, err) && text[0]) {
            axis->has_start = true;
            axis->start = 0;
            snprintf(axis->start_unit, sizeof axis->start_unit, "s since %s", text);
        }
    }
}

static void find_unit(hid_t dataset, char *unit, size_t size, struct lw_error *err)
{
    static const char *const names[] = {"unit", "units", "Yunits"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (lw_attribute_read_text(dataset, names[n], unit, size, err) && unit[0])
            return;
    unit[0] = '\0';
}

int lw_sampling_find(hid_t file, hid_t dataset, struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_axis_metadata *const axis = &info->axis;
    struct lw_error broken = {0};
    *axis = (struct lw_axis_metadata){0};
    info->metadata_axis = lw_scale_time_dimension(dataset, info->n_dims, &broken);

    if (!find_rate_attribute(dataset, axis, &broken) && !find_spacing(dataset, axis, &broken) &&
        !find_scale(dataset, info, axis, &broken) && is_series(info))
        find_rate_above(file, info->path, axis, &broken);
    if (!axis->has_start)
        find_start(dataset, axis, &broken);
    find_unit(dataset, axis->unit, sizeof axis->unit, &broken);
    return broken.code == LW_OK ? LW_OK : lw_fail(err, broken.code, "%s", broken.message);
}

const char *lw_sampling_text(const struct lw_axis_metadata *axis, char *text, size_t size)
{
    int used = 0;
    text[0] = '\0';
    if (axis->sample_rate_hz > 0)
        used = snprintf(text, size, "%.12g Hz", axis->sample_rate_hz);
    if (axis->has_start && used >= 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "%sfrom %.17g %s", used ? " " : "", axis->start, axis->start_unit);
    return text;
}
