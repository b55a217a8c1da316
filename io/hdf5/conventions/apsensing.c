/* apsensing.c - files of AP Sensing: /DAS [time x distance] beside groups whose values are datasets. The distance of a channel is
 * that of the beginning of its gauge. */
#include "io/hdf5/conventions/convention.h"

#include <string.h>

static void find_distance(struct lw_subject *subject)
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
static void find_start(struct lw_subject *subject)
{
    char text[64], zone[16] = "UTC";
    if (!lw_subject_text(subject, "Metadata/Timestamp", text, sizeof text))
        return;
    lw_subject_text(subject, "Metadata/Timezone", zone, sizeof zone);
    const bool is_utc = text[strlen(text) - 1] == 'Z' || strcmp(zone, "UTC") == 0 || strcmp(zone, "UTC+0") == 0 ||
                        strcmp(zone, "UTC+00:00") == 0;
    if (is_utc)
        lw_subject_start(subject, text);
}

static int describe(struct lw_subject *subject)
{
    double rate;
    lw_subject_name(subject, 0, "distance");
    find_distance(subject);
    find_start(subject);
    if (lw_subject_real(subject, "ProcessingServer/DataRate", &rate))
        lw_subject_rate(subject, rate, "ProcessingServer/DataRate");
    lw_subject_gauge(subject, "ProcessingServer/GaugeLength", "ProcessingServer/GaugeLength@Unit");
    return LW_OK;
}

const struct lw_convention lw_convention_apsensing = {
    .name = "AP Sensing",
    .mark = {"DAS", "ProcessingServer/DataRate", "Metadata/Timestamp"},
    .pattern = "DAS",
    .is_das = true,
    .describe = describe,
};
