/* silixa.c - files of Silixa's iDAS: /Acoustic [time x distance] with some 80 attributes, most of them texts. As in their TDMS
 * files, the first channel lies behind the measured length. */
#include "io/hdf5/conventions/convention.h"

#include <stdio.h>
#include <string.h>

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

static void find_start(struct lw_subject *subject)
{
    static const char *const names[] = {"Acoustic@GPSTimeStamp", "Acoustic@ISO8601 Timestamp", "Acoustic@CPUTimeStamp"};
    char text[64];
    bool found = false;
    for (size_t n = 0; n < sizeof names / sizeof *names && !found; n++)
        found = lw_subject_text(subject, names[n], text, sizeof text) &&
                (start_day_first(subject, text) || lw_subject_start(subject, text));
}

static void find_distance(struct lw_subject *subject)
{
    double position, length, step, multiplier = 1;
    lw_subject_real(subject, "Acoustic@Fibre Length Multiplier", &multiplier);
    if (!lw_subject_real(subject, "Acoustic@SpatialResolution[m]", &step))
        return;
    if (lw_subject_real(subject, "Acoustic@StartPosition[m]", &position) &&
        lw_subject_real(subject, "Acoustic@MeasureLength[m]", &length))
        lw_subject_distance(subject, position + length * multiplier, step * multiplier, "m");
    else
        lw_subject_distance(subject, 0, step * multiplier, "m");
}

static int describe(struct lw_subject *subject)
{
    double rate;
    lw_subject_name(subject, 0, "distance");
    find_distance(subject);
    find_start(subject);
    if (lw_subject_real(subject, "Acoustic@SamplingFrequency[Hz]", &rate))
        lw_subject_rate(subject, rate, "attribute SamplingFrequency[Hz]");
    lw_subject_gauge(subject, "Acoustic@GaugeLength", NULL);
    lw_subject_identify(subject, "serial number", "Acoustic@SystemInfomation.Chassis.SerialNum");     /* as Silixa spells it */
    lw_subject_identify(subject, "instrument", "Acoustic@SystemInfomation.OS.HostName");
    return LW_OK;
}

const struct lw_convention lw_convention_silixa = {
    .name = "Silixa",
    .mark = {"Acoustic@SamplingFrequency[Hz]", "Acoustic@SpatialResolution[m]"},
    .pattern = "Acoustic",
    .is_das = true,
    .describe = describe,
};
