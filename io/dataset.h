/* dataset.h - the description of a dataset that all of io/ shares, whatever the file's format. No HDF5 in here.
 *
 *     archive/, hdf5/    describe a dataset of their format as struct lw_dataset_info; read boxes of its samples
 *     read/              join one or many datasets along one axis; read slabs and boxes of the joined samples
 *     write/             write the result: arrays, tables and attributes
 *
 * The axis is the dimension along which files are joined and ranks divide a run: time in signals, rows in images. A stretch is a
 * run of samples without a gap in time. A box has a first element, a step and a count in each dimension. */
#pragma once

#include "base/error.h"
#include "base/instant.h"
#include "io/bytes/packing.h"

#define LW_MAX_DIMS 4
#define LW_MAX_PATH 1024

/* The epoch and scale of an instant's seconds, see base/instant.h. */
enum lw_time_scale {
    LW_TIME_UNKNOWN,            /* the start is not known as an instant */
    LW_TIME_UTC,
    LW_TIME_GPS,
};

/* Sampling along the axis. The format sets the start in the form that its file has: a number with a unit, or an instant. It sets
 * the rate as a number or as a period. lw_sampling_settle derives the other form of both. */
struct lw_axis_metadata {
    double sample_rate_hz;      /* 0: unknown */
    double rate_accuracy;       /* relative accuracy of the numbers in the file that gave the rate */
    struct lw_period period;    /* time from one sample to the next */
    double start;               /* start in start_unit; valid only if has_start */
    bool has_start;
    char start_unit[64];        /* "second", "GPS second", "s since ..." as found; "": unknown */
    enum lw_time_scale scale;
    struct lw_instant instant;  /* time of sample 0 */
    char unit[64];              /* unit of the samples; "": unknown */
    char source[128];           /* source of the rate: "attribute Xspacing", "/Acoustic@..."; "": no rate was found */
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

/* A stored dataset of overlapping blocks [n][rows][channels] (FEBUS) that is shown as [time][channels]. Each block gives `period`
 * rows from its row `lead` on; the first `skip` of all these rows are left out. So sample i is row lead + (skip + i) % period of
 * block (skip + i) / period. All members 0: the dataset is shown as stored. */
struct lw_blocks {
    int64_t n, rows;
    int64_t lead, period, skip;
};

struct lw_file_stretch {
    int64_t first, count;       /* samples [first, first + count) of the dataset's axis */
    struct lw_instant instant;  /* time of the first sample */
};

/* Values of the options by which a user supplies or corrects a file's metadata. Plain data. */
struct lw_hints {
    char format[16];            /* --format; "": found from the file's content */
    char raw[64];               /* layout given by --format raw=...; "": not given */
    double sample_rate_hz;      /* --sample-rate; 0: not given */
    char start_time[64];        /* --start-time; "": not given */
    double channel_spacing;     /* --channel-spacing, m; 0: not given */
    bool as_stored;             /* --as-stored: samples are the stored numbers, without the file's scaling */
};

/* How bytes move between memory and files: the choices of --io. */
enum lw_io {
    LW_IO_AUTO,                 /* DIRECT where the file system keeps a file coherent that several nodes write, else COLLECTIVE */
    LW_IO_COLLECTIVE,           /* the formats' libraries read; all ranks together write the result by library calls */
    LW_IO_DIRECT,               /* a pool's threads read and write samples at their places in the file */
};

/* The purpose for which a dataset is read. */
enum lw_use {
    LW_USE_SAMPLES,             /* samples, read in their stored type, which must be one of LW_SCALARS */
    LW_USE_NUMBERS,             /* numbers of any type; types outside LW_SCALARS are described and read as float64 */
};

struct lw_dataset_info {
    char file[LW_MAX_PATH];
    char path[LW_MAX_PATH];     /* path in the file; "" where a file holds one dataset without a name */
    struct lw_hints hints;
    enum lw_use use;            /* purpose for which the dataset was described */
    char convention[32];        /* convention that its metadata follow: "GWOSC", "PRODML 2.1"; "": only the format */
    int n_dims;
    int64_t dims[LW_MAX_DIMS];
    int64_t before, after;      /* samples of neighbouring files that can be read beyond either end of the axis (reader.h) */
    struct lw_type type;        /* type as stored; in a reader's description, type of the samples that the reader gives */
    struct lw_packing packing;  /* how stored numbers become values */
    int64_t n_files;            /* number of files joined along the axis; `file` and `path` name the first */
    int64_t file_bytes;         /* bytes of all files */
    int64_t modified_ns;        /* latest modification time of all files, ns since the epoch */
    int64_t chunk[LW_MAX_DIMS]; /* samples of a chunk in each dimension; all 0: the dataset has no chunks */
    bool is_flat;               /* samples lie row-major in one place of the file: threads read them without the format */
    int64_t flat_offset;        /* byte of the first sample of a flat dataset */
    bool is_compressed;
    int64_t opened_bytes;       /* host bytes of the open dataset, where its file is unpacked as a whole (.fits.gz); else 0 */
    struct lw_blocks blocks;
    int64_t n_stretches;        /* number of stretches in the dataset; 0 or 1: it has no gap */
    int64_t n_missing;          /* samples missing between the stretches; overlaps count as negative */
    int metadata_axis;          /* dimension that the file's metadata call time; -1: none */
    bool is_power;              /* samples are powers or amplitudes, such as results of --post */
    struct lw_axis_metadata axis;
    struct lw_recorder recorder;
    bool is_das;                /* samples come from distributed acoustic sensing (DAS) */
    double gauge_length_m;      /* DAS gauge length, m; 0: unknown */
    struct lw_coordinate coordinates[LW_MAX_DIMS];      /* one for each dimension; time has a name only, see `axis` */
};

/* The name of a dataset, as shown in messages. */
struct lw_name {
    char text[2 * LW_MAX_PATH + 64];
};

/** Return "FILE:/path", which lw_object_parse takes apart, or "FILE" where the path is "". */
struct lw_name lw_name_of(const char *file, const char *path);

/** Return the name of a described dataset; where files are joined, "FIRST:/path (and 12 more files)". */
struct lw_name lw_dataset_name(const struct lw_dataset_info *info);

/** Return the part of a path behind its last slash, or the whole path if it has none. */
const char *lw_last_part(const char *path);

/** Return the bytes of one chunk after decoding. */
int64_t lw_dataset_chunk_bytes(const struct lw_dataset_info *info);

/** Refuse a dataset whose file is gone, or has another size or modification time than when it was described: samples read since
 * then may be old or new. LW_EDATA. @param what  words before the file's name in the message ("the input "); "": none */
int lw_dataset_check_unchanged(const struct lw_dataset_info *info, const char *what, struct lw_error *err);

/* ---- sampling of the axis: fill both forms of rate and start, and print them ---- */

/** Let info->hints overrule info->axis and the channels' coordinate. Then derive period or rate from each other, and instant or
 * start. LW_EUSAGE: a hint is no valid time, or gives a spacing of channels to a dataset without channels. */
int lw_sampling_settle(struct lw_dataset_info *info, struct lw_error *err);

/** Write "4096 Hz from 2015-09-14T09:16:29.39 (GPS 1126256206.39)", or "" if nothing is known. Returns `text`. */
const char *lw_sampling_text(const struct lw_axis_metadata *axis, char *text, size_t size);

/** Write the UTC time of sample i of the axis, or "" where it is unknown. Returns `text`. */
const char *lw_sampling_time_text(const struct lw_axis_metadata *axis, int64_t i, char text[LW_INSTANT_TEXT]);

/** Return the seconds in one unit of time ("s", "ms", "seconds since 1970-01-01", ...), or 0 for any other text. */
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
    bool is_late;               /* the value is a placeholder that lw_writer_finish overwrites; a longer text would not fit */
};

/* Receive one attribute, which is borrowed during the call. */
typedef void lw_attribute_fn(const struct lw_attribute *attribute, void *context);
