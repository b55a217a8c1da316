/* fbh5.c - filterbanks in HDF5 as written by blimpy (FBH5, of Breakthrough Listen): /data [time x IF x channel], with the keywords
 * of SIGPROC's headers as attributes. /mask is not data. An IF is a polarisation; the reader drops the dimension of a single IF. */
#include "io/hdf5/conventions/conventions.h"

#include <stdio.h>

static void find_dimensions(struct lw_subject *subject)
{
    struct lw_dataset_info *const info = subject->info;
    const int last = info->n_dims - 1;
    struct lw_coordinate *const frequency = &info->coordinates[last];
    double first, step;
    info->metadata_axis = 0;
    snprintf(info->coordinates[0].name, sizeof info->coordinates[0].name, "time");
    snprintf(frequency->name, sizeof frequency->name, "frequency");
    snprintf(frequency->unit, sizeof frequency->unit, "MHz");
    if (last == 2)
        snprintf(info->coordinates[1].name, sizeof info->coordinates[1].name, "IF");
    if (!lw_subject_real(subject, "data@fch1", &first) || !lw_subject_real(subject, "data@foff", &step) || step == 0)
        return;
    frequency->is_regular = true;
    frequency->first = first;
    frequency->step = step;
}

/* Set rate and start. A start at the barycentre of the solar system is not UTC, so it stays a number. */
static void find_times(struct lw_subject *subject)
{
    struct lw_axis_metadata *const axis = &subject->info->axis;
    struct lw_instant start;
    struct lw_period period;
    double seconds, mjd, is_barycentric = 0;
    if (lw_subject_real(subject, "data@tsamp", &seconds) && lw_period_from_seconds(seconds, &period))
        lw_subject_period(subject, period, "attribute tsamp");
    if (!lw_subject_real(subject, "data@tstart", &mjd) || !(mjd > 0))
        return;
    lw_subject_real(subject, "data@barycentric", &is_barycentric);
    if (is_barycentric != 1 && lw_instant_from_mjd(mjd, &start)) {
        lw_subject_start_at(subject, start);
        return;
    }
    axis->has_start = true;
    axis->start = mjd;
    snprintf(axis->start_unit, sizeof axis->start_unit, "%sMJD", is_barycentric == 1 ? "barycentric " : "");
}

/* Describe [time x IF x channel], or [time x channel] where a file has no IFs. */
static int describe(struct lw_subject *subject)
{
    if (subject->info->n_dims != 2 && subject->info->n_dims != 3)
        return LW_OK;
    find_dimensions(subject);
    find_times(subject);
    return LW_OK;
}

const struct lw_convention lw_convention_fbh5 = {
    .name = "FBH5", .pattern = "data",
    .mark = {"@CLASS", "data@fch1", "data@foff", "data@tsamp"},
    .describe = describe,
};
