/* labels.h - what stands beside an axis: quantities in units that fit their range. Pure. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Coordinates of an axis, and how they are shown: sample i stands at (first + i x step) x factor. */
struct lw_plot_axis {
    double first, step;
    double factor;              /* to the unit shown */
    char label[160];            /* "distance (m)" */
    char name[81], unit[61];    /* of what has one as it is: "distance", "m" */
    bool is_utc;                /* seconds since 1970, shown as time of the day */
};

static inline double lw_plot_axis_at(const struct lw_plot_axis *axis, double sample)
{
    return (axis->first + sample * axis->step) * axis->factor;
}

/** Units for a span of seconds: ns to days. @param unit  set to "ms", ... @return  the factor from seconds */
double lw_label_time_unit(double span_s, const char **unit);

/** Units for frequencies up to one: Hz to GHz. */
double lw_label_frequency_unit(double most_hz, const char **unit);

/** What strftime calls the times of the day of ticks over a span: "%H:%M:%S", "%H:%M", "%Y-%m-%d". */
const char *lw_label_utc_format(double span_s);

/** An axis of a number without unit, or of one as it is. */
void lw_label_plain(double first, double step, const char *name, const char *unit, struct lw_plot_axis *axis);

/** "1200x800". LW_EUSAGE. */
int lw_label_parse_size(const char *text, int *width, int *height, struct lw_error *err);
