/* conventions.h - the HDF5 layouts of instrument makers and archives: where the data (samples) and the metadata are. To add
 * a convention, write a struct lw_convention and add a line to conventions.c.
 *
 *     das.c, gwosc.c, ...       one or more conventions each: marks in the file, places of values
 *     conventions.c, place.c    find the convention of a file, and read the values at these places
 *     subject.c                 put the values into lw_dataset_info
 *     times.c, packing.c        datasets of times; packed samples, in any file */
#pragma once

#include "io/notes/notes.h"

#include <hdf5.h>

/* ---- place.c: single values and short lists by their place: "Acquisition@GaugeLength" is an attribute, "header/dt" a dataset. */

enum { LW_PLACE = LW_MAX_PATH + 64 };       /* most bytes of a place */

/* The readers return false if the place has no value or one of another kind. They note unreadable values as in attribute.h. */

/** Return whether an object or attribute is there. @param path  as in lw_place_from */
bool lw_place_exists(hid_t file, const char *path, const char *place);

/** Read one finite number of any type, or a text that is a number. */
bool lw_place_real(hid_t file, const char *place, double *value, struct lw_error *err);

/** Read one text; returns false if it is empty. */
bool lw_place_text(hid_t file, const char *place, char *text, size_t size, struct lw_error *err);

/** Read a one-dimensional list of at most `most` numbers. @return  the length of the list; 0: none, or a number is not finite */
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
 *     dates as floats    seconds since 1970 as float64 are 0.2 us apart. A time means the nearest nanosecond in double precision,
 *                        as in DASCore and numpy. The step is a whole number of nanoseconds, if such a step leads from the
 *                        first time to the last within 0.2 us
 *     short times        floats, seconds since the first sample
 *
 * A rate that is a whole number of hertz within the accuracy becomes exactly this number. Numbers without a unit that are as large
 * as s, ms, us or ns since 1970 are taken as these, and other floats as seconds. */

struct lw_times {
    char path[LW_MAX_PATH];
    int64_t n;
    bool has_date;              /* `first` is known; false: only `start`, in `unit` */
    struct lw_instant first;    /* first time, UTC */
    double start;               /* first time, as stored */
    char unit[64];
    struct lw_period period;    /* numerator 0: there is only one time, or the times are not regular */
    double rate_accuracy;       /* relative accuracy of the period */
    double span_s;              /* seconds from the first time to the last */
    int64_t span_ns;            /* span in ns, exact; 0: short times */
    double rounding_s;          /* largest distance of a time from a regular axis, plus the resolution of the stored type */
};

/** Read a dataset of times. Returns false if it is no one-dimensional dataset of numbers, has no unit of time, or does not
 * increase. @param unit  "us", "ms since 2023-01-01"; "": found from the dataset's attributes or its numbers */
bool lw_times_read(hid_t file, const char *path, const char *unit, struct lw_times *out, struct lw_error *err);

/** lw_times_take_start sets the start of the axis to the first time; lw_times_take_rate sets its rate from the times' step. */
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
    char times[LW_PLACE];               /* dataset of times that must match the rate, set by the convention; "": none */
    struct lw_error *err;               /* note of the first unreadable metadata; LW_OK at first */
};

struct lw_convention {
    const char *name;                   /* beginning of info->convention */
    const char *mark[4];                /* places that together exist only in files of this convention */

    /* Pattern for paths of the data, as for fnmatch; * stands for one name. */
    const char *pattern;
    bool is_das;                        /* the data are from distributed acoustic sensing */

    /** Return whether the dataset at `path` holds data. NULL: every dataset that fits the pattern does. */
    bool (*is_data)(hid_t file, const char *path);

    /* The time dimension, from an attribute of the data or a function (-1: unknown). NULL, NULL: the first dimension. */
    const char *dimensions;
    int (*find_time)(const struct lw_subject *subject);

    /* Places of values; NULL: the files have none. The first usable entry of a list counts. */
    const char *version;                /* a number, appended to the name */
    const char *other;                  /* name (not a place) of the dimension beside time; NULL: describe names it */
    const char *first, *step, *step_unit;       /* positions along the dimension beside time; `first` NULL: 0 */
    const char *distances;              /* alternatively, a dataset of all positions, in metres if it has no unit */
    const char *times[2], *times_unit;  /* datasets of times; their unit (not a place), NULL: the datasets have a unit */
    bool are_times_checked;             /* the first of `times` must match the rate */
    const char *start[2];               /* ISO 8601 texts, used if there are no times */
    const char *rate, *interval;        /* Hz; s */
    const char *unit;                   /* unit of the samples */
    const char *gauge, *gauge_unit[2];  /* gauge length, m if it has no unit; ignored in other units than m */
    struct {
        const char *what, *place;
    } recorder[3];                      /* fields of the recorder, for lw_recorder_add */

    /** Add what the places above cannot express. LW_EDATA: the metadata contradict each other. NULL: nothing to add. */
    int (*describe)(struct lw_subject *subject);
};

/** Find the path of the data: by the file's convention; else the only dataset of numbers; else the only dataset with two dimensions
 * or more, if each other dataset is as long as one of its dimensions. Returns false if there is no such dataset. */
bool lw_conventions_find_data(hid_t file, char path[LW_MAX_PATH]);

/** Describe the dataset by the file's convention, and name the convention. Does nothing if no convention takes the dataset for its
 * data. LW_EDATA: the metadata contradict each other. Unreadable metadata are noted in subject->err. */
int lw_conventions_describe(struct lw_subject *subject);

/** Find times in the dataset's group: a one-dimensional dataset with a name of times (lw_conventions_name_times), as long as one of
 * the dimensions. It must be the only one, or the only one whose name begins with the dataset's. Sets an unknown time dimension.
 * Returns false if there are no times. */
bool lw_conventions_find_times(struct lw_subject *subject, struct lw_times *times);

/** Return whether a dataset of this name holds times: "t", "timestamp", "RawDataTime". */
bool lw_conventions_name_times(const char *name);

/** Implement lw_library.find_quality for a file of the Gravitational Wave Open Science Center (gwosc.c): DQmask, with bits named
 * in DQShortnames, and Injmask with InjShortnames. @param name  name of the file */
int lw_gwosc_find_quality(hid_t file, const char *name, const char *tests, struct lw_qualities *out, struct lw_error *err);

/** Set info->packing from scale_factor, add_offset, _FillValue, missing_value, valid_range, valid_min, valid_max and _Unsigned
 * (packing.c). These attributes overrule a convention. Packing is off if the hints ask for stored numbers, or if each number is
 * its own value. LW_EDATA: an attribute breaks the CF conventions. @param info  its type is set */
int lw_hdf5_packing_find(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err);

/* ---- helpers for describe and find_time; each `place` is as in lw_place_from ---- */

bool lw_subject_real(const struct lw_subject *subject, const char *place, double *value);
bool lw_subject_text(const struct lw_subject *subject, const char *place, char *text, size_t size);

/** Make dimension `time` the axis, and give the other of two dimensions the name `other`: "distance", "channel". */
void lw_subject_name(struct lw_subject *subject, int time, const char *other);

/** Return the number of the dimension named "time" in a text such as "time,locus", or -1. */
int lw_subject_find_time(const char *names);

/** Find the dimension "time" by an attribute of the data: a text as above, or a list with one name for each dimension. */
int lw_subject_find_time_by(const struct lw_subject *subject, const char *attribute);

/** Set the positions along the dimension beside the axis. Step 0: they are not regular. Distances without a unit are in m. */
void lw_subject_distance(struct lw_subject *subject, double first, double step, const char *unit);

/** Set the positions from a dataset with the position of each channel. Returns false if there is no regular one.
 * @param unit  used if the dataset has no unit */
bool lw_subject_distances(struct lw_subject *subject, const char *place, const char *unit);

void lw_subject_rate(struct lw_subject *subject, double hertz, const char *source);
void lw_subject_period(struct lw_subject *subject, struct lw_period period, const char *source);
bool lw_subject_start(struct lw_subject *subject, const char *text);        /* ISO 8601; false: another text */
void lw_subject_start_at(struct lw_subject *subject, struct lw_instant utc);
/** Set the unit of a coordinate; any name of the metre becomes "m". */
void lw_coordinate_name_unit(struct lw_coordinate *coordinate, const char *unit);

void lw_subject_unit(struct lw_subject *subject, const char *unit);

/** Set start and rate from a dataset of times. Returns false where lw_times_read does. */
bool lw_subject_times(struct lw_subject *subject, const char *place, const char *unit);
