/* neubrex.c - files of Neubrex: acoustic ones, /Acoustic with attributes, and those of the shift of the Rayleigh spectrum, /data
 * beside /depth and /stamps_unix. */
#include "io/hdf5/conventions/convention.h"

static void find_start(struct lw_subject *subject)
{
    char text[64];
    if (!lw_subject_text(subject, "Acoustic@GPSTimeStamp(UTC)", text, sizeof text) || !lw_subject_start(subject, text))
        if (lw_subject_text(subject, "Acoustic@CPUTimeStamp(UTC)", text, sizeof text))
            lw_subject_start(subject, text);
}

static int describe_acoustic(struct lw_subject *subject)
{
    double step, first = 0;
    struct lw_period period;
    char unit[64] = "";
    lw_subject_name(subject, 0, "distance");
    lw_subject_text(subject, "Acoustic@StartStopPositionUnit", unit, sizeof unit);
    lw_subject_real(subject, "Acoustic@StartPosition", &first);
    if (lw_subject_real(subject, "Acoustic@SpatialSamplingInterval", &step))
        lw_subject_distance(subject, first, step, unit);
    find_start(subject);
    if (lw_subject_real(subject, "Acoustic@TimeSamplingInterval(seconds)", &step) && lw_times_step(step, &period))
        lw_subject_period(subject, period, "attribute TimeSamplingInterval(seconds)");
    if (lw_subject_text(subject, "Acoustic@DataPhysicalUnit", unit, sizeof unit))
        lw_subject_unit(subject, unit);
    lw_subject_gauge(subject, "Acoustic@GaugeLength", "Acoustic@GaugeLengthUnits");
    return LW_OK;
}

static int describe_shift(struct lw_subject *subject)
{
    char unit[64];
    lw_subject_name(subject, 0, "distance");
    lw_subject_distances(subject, "/depth", "m");
    lw_subject_times(subject, "/stamps_unix", "");
    if (lw_subject_text(subject, "data@DataUnitLabel", unit, sizeof unit))
        lw_subject_unit(subject, unit);
    return LW_OK;
}

const struct lw_convention lw_convention_neubrex = {
    .name = "Neubrex",
    .mark = {"Acoustic@NEUBRESCOPE.DAS.Model", "Acoustic@SpatialSamplingInterval"},
    .pattern = "Acoustic",
    .is_das = true,
    .describe = describe_acoustic,
};

const struct lw_convention lw_convention_neubrex_rfs = {
    .name = "Neubrex RFS",
    .mark = {"data@DataUnitLabel", "depth", "stamps_unix"},
    .pattern = "data",
    .describe = describe_shift,
};
