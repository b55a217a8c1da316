/* times.h - a dataset that holds the time of each sample of another one.
 *
 *     whole numbers      of days, ..., seconds, ..., nanoseconds: times are exact, and so is their step
 *     dates in binary    seconds since 1970 as float64 are 0.2 us apart: each is the nanosecond nearest to it in double precision,
 *                        as DASCore and numpy have it. The step is a whole number of nanoseconds, where one leads from the first
 *                        time to the last within that
 *     short times        seconds since the first sample in binary
 *
 * A rate that may well be a whole number of hertz is that number.
 *
 * Without a unit, numbers as large as the seconds, milliseconds, microseconds or nanoseconds since 1970 are these; other binary
 * ones are seconds. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <hdf5.h>
#include <stdbool.h>

struct lw_times {
    char path[LW_MAX_PATH];
    int64_t n;
    bool has_date;              /* `first` is UTC; else `start` is in `unit` */
    struct lw_instant first;
    double start;               /* as it is stored */
    char unit[64];
    struct lw_period period;    /* numerator 0: one time alone, or they are not regular */
    double rate_accuracy;       /* relative, of the period */
    double span_s;              /* from the first to the last */
    int64_t span_ns;            /* the same, exactly; 0: short times */
    double rounding_s;          /* how far they are from a regular axis, and from what was meant */
};

/** False: no dataset of numbers with one dimension, no unit of time, or times that do not increase.
 * @param unit  "us", "ms since 2023-01-01"; "": what the dataset's attributes say, or its numbers */
bool lw_times_read(hid_t file, const char *path, const char *unit, struct lw_times *out, struct lw_error *err);

/** Let the axis begin at the first of the times, and its samples be as far apart as they are. */
void lw_times_take_start(const struct lw_times *times, struct lw_axis_metadata *axis);
void lw_times_take_rate(const struct lw_times *times, struct lw_axis_metadata *axis);

/** LW_EDATA: the axis' rate is not that of the times, by more than rounding explains. Names both. */
int lw_times_check(const struct lw_times *times, const struct lw_axis_metadata *axis, struct lw_error *err);

/** Seconds since 1970 in binary, to the nanosecond as above. */
bool lw_times_from_seconds(double seconds, struct lw_instant *out);

/** Seconds in binary as a step of whole nanoseconds, if the step is as long. */
bool lw_times_step(double seconds, struct lw_period *out);
