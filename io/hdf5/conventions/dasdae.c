/* dasdae.c - what DASCore writes: for each patch a group of /waveforms with data, _coord_time, _coord_distance, and attributes. */
#include "io/hdf5/conventions/convention.h"

#include <stdio.h>
#include <string.h>

/* Names part with commas. @return  the dimension beside `time` */
static const char *other_name(const char *names, int time, char other[32])
{
    const char *at = names;
    for (int d = 0; d < 1 - time && *at; d++) {
        at += strcspn(at, ",");
        at += *at == ',';
    }
    snprintf(other, 32, "%.*s", (int)strcspn(at, ","), at);
    return other;
}

static void find_distance(struct lw_subject *subject, const char *name)
{
    char place[96], unit[32] = "";
    snprintf(place, sizeof place, "../@_attrs_%s_units", name);
    if (!lw_subject_text(subject, place, unit, sizeof unit) && strcmp(name, "distance") == 0)
        snprintf(unit, sizeof unit, "m");
    snprintf(place, sizeof place, "../_coord_%s", name);
    lw_subject_distances(subject, place, unit);
}

static int describe(struct lw_subject *subject)
{
    char names[96] = "", other[32], category[64];
    double is_date = 0;
    lw_subject_text(subject, "../@_dims", names, sizeof names);
    const int time = lw_subject_find_time(names);
    if (time < 0 || time >= subject->info->n_dims)
        return LW_OK;
    lw_subject_name(subject, time, other_name(names, time, other));
    find_distance(subject, other);
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
    .describe = describe,
};
