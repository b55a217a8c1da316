/* conventions.h - how the makers of instruments and archives lay out HDF5 files: where the samples are, and what is known of their
 * axes. A further convention is such a table and a line in conventions.c. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"
#include "io/notes/notes.h"

#include <hdf5.h>
#include <stdbool.h>

/* ---- place.c: single values and short lists by their place in a file: "Acquisition@GaugeLength" is an attribute of an object,
 * "header/dt" a dataset. */

/* Long enough for any path and the name of an attribute. */
enum { LW_PLACE = LW_MAX_PATH + 64 };

/* Reading: false if there is nothing at that place, or something of another kind. What is there and cannot be read is noted in
 * *err, as io/hdf5/attribute.h says. */

/** @param path  as in lw_place_from */
bool lw_place_exists(hid_t file, const char *path, const char *place);

/** One finite number of any type, or a text that is a number. */
bool lw_place_real(hid_t file, const char *place, double *value, struct lw_error *err);

/** One text; false if it is empty. */
bool lw_place_text(hid_t file, const char *place, char *text, size_t size, struct lw_error *err);

/** A list of one dimension, of `most` elements at most. @return  how many; 0: none, or not all are finite numbers */
int lw_place_reals(hid_t file, const char *place, double *values, int most, struct lw_error *err);

/** Element `index` of a list of texts, of at most H5S_MAX_RANK. */
bool lw_place_item(hid_t file, const char *place, int index, char *text, size_t size, struct lw_error *err);

/** A dataset without samples, virtual or in other files is none. Close it with H5Dclose. -1: there is none. */
hid_t lw_place_open_dataset(hid_t file, const char *path);

/** A place that is told from an object on, or, without dots, from the root: of "/a/b/c" and "./@x" it is "/a/b/c@x", of "../d@x"
 * "/a/b/d@x", of "../../@x" "/a@x". Returns `whole`. */
const char *lw_place_from(const char *path, const char *place, char whole[LW_PLACE]);

/* ---- times.c: a dataset that holds the time of each sample of another one.
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

/* ---- conventions.c */

/* A dataset of samples that is being described. */
struct lw_subject {
    hid_t file;
    struct lw_dataset_info *info;       /* path, n_dims and dims are set */
    char times[LW_PLACE];               /* set by conventions that have a dataset of times to check the rate with; "": none */
    struct lw_error *err;               /* notes of what cannot be read; LW_OK at first */
};

struct lw_convention {
    const char *name;                   /* info->convention begins as that */
    const char *mark[4];                /* places that are all there in such files, and in no others */

    /* Of the data, as fnmatch takes it; * stands for one name. */
    const char *pattern;
    bool is_das;                        /* the data are those of distributed acoustic sensing */

    /** Whether a dataset of that path holds data. NULL: all do that fit the pattern. */
    bool (*is_data)(hid_t file, const char *path);

    /* The dimension that is time: the one with that name by an attribute of the data, or found by a function; -1: nothing tells.
     * NULL: the first one is, as where nothing tells. */
    const char *dimensions;
    int (*find_time)(const struct lw_subject *subject);

    /* Where values are; NULL: nowhere. Of a list the first that can be used counts. */
    const char *version;                /* a number, which follows the name */
    const char *other;                  /* not a place: name of the dimension beside time; NULL: describe names the dimensions */
    const char *first, *step, *step_unit;       /* of the other dimension; where only the step is known it begins at 0 */
    const char *distances;              /* or: the place of each channel, in metres where the dataset says nothing */
    const char *times[2], *times_unit;  /* datasets; the unit is no place, NULL: they say it */
    bool are_times_checked;             /* the first of them has to agree with the rate */
    const char *start[2];               /* ISO 8601; not taken where there are times */
    const char *rate, *interval;        /* in Hz; in s */
    const char *unit;                   /* of the samples */
    const char *gauge, *gauge_unit[2];  /* a gauge length without a unit is in metres; in others it is not taken */
    struct {
        const char *what, *place;
    } recorder[3];                      /* whose samples they are, as lw_recorder_add takes it */

    /** Say what is known of the axes beyond that. LW_EDATA: what is said cannot be. NULL: nothing. */
    int (*describe)(struct lw_subject *subject);
};

/** The path of the data: that of the file's convention; the only dataset of numbers; the only one with two dimensions or more,
 * where all others are as long as one of these. False: none is, or several are. */
bool lw_conventions_find_data(hid_t file, char path[LW_MAX_PATH]);

/** Say what the file's convention knows of the dataset, and which convention it is; nothing where the dataset is not its data.
 * LW_EDATA: what is said cannot be. What cannot be read is noted in subject->err. */
int lw_conventions_describe(struct lw_subject *subject);

/** A dataset of times in the dataset's group: of one dimension, as long as one of its own, with a name that says so; the only one,
 * or the only one that begins with the dataset's name. It names the axis where nothing else does. False: there is none. */
bool lw_conventions_find_times(struct lw_subject *subject, struct lw_times *times);

/** Whether a dataset of that name holds times: "t", "timestamp", "RawDataTime". */
bool lw_conventions_name_times(const char *name);

/** lw_format.find_quality of an open file of the Gravitational Wave Open Science Center (gwosc.c): DQmask, whose bits DQShortnames
 * names, and Injmask with InjShortnames. @param name  of the file */
int lw_gwosc_find_quality(hid_t file, const char *name, const char *tests, struct lw_qualities *out, struct lw_error *err);

/** Of any file (packing.c): set info->packing by scale_factor, add_offset, _FillValue, missing_value, valid_range, valid_min,
 * valid_max and _Unsigned, which stand before what a convention has set already. Off, if the hints say as stored, or every number
 * is its own value. LW_EDATA: an attribute is not what the CF conventions say. @param info  with its type */
int lw_hdf5_packing_find(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err);

/* ---- for describe and find_time: a place as in lw_place_from ---- */

bool lw_subject_real(const struct lw_subject *subject, const char *place, double *value);
bool lw_subject_text(const struct lw_subject *subject, const char *place, char *text, size_t size);

/** Dimension `time` is the axis; the other one of two is named so: "distance", "channel". */
void lw_subject_name(struct lw_subject *subject, int time, const char *other);

/** The dimension that is named "time" among names such as "time,locus". -1: none is. */
int lw_subject_find_time(const char *names);

/** The same of an attribute of the data that is such a text, or a list of names, one for each dimension. */
int lw_subject_find_time_by(const struct lw_subject *subject, const char *attribute);

/** Of the dimension beside the axis: regular if the step is not 0; distances without a unit are in m, and "meters" is m, too. */
void lw_subject_distance(struct lw_subject *subject, double first, double step, const char *unit);

/** The same from a dataset with the place of each channel. False: there is none. @param unit  where the dataset says nothing */
bool lw_subject_distances(struct lw_subject *subject, const char *place, const char *unit);

void lw_subject_rate(struct lw_subject *subject, double hertz, const char *source);
void lw_subject_period(struct lw_subject *subject, struct lw_period period, const char *source);
bool lw_subject_start(struct lw_subject *subject, const char *text);        /* ISO 8601; false: it is none */
void lw_subject_start_at(struct lw_subject *subject, struct lw_instant utc);
/** A coordinate is in `unit`; each name of the metre is "m". */
void lw_coordinate_name_unit(struct lw_coordinate *coordinate, const char *unit);

void lw_subject_unit(struct lw_subject *subject, const char *unit);

/** Start and rate from a dataset of times. False: there is none that can be used. */
bool lw_subject_times(struct lw_subject *subject, const char *place, const char *unit);
