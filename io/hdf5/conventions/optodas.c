/* optodas.c - files of Alcatel Submarine Networks' OptoDAS: /data beside /header, whose values are datasets. Samples are to be
 * multiplied with header/dataScale; of those that are taken as they are stored, that stands before the unit. */
#include "io/hdf5/conventions/convention.h"

#include "io/hdf5/library.h"
#include "io/hdf5/scale.h"

#include <stdio.h>
#include <string.h>

static int find_time(const struct lw_subject *subject)
{
    char name[32];
    for (int d = 0; d < subject->info->n_dims; d++)
        if (lw_place_item(subject->file, "header/dimensionNames", d, name, sizeof name, subject->err) && strcmp(name, "time") == 0)
            return d;
    return 0;
}

/* A channel's number is its place in units of dx. Several regions of interest may have been thinned out differently. */
static void find_distance(struct lw_subject *subject, int time)
{
    double unit_m;
    char place[64];
    struct lw_scale channels;
    snprintf(place, sizeof place, "header/dimensionRanges/dimension%d/unitScale", 1 - time);
    if (!lw_subject_real(subject, place, &unit_m) && !lw_subject_real(subject, "header/dx", &unit_m))
        return;
    const hid_t dataset = lw_place_open_dataset(subject->file, "header/channels");
    const bool is_regular = dataset >= 0 && lw_scale_read_dataset(dataset, &channels, subject->err);
    lw_hdf5_close(dataset);
    if (is_regular)
        lw_subject_distance(subject, channels.first * unit_m, channels.step * unit_m, "m");
    else
        lw_subject_distance(subject, 0, 0, "m");
}

static void find_start(struct lw_subject *subject, int time)
{
    const struct lw_period period = subject->info->axis.period;
    double seconds, first = 0;
    char place[64];
    struct lw_instant start;
    snprintf(place, sizeof place, "header/dimensionRanges/dimension%d/min", time);
    if (!lw_subject_real(subject, "header/time", &seconds) || !lw_times_from_seconds(seconds, &start))
        return;
    if (period.numerator > 0 && lw_subject_real(subject, place, &first) && first > 0 && first < 1e15)
        start = lw_instant_of_sample(start, period, (int64_t)first);
    lw_subject_start_at(subject, start);
}

static void find_unit(struct lw_subject *subject)
{
    double scale;
    char unit[40] = "", scaled[64];
    const bool is_scaled = lw_subject_real(subject, "header/dataScale", &scale) && scale != 0 && scale != 1;
    const bool has_unit = lw_subject_text(subject, "header/unit", unit, sizeof unit);
    if (is_scaled)
        subject->info->packing.scale = scale;
    snprintf(scaled, sizeof scaled, "%.9g %s", is_scaled ? scale : 1, unit);
    if (has_unit)
        lw_subject_unit(subject, is_scaled && subject->info->hints.as_stored ? scaled : unit);
}

static int describe(struct lw_subject *subject)
{
    const int time = find_time(subject);
    find_distance(subject, time);
    find_start(subject, time);
    find_unit(subject);
    return LW_OK;
}

const struct lw_convention lw_convention_optodas = {
    .name = "OptoDAS",
    .mark = {"header/dt", "header/time", "header/channels", "data"},
    .pattern = "data",
    .is_das = true,
    .find_time = find_time,
    .version = "fileVersion",
    .other = "distance",
    .interval = "header/dt",
    .gauge = "header/gaugeLength",
    .recorder = {{"instrument", "header/instrument"}, {"serial number", "versions/Instr/serial"}},
    .describe = describe,
};
