/* gdr.c - distributed acoustic sensing in the Geothermal Data Repository: the DAS-RCN metadata of IRIS with the arrays of PRODML.
 * The place of the first channel is not given: distances begin at 0. */
#include "io/hdf5/conventions/convention.h"

#include "io/hdf5/attribute.h"

#include <string.h>

#define ACQUISITION "DasMetadata/Interrogator/Acquisition@"

static int find_time(const struct lw_subject *subject)
{
    char name[32];
    int time = 0;
    const hid_t data = lw_place_open_dataset(subject->file, subject->info->path);
    for (int d = 0; data >= 0 && d < subject->info->n_dims; d++)
        if (lw_attribute_read_item(data, "DasDimensions", d, subject->info->n_dims, name, sizeof name, subject->err) &&
            strncmp(name, "time", 4) == 0)
            time = d;
    if (data >= 0)
        H5Dclose(data);
    return time;
}

static int describe(struct lw_subject *subject)
{
    static const char times[] = "/DasRawData/DasTimeArray";
    double value;
    char text[64];
    lw_subject_name(subject, find_time(subject), "distance");
    if (lw_subject_real(subject, ACQUISITION "SpatialSamplingInterval", &value)) {
        lw_subject_text(subject, ACQUISITION "SpatialSamplingIntervalUnit", text, sizeof text);
        lw_subject_distance(subject, 0, value, text);
    }
    if (!lw_subject_times(subject, times, "") && lw_subject_text(subject, ACQUISITION "AcquisitionStartTime", text, sizeof text))
        lw_subject_start(subject, text);
    if (lw_subject_real(subject, ACQUISITION "AcquisitionSampleRate", &value))
        lw_subject_rate(subject, value, "attribute AcquisitionSampleRate");
    memcpy(subject->times, times, sizeof times);
    if (lw_subject_text(subject, ACQUISITION "UnitOfMeasure", text, sizeof text) && strcmp(text, "NaN") != 0)
        lw_subject_unit(subject, text);
    lw_subject_gauge(subject, ACQUISITION "GaugeLength", ACQUISITION "GaugeLengthUnit");
    lw_subject_identify(subject, "network", "DasMetadata@NetworkCode");
    lw_subject_identify(subject, "serial number", "DasMetadata/Interrogator@SerialNumber");
    return LW_OK;
}

const struct lw_convention lw_convention_gdr = {
    .name = "GDR",
    .mark = {"DasMetadata/Interrogator/Acquisition", "DasRawData/RawData"},
    .pattern = "DasRawData/RawData",
    .is_das = true,
    .describe = describe,
};
