/* dataset.h - what a reader finds and a writer makes, without saying how: no HDF5 in here. */
#pragma once

#include "base/error.h"
#include "base/instant.h"
#include "base/type.h"
#include "io/bytes/packing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LW_MAX_DIMS 4
#define LW_MAX_PATH 1024

/* What the seconds of an instant are counted from, see base/instant.h. */
enum lw_time_scale {
    LW_TIME_UNKNOWN,            /* there is no instant */
    LW_TIME_UTC,
    LW_TIME_GPS,
};

/* Sampling of the axis. A format sets the start as the file has it, either as a number with its unit or as an instant, and
 * the rate as a number or as a period; lw_sampling_settle adds the other. */
struct lw_axis_metadata {
    double sample_rate_hz;      /* 0: not known */
    double rate_accuracy;       /* relative, of the numbers that it was found in */
    struct lw_period period;    /* from one sample to the next */
    double start;               /* in start_unit; only if has_start */
    bool has_start;
    char start_unit[64];        /* "second", "GPS second", "s since ..." as found; "" not known */
    enum lw_time_scale scale;
    struct lw_instant instant;  /* of sample 0 */
    char unit[64];              /* of the sample values; "" not known */
    char source[128];           /* where the sampling was found: "attribute Xspacing", "/Acoustic@..." ; "" nowhere */
};

/* What the elements of a dimension are. */
struct lw_coordinate {
    char name[32];              /* "time", "distance", "frequency", "channel"; "" not known */
    char unit[32];              /* "m", "MHz"; "" not known */
    bool is_regular;            /* element i lies at first + i x step; else nobody knows where */
    double first, step;
};

/* What recorded the samples, as io/notes/recorder.h has it. */
struct lw_recorder {
    char text[160];             /* fields such as detector and telescope; "" not known */
    bool has_pointing;
    double ra_deg, dec_deg;     /* of the telescope when the file begins */
};

/* Blocks [n][rows][channels] that overlap, shown as [time][channels]: sample i is row lead + (skip + i) % period of block
 * (skip + i) / period. All 0: the dataset is shown as it is. */
struct lw_blocks {
    int64_t n, rows;
    int64_t lead, period, skip;
};

/* Samples of a dataset that follow each other in time. */
struct lw_file_stretch {
    int64_t first, count;       /* of the dataset's axis */
    struct lw_instant instant;  /* of the first one */
};

/* What a user says of a file that does not say it itself, or says it wrongly: the values of options. Plain data. */
struct lw_hints {
    char format[16];            /* --format; "": what the content says */
    char raw[64];               /* --format raw */
    double sample_rate_hz;      /* --sample-rate; 0: not given */
    char start_time[64];        /* --start-time; "": not given */
    double channel_spacing;     /* --channel-spacing, m; 0: not given */
    bool as_stored;             /* --as-stored: whatever the file says that stored numbers stand for */
};

/* How bytes get from and to files, the choices of --io. */
enum lw_io {
    LW_IO_AUTO,                 /* directly where the file system keeps several writers of one file coherent */
    LW_IO_COLLECTIVE,           /* by calls of the formats' libraries, the result's by all ranks together */
    LW_IO_DIRECT,               /* by the threads of a pool, from and to their place in the file */
};

/* What a dataset is read for. */
enum lw_use {
    LW_USE_SAMPLES,             /* in their stored type, one of LW_SCALARS */
    LW_USE_NUMBERS,             /* any type of numbers; what is not one of LW_SCALARS is described, and read, as float64 */
};

struct lw_dataset_info {
    char file[LW_MAX_PATH];
    char path[LW_MAX_PATH];     /* in the file; "" where a file holds one dataset without a name */
    struct lw_hints hints;
    enum lw_use use;            /* that it is described for */
    char convention[32];        /* "GWOSC", "PRODML 2.1": what its metadata were read as; "": just its format */
    int n_dims;
    int64_t dims[LW_MAX_DIMS];
    int64_t before, after;      /* further samples of the axis that can be read beyond either end: of files beside it (reader.h) */
    struct lw_type type;        /* as stored; of a reader, as it gives samples */
    struct lw_packing packing;  /* what stored numbers stand for */
    int64_t n_files;            /* that are one axis; file and path are those of the first, and the next two say of all of them: */
    int64_t file_bytes;         /* the sum */
    int64_t modified_ns;        /* modification time since the epoch, the latest */
    int64_t chunk[LW_MAX_DIMS]; /* all 0: contiguous */
    bool is_flat;               /* the samples lie in the file as they are, row-major, */
    int64_t flat_offset;        /* from this byte on; so that its format need not open it for a pool's threads */
    bool is_compressed;
    int64_t opened_bytes;       /* host memory that an open dataset takes: files that are unpacked as a whole */
    struct lw_blocks blocks;
    int64_t n_stretches;        /* more than 1: the axis is made of so many stretches, one behind the other, and between them lie */
    int64_t n_missing;          /* samples that are not in the file; overlaps count as negative */
    int metadata_axis;          /* the axis that the file's own metadata calls time, -1: it does not say */
    bool is_power;              /* samples are powers or amplitudes, as results of --post say */
    struct lw_axis_metadata axis;
    struct lw_recorder recorder;
    bool is_das;                /* distributed acoustic sensing */
    double gauge_length_m;      /* of it; 0: not known */
    struct lw_coordinate coordinates[LW_MAX_DIMS];      /* that of the axis has a name and no more: `axis` says where it lies */
};

/* As messages show it. */
struct lw_name {
    char text[2 * LW_MAX_PATH + 64];
};

/** "FILE:/path", which lw_object_parse takes apart, or "FILE" where the path is "". */
struct lw_name lw_name_of(const char *file, const char *path);

/** The name of what was described; of several files that are one axis: "FIRST:/path (and 12 more files)". */
struct lw_name lw_dataset_name(const struct lw_dataset_info *info);

/** What stands behind the last slash of a path, or all of it. */
const char *lw_last_part(const char *path);

/** Bytes of one chunk, decoded. */
int64_t lw_dataset_chunk_bytes(const struct lw_dataset_info *info);

/** Refuse a dataset of one file that is gone, or whose size or modification time is no longer what it was when it was described:
 * what was read may be of either state. LW_EDATA. @param what  "the input " and the like before the file's name; "": nothing */
int lw_dataset_check_unchanged(const struct lw_dataset_info *info, const char *what, struct lw_error *err);

/* ---- the sampling of its axis, in both of its forms, whatever a file tells ---- */

/** Let info->hints overrule info->axis and the channels' coordinate; then derive the period from the rate or the rate from the
 * period, and the instant from the start or the start from the instant. LW_EUSAGE: a hint that is no time, or a spacing where there
 * are no channels. */
int lw_sampling_settle(struct lw_dataset_info *info, struct lw_error *err);

/** "4096 Hz from 2015-09-14T09:16:29.39 (GPS 1126256206.39)", or "" if nothing is known. Returns `text`. */
const char *lw_sampling_text(const struct lw_axis_metadata *axis, char *text, size_t size);

/** The instant of sample i of the axis, as text: UTC, or "" where it is not known. */
const char *lw_sampling_time_text(const struct lw_axis_metadata *axis, int64_t i, char text[LW_INSTANT_TEXT]);

/** Seconds in one of a unit: "s", "ms", "seconds since 1970-01-01", ...; 0 if it is no unit of time. */
double lw_sampling_unit_seconds(const char *unit);

/* ---- what is said of a dataset or file: a name with a text or with numbers ---- */

enum lw_attribute_kind { LW_ATTRIBUTE_TEXT, LW_ATTRIBUTE_INT, LW_ATTRIBUTE_REAL, LW_ATTRIBUTE_REALS };

#define LW_ATTRIBUTE_MOST_REALS 4096        /* an attribute lies in its object's header, in 64 KiB at most */

struct lw_attribute {
    const char *name;
    enum lw_attribute_kind kind;
    const char *text;           /* borrowed during lw_writer_create */
    int64_t integer;
    double real;
    const double *reals;        /* an array of n_reals numbers, borrowed during lw_writer_create */
    int n_reals;
    bool is_late;               /* lw_writer_finish overwrites it: a text gets a fixed length, the placeholder's */
};

/* Its argument is borrowed during the call. */
typedef void lw_attribute_fn(const struct lw_attribute *attribute, void *context);
