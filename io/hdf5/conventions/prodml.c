/* prodml.c - distributed acoustic sensing as PRODML 2.0 and 2.1 lay it out (Energistics, "HDF5 Structure and Naming Conventions"),
 * which OptaSense, Sintela, Fosina and others write:
 *
 *     /Acquisition               @SpatialSamplingInterval, @StartLocusIndex, @NumberOfLoci, @PulseRate, @schemaVersion
 *     /Acquisition/Raw[k]        @OutputDataRate, @RawDataUnit
 *     .../RawData                [time x locus] or the other way round, @Dimensions, @PartStartTime
 *     .../RawDataTime            us since 1970 */
#include "io/hdf5/conventions/convention.h"

#include <stdio.h>

/* "time, locus", or a list of texts. */
static int find_said_time(const struct lw_subject *subject)
{
    char names[64];
    const bool is_one_text = lw_subject_text(subject, "./@Dimensions", names, sizeof names);
    return is_one_text ? lw_subject_find_time(names) : lw_subject_find_time_item(subject, "Dimensions");
}

/* Some files say "time, locus" whatever they hold: the number of loci tells, where it is the length of one dimension. */
static int find_time(const struct lw_subject *subject)
{
    const int64_t *const dims = subject->info->dims;
    const int said = find_said_time(subject), time = said < 0 ? 0 : said;
    double n_loci;
    if (subject->info->n_dims != 2)
        return time < subject->info->n_dims ? time : 0;
    const bool is_known = lw_subject_real(subject, "../@NumberOfLoci", &n_loci) ||
                          lw_subject_real(subject, "Acquisition@NumberOfLoci", &n_loci);
    return is_known && n_loci != (double)dims[1 - time] && n_loci == (double)dims[time] ? 1 - time : time;
}

static void find_distance(struct lw_subject *subject)
{
    double step, locus = 0;
    char unit[32] = "";
    if (!lw_subject_real(subject, "Acquisition@SpatialSamplingInterval", &step))
        return;
    if (!lw_subject_real(subject, "Acquisition@StartLocusIndex", &locus))
        lw_subject_real(subject, "../@StartLocusIndex", &locus);
    if (!lw_subject_text(subject, "Acquisition@SpatialSamplingInterval.uom", unit, sizeof unit))
        lw_subject_text(subject, "Acquisition@SpatialSamplingIntervalUnit", unit, sizeof unit);
    lw_subject_distance(subject, locus * step, step, unit);
}

static void find_start(struct lw_subject *subject)
{
    char text[64];
    struct lw_times times;
    if ((lw_subject_text(subject, "./@PartStartTime", text, sizeof text) && lw_subject_start(subject, text)) ||
        (lw_subject_text(subject, "../RawDataTime@PartStartTime", text, sizeof text) && lw_subject_start(subject, text)))
        return;
    if (lw_times_read(subject->file, subject->times, "", &times, subject->err))
        lw_times_take_start(&times, &subject->info->axis);
    else if (lw_subject_text(subject, "Acquisition@MeasurementStartTime", text, sizeof text))
        lw_subject_start(subject, text);
}

/* Should there be neither rate, the times tell. */
static void find_rate(struct lw_subject *subject)
{
    double rate;
    if (lw_subject_real(subject, "../@OutputDataRate", &rate))
        lw_subject_rate(subject, rate, "attribute OutputDataRate");
    else if (!lw_place_exists(subject->file, "", subject->times) && lw_subject_real(subject, "Acquisition@PulseRate", &rate))
        lw_subject_rate(subject, rate, "attribute PulseRate");
}

static int describe(struct lw_subject *subject)
{
    char version[64];
    lw_place_from(subject->info->path, "../RawDataTime", subject->times);
    if (lw_subject_text(subject, "Acquisition@schemaVersion", version, sizeof version))
        snprintf(subject->info->convention, sizeof subject->info->convention, "PRODML %.8s", version);
    find_distance(subject);
    find_start(subject);
    find_rate(subject);
    return LW_OK;
}

const struct lw_convention lw_convention_prodml = {
    .name = "PRODML",
    .mark = {"Acquisition@SpatialSamplingInterval"},
    .pattern = "Acquisition/Raw*/RawData",
    .is_das = true,
    .find_time = find_time,
    .other = "distance",
    .unit = "../@RawDataUnit",
    .gauge = "Acquisition@GaugeLength",
    .gauge_unit = {"Acquisition@GaugeLength.uom", "Acquisition@GaugeLengthUnit"},
    .recorder = {{"facility", "Acquisition@FacilityId"},
                 {"serial number", "Acquisition/Custom/SystemInformation/Chassis@SerialNum"}},
    .describe = describe,
};
