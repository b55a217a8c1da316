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
    char rest[96], place[LW_PLACE], unit[32] = "";
    snprintf(rest, sizeof rest, "@_attrs_%s_units", name);
    if (!lw_subject_text_above(subject, 1, rest, unit, sizeof unit) && strcmp(name, "distance") == 0)
        snprintf(unit, sizeof unit, "m");
    snprintf(rest, sizeof rest, "_coord_%s", name);
    lw_subject_distances(subject, lw_place_above(subject->info->path, 1, rest, place), unit);
}

static int describe(struct lw_subject *subject)
{
    char names[96] = "", other[32], text[64], place[LW_PLACE], unit[LW_PLACE];
    double is_date = 0;
    lw_subject_text_above(subject, 1, "@_dims", names, sizeof names);
    const int time = lw_subject_find_time(names);
    if (time < 0 || time >= subject->info->n_dims)
        return LW_OK;
    lw_subject_name(subject, time, other_name(names, time, other));
    find_distance(subject, other);
    lw_subject_real_above(subject, 1, "_coord_time@is_datetime64", &is_date);
    lw_subject_times(subject, lw_place_above(subject->info->path, 1, "_coord_time", place), is_date ? "ns since 1970-01-01" : "ns");
    if (lw_subject_text_above(subject, 1, "@_attrs_data_units", text, sizeof text))
        lw_subject_unit(subject, text);
    if (lw_subject_text_above(subject, 1, "@_attrs_data_category", text, sizeof text))
        subject->info->is_das = strcmp(text, "DAS") == 0;
    lw_subject_gauge(subject, lw_place_above(subject->info->path, 1, "@_attrs_gauge_length", place),
                     lw_place_above(subject->info->path, 1, "@_attrs_gauge_length_units", unit));
    lw_subject_identify_above(subject, 1, "network", "@_attrs_network");
    lw_subject_identify_above(subject, 1, "station", "@_attrs_station");
    lw_subject_identify_above(subject, 1, "instrument", "@_attrs_instrument_id");
    return LW_OK;
}

const struct lw_convention lw_convention_dasdae = {
    .name = "DASDAE",
    .mark = {"@__DASDAE_version__", "waveforms"},
    .pattern = "waveforms/*/data",
    .describe = describe,
};
