/* prodml.c - distributed acoustic sensing as PRODML 2.0 and 2.1 lay it out (Energistics, "HDF5 Structure and Naming Conventions"),
 * which OptaSense, Sintela, Fosina and others write:
 *
 *     /Acquisition               @SpatialSamplingInterval, @StartLocusIndex, @NumberOfLoci, @PulseRate, @schemaVersion
 *     /Acquisition/Raw[k]        @OutputDataRate, @RawDataUnit
 *     .../RawData                [time x locus] or the other way round, @Dimensions, @PartStartTime
 *     .../RawDataTime            us since 1970 */
#include "io/hdf5/conventions/convention.h"

#include "io/hdf5/attribute.h"

#include <stdio.h>
#include <string.h>

/* "time, locus", or a list of texts. */
static int find_said_time(const struct lw_subject *subject)
{
    char names[64], item[32];
    if (lw_subject_text_above(subject, 0, "@Dimensions", names, sizeof names))
        return lw_subject_find_time(names);
    const hid_t data = lw_place_open_dataset(subject->file, subject->info->path);
    int time = -1;
    for (int d = 0; data >= 0 && d < subject->info->n_dims && time < 0; d++)
        if (lw_attribute_read_item(data, "Dimensions", d, subject->info->n_dims, item, sizeof item, subject->err) &&
            lw_subject_find_time(item) == 0)
            time = d;
    if (data >= 0)
        H5Dclose(data);
    return time;
}

/* Some files say "time, locus" whatever they hold: the number of loci tells, where it is the length of one dimension. */
static int find_time(const struct lw_subject *subject)
{
    const int64_t *const dims = subject->info->dims;
    const int said = find_said_time(subject), time = said < 0 ? 0 : said;
    double n_loci;
    if (subject->info->n_dims != 2)
        return time < subject->info->n_dims ? time : 0;
    const bool is_known = lw_subject_real_above(subject, 1, "@NumberOfLoci", &n_loci) ||
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
        lw_subject_real_above(subject, 1, "@StartLocusIndex", &locus);
    if (!lw_subject_text(subject, "Acquisition@SpatialSamplingInterval.uom", unit, sizeof unit))
        lw_subject_text(subject, "Acquisition@SpatialSamplingIntervalUnit", unit, sizeof unit);
    lw_subject_distance(subject, locus * step, step, unit);
}

static void find_start(struct lw_subject *subject)
{
    char text[64];
    struct lw_times times;
    if ((lw_subject_text_above(subject, 0, "@PartStartTime", text, sizeof text) && lw_subject_start(subject, text)) ||
        (lw_subject_text_above(subject, 1, "RawDataTime@PartStartTime", text, sizeof text) && lw_subject_start(subject, text)))
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
    if (lw_subject_real_above(subject, 1, "@OutputDataRate", &rate))
        lw_subject_rate(subject, rate, "attribute OutputDataRate");
    else if (!lw_place_exists(subject->file, subject->times) && lw_subject_real(subject, "Acquisition@PulseRate", &rate))
        lw_subject_rate(subject, rate, "attribute PulseRate");
}

static int describe(struct lw_subject *subject)
{
    char place[LW_PLACE], text[64];
    struct lw_dataset_info *const info = subject->info;
    lw_place_above(info->path, 1, "RawDataTime", place);
    if (strlen(place) < sizeof subject->times)
        memcpy(subject->times, place, strlen(place) + 1);
    if (lw_subject_text(subject, "Acquisition@schemaVersion", text, sizeof text))
        snprintf(info->convention, sizeof info->convention, "PRODML %.8s", text);
    lw_subject_name(subject, find_time(subject), "distance");
    find_distance(subject);
    find_start(subject);
    find_rate(subject);
    if (lw_subject_text_above(subject, 1, "@RawDataUnit", text, sizeof text))
        lw_subject_unit(subject, text);
    lw_subject_gauge(subject, "Acquisition@GaugeLength", lw_place_exists(subject->file, "Acquisition@GaugeLength.uom")
                                                             ? "Acquisition@GaugeLength.uom" : "Acquisition@GaugeLengthUnit");
    lw_subject_identify(subject, "facility", "Acquisition@FacilityId");
    lw_subject_identify(subject, "serial number", "Acquisition/Custom/SystemInformation/Chassis@SerialNum");
    return LW_OK;
}

const struct lw_convention lw_convention_prodml = {
    .name = "PRODML",
    .mark = {"Acquisition@SpatialSamplingInterval"},
    .pattern = "Acquisition/Raw*/RawData",
    .is_das = true,
    .describe = describe,
};
