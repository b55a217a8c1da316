/* conventions.h - the HDF5 layouts of instrument makers and archives: where the samples are, and what the file tells about their
 * axes. To add a convention, write a table of this kind and add a line to conventions.c.
 *
 *     das.c, gwosc.c, ...       one table each: marks of the convention, places of its values
 *     conventions.c, place.c    find the convention of a file, and read from those places
 *     subject.c                 put the values into lw_dataset_info
 *     times.c, packing.c        datasets of times; packed samples, whatever the convention */
#pragma once

#include "base/error.h"
#include "io/dataset.h"
#include "io/notes/notes.h"

#include <hdf5.h>
#include <stdbool.h>

/* ---- place.c: single values and short lists by their place: "Acquisition@GaugeLength" is an attribute, "header/dt" a dataset. */

/* room for any path with the name of an attribute */
enum { LW_PLACE = LW_MAX_PATH + 64 };

/* The readers return false if the place is empty or holds another kind. Unreadable values are noted as in io/hdf5/attribute.h. */

/** Return whether an object or attribute is there. @param path  as in lw_place_from */
bool lw_place_exists(hid_t file, const char *path, const char *place);

/** Read one finite number of any type, or a text that is a number. */
bool lw_place_real(hid_t file, const char *place, double *value, struct lw_error *err);

/** Read one text; returns false if it is empty. */
bool lw_place_text(hid_t file, const char *place, char *text, size_t size, struct lw_error *err);

/** Read a one-dimensional list of at most `most` numbers. @return  their number; 0: none, or one is not finite */
int lw_place_reals(hid_t file, const char *place, double *values, int most, struct lw_error *err);

/** Read element `index` of a list of at most H5S_MAX_RANK texts. */
bool lw_place_item(hid_t file, const char *place, int index, char *text, size_t size, struct lw_error *err);

/** Open a dataset, to be closed with H5Dclose. -1: it is missing, incomplete, virtual or stored in other files. */
hid_t lw_place_open_dataset(hid_t file, const char *path);

/** Make a path from a place, which is relative to an object if it begins with dots, else to the root. For the object "/a/b/c",
 * "./@x" becomes "/a/b/c@x", "../d@x" becomes "/a/b/d@x", and "../../@x" becomes "/a@x". Returns `whole`. */
const char *lw_place_from(const char *path, const char *place, char whole[LW_PLACE]);

/* ---- times.c: a dataset that holds the time of each sample of another dataset, in one of three forms:
 *
 *     whole numbers      days, ..., seconds, ..., nanoseconds: the times and their step are exact
 *     dates as floats    seconds since 1970 as float64 are 0.2 us apart. Each means the nearest nanosecond in double precision, as
 *                        in DASCore and numpy. The step is a whole number of nanoseconds, if one leads from the first time to
 *                        the last within that resolution
 *     short times        floats, seconds since the first sample
 *
 * A rate that is a whole number of hertz within the accuracy becomes exactly that number. Without a unit, numbers as large as the
 * seconds, milliseconds, microseconds or nanoseconds since 1970 are taken as these, and other floats as seconds. */

struct lw_times {
    char path[LW_MAX_PATH];
    int64_t n;
    bool has_date;              /* `first` is UTC; false: `start` is in `unit` */
    struct lw_instant first;
    double start;               /* first time, as stored */
    char unit[64];
    struct lw_period period;    /* numerator 0: there is only one time, or the times are not regular */
    double rate_accuracy;       /* relative accuracy of the period */
    double span_s;              /* seconds from the first time to the last */
    int64_t span_ns;            /* the same in ns, exact; 0: short times */
    double rounding_s;          /* largest distance of a time from a regular axis, plus the resolution of its type */
};

/** Read a dataset of times. Returns false if it is no one-dimensional dataset of numbers, has no unit of time, or does not
 * increase.
 * @param unit  "us", "ms since 2023-01-01"; "": from the dataset's attributes or its numbers */
bool lw_times_read(hid_t file, const char *path, const char *unit, struct lw_times *out, struct lw_error *err);

/** lw_times_take_start lets the axis begin at the first of the times; lw_times_take_rate gives it the step between them. */
void lw_times_take_start(const struct lw_times *times, struct lw_axis_metadata *axis);
void lw_times_take_rate(const struct lw_times *times, struct lw_axis_metadata *axis);

/** Compare the rates of the axis and the times. LW_EDATA: they differ by more than rounding explains; the message names both. */
int lw_times_check(const struct lw_times *times, const struct lw_axis_metadata *axis, struct lw_error *err);

/** Convert float seconds since 1970 to an instant, to the nearest nanosecond as above. */
bool lw_times_from_seconds(double seconds, struct lw_instant *out);

/** Convert a step in float seconds to whole nanoseconds, if the step is at least 1 us. */
bool lw_times_step(double seconds, struct lw_period *out);

/* ---- conventions.c */

/* A dataset of samples while it is described. */
struct lw_subject {
    hid_t file;
    struct lw_dataset_info *info;       /* path, n_dims and dims are set */
    char times[LW_PLACE];               /* dataset of times to check the rate with, set by its convention; "": none */
    struct lw_error *err;               /* notes of unreadable metadata; LW_OK at first */
};

struct lw_convention {
    const char *name;                   /* beginning of info->convention */
    const char *mark[4];                /* places that all exist in files of this convention, and in no others */

    /* Paths of the data as fnmatch takes them; * stands for one name. */
    const char *pattern;
    bool is_das;                        /* the data are from distributed acoustic sensing */

    /** Return whether the dataset at `path` holds data. NULL: all that fit the pattern do. */
    bool (*is_data)(hid_t file, const char *path);

    /* The dimension that is time, from an attribute of the data or a function (-1: unknown); otherwise the first dimension. */
    const char *dimensions;
    int (*find_time)(const struct lw_subject *subject);

    /* Places of values; NULL: the files have none. The first usable entry of a list counts. */
    const char *version;                /* a number, appended to the name */
    const char *other;                  /* no place, but the name of the dimension beside time; NULL: describe names it */
    const char *first, *step, *step_unit;       /* along the dimension beside time; without `first` it begins at 0 */
    const char *distances;              /* or a dataset with each channel's position, in metres if it has no unit */
    const char *times[2], *times_unit;  /* datasets of times; their unit (no place); NULL: the datasets have a unit */
    bool are_times_checked;             /* the first of `times` must match the rate */
    const char *start[2];               /* ISO 8601 texts; not used if there are times */
    const char *rate, *interval;        /* Hz; s */
    const char *unit;                   /* unit of the samples */
    const char *gauge, *gauge_unit[2];  /* gauge length: without a unit in metres, in other units ignored */
    struct {
        const char *what, *place;
    } recorder[3];                      /* what recorded the samples, fields for lw_recorder_add */

    /** Add what the places above cannot express. LW_EDATA: the metadata contradict each other. NULL: nothing to add. */
    int (*describe)(struct lw_subject *subject);
};

/** Find the path of the data: by the file's convention; else the only dataset of numbers; else the only one of two dimensions or
 * more, if each other dataset is as long as one of its dimensions. Returns false if there is none, or several. */
bool lw_conventions_find_data(hid_t file, char path[LW_MAX_PATH]);

/** Describe the dataset by the file's convention, and name the convention. Does nothing if the dataset is not the convention's
 * data. LW_EDATA: the metadata contradict each other. Unreadable metadata are noted in subject->err. */
int lw_conventions_describe(struct lw_subject *subject);

/** Find a dataset of times in the dataset's group: one-dimensional, as long as one of the dataset's dimensions, with a name of
 * times; the only one, or the only one whose name begins with the dataset's. Sets an unknown axis. Returns false if there is
 * none. */
bool lw_conventions_find_times(struct lw_subject *subject, struct lw_times *times);

/** Return whether a dataset of that name holds times: "t", "timestamp", "RawDataTime". */
bool lw_conventions_name_times(const char *name);

/** Implement lw_library.find_quality for a file of the Gravitational Wave Open Science Center (gwosc.c): DQmask, with bits named
 * in DQShortnames, and Injmask with InjShortnames. @param name  name of the file */
int lw_gwosc_find_quality(hid_t file, const char *name, const char *tests, struct lw_qualities *out, struct lw_error *err);

/** Set info->packing from scale_factor, add_offset, _FillValue, missing_value, valid_range, valid_min, valid_max and _Unsigned
 * (packing.c). They overrule what a convention has set. Packing is off if the hints ask for stored numbers, or if each number is
 * its own value. LW_EDATA: an attribute breaks the CF conventions. @param info  its type is set */
int lw_hdf5_packing_find(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err);

/* ---- helpers for describe and find_time; each `place` is as in lw_place_from ---- */

bool lw_subject_real(const struct lw_subject *subject, const char *place, double *value);
bool lw_subject_text(const struct lw_subject *subject, const char *place, char *text, size_t size);

/** Make dimension `time` the axis, and name the other one of two `other`: "distance", "channel". */
void lw_subject_name(struct lw_subject *subject, int time, const char *other);

/** Return the number of the dimension named "time" in a text such as "time,locus", or -1. */
int lw_subject_find_time(const char *names);

/** Find the same in an attribute of the data, which is such a text, or a list of one name for each dimension. */
int lw_subject_find_time_by(const struct lw_subject *subject, const char *attribute);

/** Set the positions along the dimension beside the axis; regular unless the step is 0. Distances without a unit are in m. */
void lw_subject_distance(struct lw_subject *subject, double first, double step, const char *unit);

/** Set these positions from a dataset with the position of each channel. Returns false if there is none.
 * @param unit  used if the dataset has no unit */
bool lw_subject_distances(struct lw_subject *subject, const char *place, const char *unit);

void lw_subject_rate(struct lw_subject *subject, double hertz, const char *source);
void lw_subject_period(struct lw_subject *subject, struct lw_period period, const char *source);
bool lw_subject_start(struct lw_subject *subject, const char *text);        /* ISO 8601; false: another text */
void lw_subject_start_at(struct lw_subject *subject, struct lw_instant utc);
/** Set the unit of a coordinate; each name of the metre becomes "m". */
void lw_coordinate_name_unit(struct lw_coordinate *coordinate, const char *unit);

void lw_subject_unit(struct lw_subject *subject, const char *unit);

/** Set start and rate from a dataset of times. Returns false if it cannot be used. */
bool lw_subject_times(struct lw_subject *subject, const char *place, const char *unit);
