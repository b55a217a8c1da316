/* writer.h - one result file, written by all ranks.
 *
 *   create   rank 0 makes the file's structure under a temporary name and reserves its room on disk; all ranks open it
 *   open     instead of create: rank 0 checks the structure in the temporary file of an interrupted run
 *   write    samples: each rank's I/O threads write them to their places, or (HDF5) all ranks by collective calls
 *   append   rank 0 adds rows to a growing table; they gather beside the file, because their number is unknown
 *   sift     rank 0 makes other rows of them
 *   finish   all ranks flush and close; rank 0 adds the growing tables, marks the file complete, gives it its final name
 *   destroy  closes; without finish, a temporary file that was created is deleted, unless it is to be kept
 *
 * Datasets are contiguous and aligned. A killed run leaves none under the final name. A sync makes all earlier writes durable. */
#pragma once

#include "comm/comm.h"
#include "io/write/put.h"

#define LW_PART_SUFFIX ".lapwing-part"       /* suffix of the temporary name */

/* A late attribute with this name and placeholder becomes the checksum (io/codecs/hash.h) of all rows of its table. */
#define LW_WRITER_SUM "checksum"
#define LW_WRITER_NO_SUM "0000000000000000"

/* Most bytes that a rank collects before it writes them for all in a collective call. */
#define LW_AGGREGATE_BYTES ((int64_t)16 << 20)

struct lw_writer;

/* The type of a table's column, which has 8 bytes of each row. */
enum lw_column_kind { LW_COLUMN_INT, LW_COLUMN_REAL };     /* int64, float64 */

struct lw_column {
    const char *name;
    enum lw_column_kind kind;
};

/* The places of a result's elements in the input: index i of dimension d lies at index first[d] + i x every[d] of the input. The
 * result's dimensions are the last ones of the input. */
struct lw_pixel_map {
    double first[LW_MAX_DIMS], every[LW_MAX_DIMS];
};

/* The kind of a dimension's coordinates. Element i has number k = first + i x step, and each kind makes a coordinate of k. */
enum lw_scale_kind {
    LW_SCALE_NONE,              /* no coordinates: the dimension has only a name and a length */
    LW_SCALE_NUMBERS,           /* k, stored as an integer */
    LW_SCALE_PLACES,            /* origin + k x distance */
    LW_SCALE_TIMES,             /* origin + k x period, in seconds */
    LW_SCALE_DATES,             /* start + k x period, in whole nanoseconds since 1970, for DASCore (hdf5/result/patch.c) */
    LW_SCALE_VALUES,            /* values[k]: any numbers, such as those of trials */
};

/* The coordinates of a dimension. */
struct lw_writer_scale {
    enum lw_scale_kind kind;
    int64_t first, step;
    double origin, distance;
    struct lw_period period;
    bool is_dated;              /* TIMES and DATES: `start` is known */
    struct lw_instant start;    /* UTC time of number 0 */
    const double *values;       /* borrowed during lw_writer_create */
    char units[80];             /* unit as in the CF conventions: "m", "seconds since 2023-09-22T18:29:26.158" */
    const char *long_name;      /* static storage; NULL: none */
};

struct lw_writer_dataset {
    const char *path;           /* "/filtered" */
    int n_dims;
    int64_t dims[LW_MAX_DIMS];
    const char *dim_names[LW_MAX_DIMS];     /* dimension labels: "filter", "time", "channel" */
    bool has_scales;            /* each dimension gets a dimension scale, named as in dim_names */
    struct lw_writer_scale scales[LW_MAX_DIMS];
    struct lw_type type;        /* type of an array's elements */
    bool holds_words;           /* elements are unsigned integers of 64 bits (checksums); `type` is ignored */
    const struct lw_column *columns;        /* columns of a table, whose elements are rows of n_columns x 8 bytes */
    int n_columns;              /* 0: the dataset is an array */
    bool grows;                 /* a table whose rows lw_writer_append adds, with dims[0] 0 at first. Rank 0 takes LW_SPOOL_BYTES
                                 * of memory for each growing table (io/bytes/spool.h) */
    int (*compare)(const void *a, const void *b);       /* order of a growing table's rows in the file, as for qsort */
    int (*gathered)(const void *a, const void *b);      /* their order in lw_writer_sift; NULL: the table is not sifted */
    const struct lw_attribute *attributes;
    int n_attributes;
    const struct lw_attribute *carried;     /* the input's own attributes; `map` moves the coordinates among them */
    int n_carried;                          /* used only in FITS results */
    struct lw_pixel_map map;
};

enum lw_result_format {
    LW_RESULT_HDF5,
    LW_RESULT_FITS,             /* real arrays become images, growing tables become binary tables */
};

struct lw_writer_spec {
    const char *file;
    enum lw_result_format format;
    bool overwrite;
    const struct lw_attribute *attributes;  /* attributes of the root group: provenance; rank 0's are used */
    int n_attributes;
    const struct lw_writer_dataset *datasets;
    int n_datasets;
    bool can_resume;                    /* a later run may go on: a growing table's rows are also kept beside the file */
    bool has_journal;                   /* a journal lets a later run go on, so the unfinished file is not deleted */
    enum lw_io io;
    struct lw_pool *pool;       /* borrowed until destroy; NULL: collective calls or the main thread write, whatever `io` is */
};

/* Receive n rows of a table, which are borrowed during the call. */
typedef void lw_rows_fn(void *context, const void *rows, int64_t n);

/* A write under way. */
struct lw_write {
    int n_dims;
    int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS];
    struct lw_put put;
};

/** Create the file. LW_EIO: it exists and `overwrite` is false; its folder cannot be written; the disk has no room for it (the
 * message gives the bytes needed and free). Collective: every rank returns the same code. */
int lw_writer_create(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out, struct lw_error *err);

/** Go on with the temporary file of an interrupted run with the same spec and can_resume. The file keeps its attributes and
 * samples, the spec's attributes are ignored, and growing tables are empty until lw_writer_recall. Changes by a run that was killed
 * while it finished are undone. Whatever fails from here on, the file stays. LW_EIO: there is none, it belongs to another user,
 * another run is writing it, or as lw_writer_create. LW_EDATA: the file is damaged, complete or no result, or a dataset's path,
 * shape or type differs from the spec's (the message gives both). Collective: every rank returns the same code. */
int lw_writer_open(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out, struct lw_error *err);

/** Begin to write the hyperslab [first, first + count) of dataset number `dataset` from `data`. The data are row-major, in the
 * dataset's type, and borrowed until lw_writer_end. With any count 0 nothing is written. Several writes may be under way.
 * Collective: with collective HDF5 calls the write is done at once, and a rank that fails ends all ranks. */
void lw_writer_begin(struct lw_writer *writer, int dataset, const int64_t *first, const int64_t *count, const void *data,
                     struct lw_write *write);

/** Wait for a write; an all-zero *write was never begun. LW_EIO concerns this rank's part, as the message tells. Not collective. */
int lw_writer_end(struct lw_writer *writer, struct lw_write *write, struct lw_error *err);

/** Write a hyperslab: begin, then end. Collective: every rank returns the same code. */
int lw_writer_write(struct lw_writer *writer, int dataset, const int64_t *first, const int64_t *count, const void *data,
                    struct lw_error *err);

/** Read back a hyperslab that is written completely, by this run or the interrupted one. The writer has a pool. LW_EIO. Not
 * collective.
 * @param data  as for lw_writer_begin */
int lw_writer_recall_array(const struct lw_writer *writer, int dataset, const int64_t *first, const int64_t *count, void *data,
                           struct lw_error *err);

/** Add rows in any order to the growing table that is dataset number `dataset`. Rows that exceed the memory wait in a temporary
 * file in the result's folder. LW_EIO: that file cannot be written. Rank 0 only, by the thread that calls lw_writer_finish. */
int lw_writer_append(struct lw_writer *writer, int dataset, const void *rows, int64_t n, struct lw_error *err);

/** Take over the first n rows that an interrupted run has added to a growing table, and pass them to `see`; drop its other rows.
 * Rank 0 only, before lw_writer_append. LW_EDATA: there are fewer rows. LW_EIO. */
int lw_writer_recall(struct lw_writer *writer, int dataset, int64_t n, lw_rows_fn *see, void *context, struct lw_error *err);

/* Receive n rows of a table, which are borrowed during the call, and may append others. */
typedef int lw_sift_fn(void *context, const void *rows, int64_t n, struct lw_error *err);

/** Pass all rows of a growing table to `sift`, sorted by `gathered`; the table has only rows that are appended from now on. A later
 * run still goes on from the rows before. Takes LW_SPOOL_BYTES more. Rank 0 only, once. LW_EIO, LW_ESYSTEM; errors of `sift`. */
int lw_writer_sift(struct lw_writer *writer, int dataset, lw_sift_fn *sift, void *context, struct lw_error *err);

/* The rows of a table, in runs that follow each other in the file; each run is on one rank. */
struct lw_table_rows {
    int64_t n_runs;
    const void *context;                /* borrowed, first argument of the following functions */
    int64_t (*count)(const void *context, int64_t run);         /* return a run's rows, the same on every rank */
    bool (*is_mine)(const void *context, int64_t run);          /* return whether this rank has the run */
    void (*fill)(const void *context, int64_t run, int64_t first, int64_t count, void *rows);   /* copy rows of this rank's run */
};

/** Write all rows to the table that is dataset number `dataset`, at most buffer_rows at a time. Collective. */
int lw_writer_rows(struct lw_writer *writer, int dataset, const struct lw_table_rows *rows, void *buffer, int64_t buffer_rows,
                 struct lw_error *err);

/** Wait until everything that the ranks have written is on disk. No write may be under way. LW_EIO. Collective. */
int lw_writer_sync(struct lw_writer *writer, struct lw_error *err);

/** Sync all earlier writes in the background, by an I/O thread of each rank; with collective HDF5 calls, begin syncs at once. Only
 * begin is collective. End waits for the sync, and returns this rank's LW_EIO. One sync may be under way. */
void lw_writer_sync_begin(struct lw_writer *writer);
bool lw_writer_is_synced(struct lw_writer *writer);
int lw_writer_sync_end(struct lw_writer *writer, struct lw_error *err);

/** Keep the temporary file, because a journal now lets a later run go on: destroy leaves it, and finish may be interrupted. */
void lw_writer_keep(struct lw_writer *writer);

/** Make the name of a file beside the result: the result's name and a suffix. */
void lw_writer_beside(const struct lw_writer *writer, const char *suffix, char name[LW_MAX_PATH]);

/** Return how samples are written, for attributes: "direct", to their places by each rank, "collective", by calls of all, or
 * "collective, aggregators: N", by calls in which N ranks write for all. At most 35 bytes, valid until finish or destroy. */
const char *lw_writer_way(const struct lw_writer *writer);

/** Mark the result complete, flush it and give it its final name, then remove the files beside it. `attributes` are known only at
 * the end (end time, samples that were not finite) and are overwritten in place: create must have received them with placeholders
 * at least as long. Rank 0's are used. LW_EIO, also if the final name cannot be given: the complete file then keeps its
 * temporary name. Collective. Only destroy may follow. */
int lw_writer_finish(struct lw_writer *writer, const struct lw_attribute *attributes, int n_attributes, struct lw_error *err);

/** Close the writer. Unless finished, delete a temporary file that was created and is not to be kept. Collective. NULL is legal. */
void lw_writer_destroy(struct lw_writer *writer);
