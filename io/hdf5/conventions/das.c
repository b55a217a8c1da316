/* das.c - makers of instruments for distributed acoustic sensing whose files a row describes, and a few lines at most beside it. */
#include "io/hdf5/conventions/convention.h"

#include <stdio.h>
#include <string.h>

/* ---- AP Sensing: /DAS [time x distance] beside groups whose values are datasets. The distance of a channel is that of the
 * beginning of its gauge. */

static void find_ap_distance(struct lw_subject *subject)
{
    double first, last, step;
    char unit[32] = "";
    if (!lw_subject_real(subject, "DAQ/PositionStart", &first) || subject->info->n_dims != 2)
        return;
    lw_subject_text(subject, "DAQ/PositionStart@Unit", unit, sizeof unit);
    if (lw_subject_real(subject, "ProcessingServer/SpatialSampling", &step))
        lw_subject_distance(subject, first, step, unit);
    else if (lw_subject_real(subject, "DAQ/PositionEnd", &last))
        lw_subject_distance(subject, first, (last - first) / (double)subject->info->dims[1], unit);
}

/* A local time is no instant. */
static int describe_ap(struct lw_subject *subject)
{
    char text[64], zone[16] = "UTC";
    find_ap_distance(subject);
    if (!lw_subject_text(subject, "Metadata/Timestamp", text, sizeof text))
        return LW_OK;
    lw_subject_text(subject, "Metadata/Timezone", zone, sizeof zone);
    if (text[strlen(text) - 1] == 'Z' || strcmp(zone, "UTC") == 0 || strcmp(zone, "UTC+0") == 0 || strcmp(zone, "UTC+00:00") == 0)
        lw_subject_start(subject, text);
    return LW_OK;
}

const struct lw_convention lw_convention_apsensing = {
    .name = "AP Sensing",
    .mark = {"DAS", "ProcessingServer/DataRate", "Metadata/Timestamp"},
    .pattern = "DAS",
    .is_das = true,
    .other = "distance",
    .rate = "ProcessingServer/DataRate",
    .gauge = "ProcessingServer/GaugeLength",
    .gauge_unit = {"ProcessingServer/GaugeLength@Unit"},
    .describe = describe_ap,
};

/* ---- Geothermal Data Repository: the DAS-RCN metadata of IRIS with the arrays of PRODML. The place of the first channel is not
 * given: distances begin at 0. */

#define ACQUISITION "DasMetadata/Interrogator/Acquisition@"

static int find_gdr_time(const struct lw_subject *subject)
{
    return lw_subject_find_time_item(subject, "DasDimensions");
}

const struct lw_convention lw_convention_gdr = {
    .name = "GDR",
    .mark = {"DasMetadata/Interrogator/Acquisition", "DasRawData/RawData"},
    .pattern = "DasRawData/RawData",
    .is_das = true,
    .find_time = find_gdr_time,
    .other = "distance",
    .step = ACQUISITION "SpatialSamplingInterval",
    .step_unit = ACQUISITION "SpatialSamplingIntervalUnit",
    .times = {"/DasRawData/DasTimeArray"},
    .are_times_checked = true,
    .start = {ACQUISITION "AcquisitionStartTime"},
    .rate = ACQUISITION "AcquisitionSampleRate",
    .unit = ACQUISITION "UnitOfMeasure",
    .gauge = ACQUISITION "GaugeLength",
    .gauge_unit = {ACQUISITION "GaugeLengthUnit"},
    .recorder = {{"network", "DasMetadata@NetworkCode"}, {"serial number", "DasMetadata/Interrogator@SerialNumber"}},
};

/* ---- Neubrex: acoustic files, /Acoustic with attributes, and those of the shift of the Rayleigh spectrum, /data beside /depth and
 * /stamps_unix. */

const struct lw_convention lw_convention_neubrex = {
    .name = "Neubrex",
    .mark = {"Acoustic@NEUBRESCOPE.DAS.Model", "Acoustic@SpatialSamplingInterval"},
    .pattern = "Acoustic",
    .is_das = true,
    .other = "distance",
    .first = "Acoustic@StartPosition",
    .step = "Acoustic@SpatialSamplingInterval",
    .step_unit = "Acoustic@StartStopPositionUnit",
    .start = {"Acoustic@GPSTimeStamp(UTC)", "Acoustic@CPUTimeStamp(UTC)"},
    .interval = "Acoustic@TimeSamplingInterval(seconds)",
    .unit = "Acoustic@DataPhysicalUnit",
    .gauge = "Acoustic@GaugeLength",
    .gauge_unit = {"Acoustic@GaugeLengthUnits"},
};

static int describe_depths(struct lw_subject *subject)
{
    lw_subject_distances(subject, "/depth", "m");
    return LW_OK;
}

const struct lw_convention lw_convention_neubrex_rfs = {
    .name = "Neubrex RFS",
    .mark = {"data@DataUnitLabel", "depth", "stamps_unix"},
    .pattern = "data",
    .other = "distance",
    .times = {"/stamps_unix"},
    .unit = "data@DataUnitLabel",
    .describe = describe_depths,
};

/* ---- Silixa's iDAS: /Acoustic [time x distance] with some 80 attributes, most of them texts. As in their TDMS files, the first
 * channel lies behind the measured length. */

/* "22/09/2023 18:29:26.158 (UTC)": day first. */
static bool start_day_first(struct lw_subject *subject, const char *text)
{
    char date[64];
    unsigned day, month, year;
    int used = 0;
    if (sscanf(text, "%2u/%2u/%4u %n", &day, &month, &year, &used) != 3 || used == 0)
        return false;
    const size_t length = strcspn(text + used, " (");
    return snprintf(date, sizeof date, "%04u-%02u-%02uT%.*s", year, month, day, (int)length, text + used) < (int)sizeof date &&
           lw_subject_start(subject, date);
}

static void find_silixa_start(struct lw_subject *subject)
{
    static const char *const names[] = {"Acoustic@GPSTimeStamp", "Acoustic@ISO8601 Timestamp", "Acoustic@CPUTimeStamp"};
    char text[64];
    bool found = false;
    for (size_t n = 0; n < sizeof names / sizeof *names && !found; n++)
        found = lw_subject_text(subject, names[n], text, sizeof text) &&
                (start_day_first(subject, text) || lw_subject_start(subject, text));
}

static int describe_silixa(struct lw_subject *subject)
{
    double position, length, step, multiplier = 1;
    find_silixa_start(subject);
    lw_subject_real(subject, "Acoustic@Fibre Length Multiplier", &multiplier);
    if (!lw_subject_real(subject, "Acoustic@SpatialResolution[m]", &step))
        return LW_OK;
    const bool is_known = lw_subject_real(subject, "Acoustic@StartPosition[m]", &position) &&
                          lw_subject_real(subject, "Acoustic@MeasureLength[m]", &length);
    lw_subject_distance(subject, is_known ? position + length * multiplier : 0, step * multiplier, "m");
    return LW_OK;
}

const struct lw_convention lw_convention_silixa = {
    .name = "Silixa",
    .mark = {"Acoustic@SamplingFrequency[Hz]", "Acoustic@SpatialResolution[m]"},
    .pattern = "Acoustic",
    .is_das = true,
    .other = "distance",
    .rate = "Acoustic@SamplingFrequency[Hz]",
    .gauge = "Acoustic@GaugeLength",
    .recorder = {{"serial number", "Acoustic@SystemInfomation.Chassis.SerialNum"},          /* as Silixa spells it */
                 {"instrument", "Acoustic@SystemInfomation.OS.HostName"}},
    .describe = describe_silixa,
};

/* ---- Terra15's Treble: [time x distance] in /data_product/data, or, of version 4, in the group that the attribute data_product
 * names. The times tell the rate: the attribute dT is that of the computer, off by as much as 1 in 1000. */

static bool is_terra15_data(hid_t file, const char *path)
{
    struct lw_error broken = {0};
    char product[64] = "";
    const char *const group = path[0] == '/' ? path + 1 : path;
    const size_t length = strcspn(group, "/");
    lw_place_text(file, "@data_product", product, sizeof product, &broken);
    return (length == strlen("data_product") && strncmp(group, "data_product", length) == 0) ||
           (length == strlen(product) && strncmp(group, product, length) == 0);
}

const struct lw_convention lw_convention_terra15 = {
    .name = "Terra15",
    .mark = {"@file_version", "@data_product", "@sensing_range_start"},
    .pattern = "*/data",
    .is_das = true,
    .is_data = is_terra15_data,
    .version = "@file_version",
    .other = "distance",
    .first = "@sensing_range_start",
    .step = "@dx",
    .times = {"../gps_time", "../posix_time"},
    .times_unit = "s",
    .unit = "@data_product_units",
    .gauge = "@gauge_length",
    .recorder = {{"serial number", "@serial_number"}},
};
