/* das.c - makers of instruments for distributed acoustic sensing (DAS). Each convention is a table with at most a few functions. */
#include "io/hdf5/conventions/conventions.h"

#include "io/hdf5/library.h"
#include "io/hdf5/scale.h"

#include <stdio.h>

/* ---- AP Sensing: /DAS [time x distance], and groups whose values are datasets. A channel's position is where its gauge begins. */

/* Set distances and start. A start is taken only if its time zone is UTC. */
static int describe_ap(struct lw_subject *subject)
{
    double first, last, step;
    char text[64], zone[16] = "UTC", unit[32] = "";
    if (lw_subject_real(subject, "DAQ/PositionStart", &first) && subject->info->n_dims == 2) {
        lw_subject_text(subject, "DAQ/PositionStart@Unit", unit, sizeof unit);
        if (lw_subject_real(subject, "ProcessingServer/SpatialSampling", &step))
            lw_subject_distance(subject, first, step, unit);
        else if (lw_subject_real(subject, "DAQ/PositionEnd", &last))
            lw_subject_distance(subject, first, (last - first) / (double)subject->info->dims[1], unit);
    }
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
    .pattern = "DAS", .is_das = true,
    .other = "distance",
    .rate = "ProcessingServer/DataRate",
    .gauge = "ProcessingServer/GaugeLength", .gauge_unit = {"ProcessingServer/GaugeLength@Unit"},
    .describe = describe_ap,
};

/* ---- Geothermal Data Repository: IRIS' DAS-RCN metadata with PRODML's arrays. No position of channel 0 is given: 0 is assumed. */

#define ACQUISITION "DasMetadata/Interrogator/Acquisition@"

const struct lw_convention lw_convention_gdr = {
    .name = "GDR",
    .mark = {"DasMetadata/Interrogator/Acquisition", "DasRawData/RawData"},
    .pattern = "DasRawData/RawData", .is_das = true,
    .dimensions = "DasDimensions", .other = "distance", .step = ACQUISITION "SpatialSamplingInterval",
    .step_unit = ACQUISITION "SpatialSamplingIntervalUnit",
    .times = {"/DasRawData/DasTimeArray"}, .are_times_checked = true, .start = {ACQUISITION "AcquisitionStartTime"},
    .rate = ACQUISITION "AcquisitionSampleRate",
    .unit = ACQUISITION "UnitOfMeasure", .gauge = ACQUISITION "GaugeLength",
    .gauge_unit = {ACQUISITION "GaugeLengthUnit"},
    .recorder = {{"network", "DasMetadata@NetworkCode"}, {"serial number", "DasMetadata/Interrogator@SerialNumber"}},
};

/* ---- Neubrex: acoustic data in /Acoustic; shifts of the Rayleigh spectrum in /data, with /depth and /stamps_unix. */

const struct lw_convention lw_convention_neubrex = {
    .name = "Neubrex",
    .mark = {"Acoustic@NEUBRESCOPE.DAS.Model", "Acoustic@SpatialSamplingInterval"},
    .pattern = "Acoustic", .is_das = true,
    .other = "distance", .first = "Acoustic@StartPosition", .step = "Acoustic@SpatialSamplingInterval",
    .step_unit = "Acoustic@StartStopPositionUnit",
    .start = {"Acoustic@GPSTimeStamp(UTC)", "Acoustic@CPUTimeStamp(UTC)"},
    .interval = "Acoustic@TimeSamplingInterval(seconds)",
    .unit = "Acoustic@DataPhysicalUnit", .gauge = "Acoustic@GaugeLength", .gauge_unit = {"Acoustic@GaugeLengthUnits"},
};

const struct lw_convention lw_convention_neubrex_rfs = {
    .name = "Neubrex RFS",
    .mark = {"data@DataUnitLabel", "depth", "stamps_unix"},
    .pattern = "data",
    .other = "distance",
    .times = {"/stamps_unix"},
    .unit = "data@DataUnitLabel",
    .distances = "/depth",
};

/* ---- Silixa's iDAS: /Acoustic [time x distance] with some 80 attributes, mostly texts. As in Silixa's TDMS files, the first
 * channel lies at the start position plus the measured length. */

/* Read a start such as "22/09/2023 18:29:26.158 (UTC)", the day first. */
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

static int describe_silixa(struct lw_subject *subject)
{
    static const char *const starts[] = {"Acoustic@GPSTimeStamp", "Acoustic@ISO8601 Timestamp", "Acoustic@CPUTimeStamp"};
    double position, length, step, multiplier = 1;
    char text[64];
    bool found = false;
    for (size_t s = 0; s < sizeof starts / sizeof *starts && !found; s++)
        found = lw_subject_text(subject, starts[s], text, sizeof text) &&
                (start_day_first(subject, text) || lw_subject_start(subject, text));
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
    .recorder = {{"serial number", "Acoustic@SystemInfomation.Chassis.SerialNum"},          /* Silixa's spelling */
                 {"instrument", "Acoustic@SystemInfomation.OS.HostName"}},
    .describe = describe_silixa,
};

/* ---- Terra15's Treble: [time x distance] in /data_product/data, or, in version 4, in the group named by the attribute
 * data_product. The rate comes from the times, because the attribute dT follows the computer's clock, off by up to 1 in 1000. */

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
    .pattern = "*/data", .is_das = true, .is_data = is_terra15_data, .version = "@file_version",
    .other = "distance", .first = "@sensing_range_start", .step = "@dx",
    .times = {"../gps_time", "../posix_time"}, .times_unit = "s",
    .unit = "@data_product_units", .gauge = "@gauge_length",
    .recorder = {{"serial number", "@serial_number"}},
};

/* ---- Alcatel Submarine Networks' OptoDAS: /data, and /header, whose values are datasets. Samples must be multiplied by
 * header/dataScale. If they are read as stored, this factor stands before the unit. */

static int find_optodas_time(const struct lw_subject *subject)
{
    char name[32];
    for (int d = 0; d < subject->info->n_dims; d++)
        if (lw_place_item(subject->file, "header/dimensionNames", d, name, sizeof name, subject->err) && strcmp(name, "time") == 0)
            return d;
    return 0;
}

/* Set distances: a channel's number times dx. They are not regular if regions of the fibre were thinned out differently. */
static void find_optodas_distance(struct lw_subject *subject, int time)
{
    double unit_m;
    char place[64];
    struct lw_scale channels;
    snprintf(place, sizeof place, "header/dimensionRanges/dimension%d/unitScale", 1 - time);
    if (!lw_subject_real(subject, place, &unit_m) && !lw_subject_real(subject, "header/dx", &unit_m))
        return;
    LW_CLOSED const hid_t dataset = lw_place_open_dataset(subject->file, "header/channels");
    const bool is_regular = dataset >= 0 && lw_scale_read_dataset(dataset, &channels, subject->err);
    lw_subject_distance(subject, is_regular ? channels.first * unit_m : 0, is_regular ? channels.step * unit_m : 0, "m");
}

static void find_optodas_start(struct lw_subject *subject, int time)
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

static int describe_optodas(struct lw_subject *subject)
{
    double scale;
    char unit[40] = "", scaled[64];
    const int time = find_optodas_time(subject);
    find_optodas_distance(subject, time);
    find_optodas_start(subject, time);
    const bool is_scaled = lw_subject_real(subject, "header/dataScale", &scale) && scale != 0 && scale != 1;
    const bool has_unit = lw_subject_text(subject, "header/unit", unit, sizeof unit);
    if (is_scaled)
        subject->info->packing.scale = scale;
    snprintf(scaled, sizeof scaled, "%.9g %s", is_scaled ? scale : 1, unit);
    if (has_unit)
        lw_subject_unit(subject, is_scaled && subject->info->hints.as_stored ? scaled : unit);
    return LW_OK;
}

const struct lw_convention lw_convention_optodas = {
    .name = "OptoDAS",
    .mark = {"header/dt", "header/time", "header/channels", "data"},
    .pattern = "data", .is_das = true, .find_time = find_optodas_time, .version = "fileVersion",
    .other = "distance",
    .interval = "header/dt",
    .gauge = "header/gaugeLength",
    .recorder = {{"instrument", "header/instrument"}, {"serial number", "versions/Instr/serial"}},
    .describe = describe_optodas,
};

/* ---- PRODML 2.0 and 2.1 (Energistics, "HDF5 Structure and Naming Conventions"), by OptaSense, Sintela, Fosina and others:
 *
 *     /Acquisition               @SpatialSamplingInterval, @StartLocusIndex, @NumberOfLoci, @PulseRate, @schemaVersion
 *     /Acquisition/Raw[k]        @OutputDataRate, @RawDataUnit
 *     .../RawData                [time x locus] or [locus x time], @Dimensions, @PartStartTime
 *     .../RawDataTime            us since 1970 */

/* Find the time dimension. Some files name "time, locus" in any case, so if one dimension has NumberOfLoci, the other is time. */
static int find_prodml_time(const struct lw_subject *subject)
{
    const int64_t *const dims = subject->info->dims;
    const int said = lw_subject_find_time_by(subject, "Dimensions");
    const int time = said >= 0 && said < subject->info->n_dims ? said : 0;
    double n_loci;
    if (subject->info->n_dims != 2)
        return time;
    const bool is_known = lw_subject_real(subject, "../@NumberOfLoci", &n_loci) ||
                          lw_subject_real(subject, "Acquisition@NumberOfLoci", &n_loci);
    return is_known && n_loci != (double)dims[1 - time] && n_loci == (double)dims[time] ? 1 - time : time;
}

static void find_prodml_start(struct lw_subject *subject)
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

/* Set rate, start and distances. Without OutputDataRate, the times give the rate; without times, PulseRate does. */
static int describe_prodml(struct lw_subject *subject)
{
    double rate, step, locus = 0;
    char version[64], unit[32] = "";
    lw_place_from(subject->info->path, "../RawDataTime", subject->times);
    if (lw_subject_text(subject, "Acquisition@schemaVersion", version, sizeof version))
        snprintf(subject->info->convention, sizeof subject->info->convention, "PRODML %.8s", version);
    if (lw_subject_real(subject, "Acquisition@SpatialSamplingInterval", &step)) {
        if (!lw_subject_real(subject, "Acquisition@StartLocusIndex", &locus))
            lw_subject_real(subject, "../@StartLocusIndex", &locus);
        if (!lw_subject_text(subject, "Acquisition@SpatialSamplingInterval.uom", unit, sizeof unit))
            lw_subject_text(subject, "Acquisition@SpatialSamplingIntervalUnit", unit, sizeof unit);
        lw_subject_distance(subject, locus * step, step, unit);
    }
    find_prodml_start(subject);
    if (lw_subject_real(subject, "../@OutputDataRate", &rate))
        lw_subject_rate(subject, rate, "attribute OutputDataRate");
    else if (!lw_place_exists(subject->file, "", subject->times) && lw_subject_real(subject, "Acquisition@PulseRate", &rate))
        lw_subject_rate(subject, rate, "attribute PulseRate");
    return LW_OK;
}

const struct lw_convention lw_convention_prodml = {
    .name = "PRODML",
    .mark = {"Acquisition@SpatialSamplingInterval"},
    .pattern = "Acquisition/Raw*/RawData", .is_das = true, .find_time = find_prodml_time,
    .other = "distance",
    .unit = "../@RawDataUnit", .gauge = "Acquisition@GaugeLength",
    .gauge_unit = {"Acquisition@GaugeLength.uom", "Acquisition@GaugeLengthUnit"},
    .recorder = {{"facility", "Acquisition@FacilityId"},
                 {"serial number", "Acquisition/Custom/SystemInformation/Chassis@SerialNum"}},
    .describe = describe_prodml,
};
