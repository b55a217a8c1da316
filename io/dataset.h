/* dataset.h - the description of a dataset that all of io/ shares, whatever the file's format. No HDF5 in here.
 *
 *     archive/, hdf5/    one format each: describe a dataset as struct lw_dataset_info, read boxes of it
 *     read/              one or many datasets as one axis; slabs and boxes of its samples
 *     write/             the result: arrays, tables and attributes */
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

/* The epoch and scale of an instant's seconds, see base/instant.h. */
enum lw_time_scale {
    LW_TIME_UNKNOWN,            /* no instant is known */
    LW_TIME_UTC,
    LW_TIME_GPS,
};

/* Sampling of the axis. A format sets the start as its file has it: a number with a unit, or an instant. It sets the rate as a
 * number or as a period. lw_sampling_settle adds the other form of each. */
struct lw_axis_metadata {
    double sample_rate_hz;      /* 0: unknown */
    double rate_accuracy;       /* relative accuracy of the numbers in the file that gave the rate */
    struct lw_period period;    /* time from one sample to the next */
    double start;               /* start in start_unit; valid only if has_start */
    bool has_start;
    char start_unit[64];        /* "second", "GPS second", "s since ..." as found; "": unknown */
    enum lw_time_scale scale;
    struct lw_instant instant;  /* time of sample 0 */
    char unit[64];              /* unit of the sample values; "": unknown */
    char source[128];           /* origin of the sampling: "attribute Xspacing", "/Acoustic@..."; "": none was found */
};

/* Meaning and position of the elements of one dimension. */
struct lw_coordinate {
    char name[32];              /* "time", "distance", "frequency", "channel"; "": unknown */
    char unit[32];              /* "m", "MHz"; "": unknown */
    bool is_regular;            /* element i lies at first + i x step; false: the positions are unknown */
    double first, step;
};

/* The instrument that recorded the samples, see io/notes/recorder.h. */
struct lw_recorder {
    char text[160];             /* fields such as detector and telescope; "": unknown */
    bool has_pointing;
    double ra_deg, dec_deg;     /* direction of the telescope at the file's first sample */
};

/* Overlapping blocks [n][rows][channels] that are shown as [time][channels]. Sample i is row lead + (skip + i) % period of block
 * (skip + i) / period. All members 0: the dataset is shown as it is. */
struct lw_blocks {
    int64_t n, rows;
    int64_t lead, period, skip;
};

/* A run of a dataset's samples without a gap in time. */
struct lw_file_stretch {
    int64_t first, count;       /* samples of the dataset's axis */
    struct lw_instant instant;  /* time of the first sample */
};

/* A user's metadata for a file that lacks them or has wrong ones: values of options. Plain data. */
struct lw_hints {
    char format[16];            /* --format; "": found from the file's content */
    char raw[64];               /* --format raw */
    double sample_rate_hz;      /* --sample-rate; 0: not given */
    char start_time[64];        /* --start-time; "": not given */
    double channel_spacing;     /* --channel-spacing, m; 0: not given */
    bool as_stored;             /* --as-stored: give stored numbers without the file's scaling */
};

/* How bytes move between memory and files: the choices of --io. */
enum lw_io {
    LW_IO_AUTO,                 /* DIRECT where the file system keeps a file with several writers coherent, else COLLECTIVE */
    LW_IO_COLLECTIVE,           /* the formats' libraries read; all ranks together write the result by library calls */
    LW_IO_DIRECT,               /* a pool's threads read and write at the samples' places in the file */
};

/* The purpose for which a dataset is read. */
enum lw_use {
    LW_USE_SAMPLES,             /* samples in their stored type, one of LW_SCALARS */
    LW_USE_NUMBERS,             /* any type of numbers; types outside LW_SCALARS are described and read as float64 */
};

struct lw_dataset_info {
    char file[LW_MAX_PATH];
    char path[LW_MAX_PATH];     /* path in the file; "" where a file holds one dataset without a name */
    struct lw_hints hints;
    enum lw_use use;            /* the purpose that it was described for */
    char convention[32];        /* convention of its metadata: "GWOSC", "PRODML 2.1"; "": none beyond the format */
    int n_dims;
    int64_t dims[LW_MAX_DIMS];
    int64_t before, after;      /* samples of neighbouring files that can be read beyond either end of the axis (reader.h) */
    struct lw_type type;        /* type as stored; of a reader: type of the samples that it gives */
    struct lw_packing packing;  /* how stored numbers become values */
    int64_t n_files;            /* files joined to one axis; file and path are those of the first */
    int64_t file_bytes;         /* bytes of all files */
    int64_t modified_ns;        /* latest modification time of all files, ns since the epoch */
    int64_t chunk[LW_MAX_DIMS]; /* all 0: contiguous */
    bool is_flat;               /* samples lie row-major in the file, so that threads read them without the format */
    int64_t flat_offset;        /* byte of the first sample of a flat dataset */
    bool is_compressed;
    int64_t opened_bytes;       /* host memory that the open dataset takes: files that are unpacked as a whole */
    struct lw_blocks blocks;
    int64_t n_stretches;        /* stretches without a gap that make up the axis */
    int64_t n_missing;          /* samples missing between the stretches; overlaps count as negative */
    int metadata_axis;          /* axis that the file's metadata call time; -1: they name none */
    bool is_power;              /* samples are powers or amplitudes, such as results of --post */
    struct lw_axis_metadata axis;
    struct lw_recorder recorder;
    bool is_das;                /* distributed acoustic sensing */
    double gauge_length_m;      /* DAS gauge length, m; 0: unknown */
    struct lw_coordinate coordinates[LW_MAX_DIMS];      /* one per dimension; the axis' own has only a name, see `axis` */
};

/* The name of a dataset as messages show it. */
struct lw_name {
    char text[2 * LW_MAX_PATH + 64];
};

/** Return "FILE:/path", which lw_object_parse takes apart, or "FILE" where the path is "". */
struct lw_name lw_name_of(const char *file, const char *path);

/** Return the name of a described dataset; of several joined files: "FIRST:/path (and 12 more files)". */
struct lw_name lw_dataset_name(const struct lw_dataset_info *info);

/** Return the part of a path behind its last slash, or all of it. */
const char *lw_last_part(const char *path);

/** Return the decoded bytes of one chunk. */
int64_t lw_dataset_chunk_bytes(const struct lw_dataset_info *info);

/** Refuse a dataset if its file is gone, or has another size or modification time than when it was described: samples read
 * meanwhile may be old or new. LW_EDATA. @param what  words before the file's name in the message ("the input "); "": none */
int lw_dataset_check_unchanged(const struct lw_dataset_info *info, const char *what, struct lw_error *err);

/* ---- sampling of the axis: fill both forms of rate and start, and print them ---- */

/** Let info->hints overrule info->axis and the channels' coordinate. Then derive period from rate or rate from period, and instant
 * from start or start from instant. LW_EUSAGE: a hint is no valid time, or gives a spacing for a dataset without channels. */
int lw_sampling_settle(struct lw_dataset_info *info, struct lw_error *err);

/** Write "4096 Hz from 2015-09-14T09:16:29.39 (GPS 1126256206.39)", or "" if nothing is known. Returns `text`. */
const char *lw_sampling_text(const struct lw_axis_metadata *axis, char *text, size_t size);

/** Write the UTC time of sample i of the axis, or "" where it is unknown. Returns `text`. */
const char *lw_sampling_time_text(const struct lw_axis_metadata *axis, int64_t i, char text[LW_INSTANT_TEXT]);

/** Return the seconds in one unit of time ("s", "ms", "seconds since 1970-01-01", ...), or 0 for another unit. */
double lw_sampling_unit_seconds(const char *unit);

/* ---- attributes of a dataset or file: a name with a text or with numbers ------ */

enum lw_attribute_kind { LW_ATTRIBUTE_TEXT, LW_ATTRIBUTE_INT, LW_ATTRIBUTE_REAL, LW_ATTRIBUTE_REALS };

#define LW_ATTRIBUTE_MOST_REALS 4096        /* HDF5 stores an attribute in its object's header, at most 64 KiB */

struct lw_attribute {
    const char *name;
    enum lw_attribute_kind kind;
    const char *text;           /* borrowed during lw_writer_create */
    int64_t integer;
    double real;
    const double *reals;        /* array of n_reals numbers, borrowed during lw_writer_create */
    int n_reals;
    bool is_late;               /* lw_writer_finish overwrites the value; a text then keeps the length of its placeholder */
};

/* `attribute` is borrowed during the call. */
typedef void lw_attribute_fn(const struct lw_attribute *attribute, void *context);
