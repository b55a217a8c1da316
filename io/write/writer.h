/* writer.h - one result file, written by all ranks.
 *
 *   create   rank 0 makes all of the file's structure under a temporary name beside the final one and reserves its room on
 *            disk; then all ranks open the file
 *   open     or rank 0 finds that structure in the temporary file that an earlier run has left
 *   write    raw data only: directly, each rank's I/O threads to their place in the file, or (HDF5) by collective calls
 *   append   the rows of a table that grows, by rank 0: they gather beside the file, as their number is not known
 *   finish   flushed and closed by all; then rank 0 adds the tables that have grown, marks the file complete and gives it its
 *            final name
 *   destroy  before finish: the temporary file is deleted, unless it was opened or is to be kept
 *
 * Datasets are contiguous and aligned. A killed run leaves no file under the final name. What is written is safe from then on that
 * a sync has ended which began after it. */
#pragma once

#include "comm/comm.h"
#include "io/write/put.h"

#define LW_PART_SUFFIX ".lapwing-part"       /* of the temporary name */

/* An attribute of a table that is given with the second as its text, and late: it becomes the checksum (io/codecs/hash.h) of
 * all rows once they are there. */
#define LW_WRITER_SUM "checksum"
#define LW_WRITER_NO_SUM "0000000000000000"

struct lw_writer;

/* A column of a table: 8 bytes of each row. */
enum lw_column_kind { LW_COLUMN_INT, LW_COLUMN_REAL };     /* int64, float64 */

struct lw_column {
    const char *name;
    enum lw_column_kind kind;
};

/* Which element of the input an element of the result belongs to: index i of dimension d to first[d] + i x every[d], as dimensions
 * of the input's last ones. */
struct lw_pixel_map {
    double first[LW_MAX_DIMS], every[LW_MAX_DIMS];
};

/* Where the elements of a dimension lie: element i has number k = first + i x step, and number k lies at ... */
enum lw_scale_kind {
    LW_SCALE_NONE,              /* nowhere: the dimension has a name and a length */
    LW_SCALE_NUMBERS,           /* k, as an integer */
    LW_SCALE_PLACES,            /* origin + k x distance */
    LW_SCALE_TIMES,             /* origin + k x period, in seconds */
    LW_SCALE_DATES,             /* start + k x period, in whole nanoseconds since 1970: for readers that take nothing else */
};

/* The coordinates of a dimension. */
struct lw_writer_scale {
    enum lw_scale_kind kind;
    int64_t first, step;
    double origin, distance;
    struct lw_period period;
    bool is_dated;              /* of times: when number 0 was is known, */
    struct lw_instant start;    /* in UTC */
    char units[80];             /* as the CF conventions write them: "m", "seconds since 2023-09-22T18:29:26.158" */
    const char *long_name;      /* static storage; NULL: none */
};

struct lw_writer_dataset {
    const char *path;           /* "/filtered" */
    int n_dims;
    int64_t dims[LW_MAX_DIMS];
    const char *dim_names[LW_MAX_DIMS];     /* dimension labels: "filter", "time", "channel" */
    bool has_scales;            /* its dimensions, which all have names, get dimension scales in its group, named as they are: */
    struct lw_writer_scale scales[LW_MAX_DIMS];
    struct lw_type type;        /* not of a table */
    bool holds_words;           /* unsigned numbers of 64 bits, whatever the type is: checksums */
    const struct lw_column *columns;        /* a table: its rows, of n_columns x 8 bytes, are the elements (a compound) */
    int n_columns;              /* 0: no table */
    bool grows;                 /* a table whose rows are not counted yet: lw_writer_append brings them; dims[0] is 0. Rank 0
                                   takes LW_SPOOL_BYTES of memory for each (io/bytes/spool.h) */
    int (*compare)(const void *a, const void *b);       /* of a table that grows: the order of its rows in the file, as for qsort */
    const struct lw_attribute *attributes;
    int n_attributes;
    const struct lw_attribute *carried;     /* what the input says of itself, in its own names; coordinates of FITS in them are
                                               moved */
    int n_carried;                          /* with the map. Of FITS results */
    struct lw_pixel_map map;
};

enum lw_result_format {
    LW_RESULT_HDF5,
    LW_RESULT_FITS,             /* arrays of real numbers as images, tables that grow as binary tables */
};

struct lw_writer_spec {
    const char *file;
    enum lw_result_format format;
    bool overwrite;
    const struct lw_attribute *attributes;  /* of the root group: provenance; rank 0's count */
    int n_attributes;
    const struct lw_writer_dataset *datasets;
    int n_datasets;
    bool can_resume;                    /* a later run may go on: rows of the table that grows are kept beside the file, too */
    bool has_journal;                   /* what lies beside the file is of use: it stays until the result is finished, as does the
                                           file */
    enum lw_io io;
    struct lw_pool *pool;       /* borrowed for the writer's life; NULL: by collective calls, or by the main thread, whatever `io`
                                   is */
};

/* Gets rows of a table. */
typedef void lw_rows_fn(void *context, const void *rows, int64_t n);

/* A write under way. */
struct lw_write {
    int n_dims;
    int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS];
    struct lw_put put;
};

/** Create the file. Errors (the same on every rank): LW_EIO if it exists and `overwrite` is false, if its folder cannot be
 * written, or if the disk has no room for it (naming the bytes needed and free). Collective. */
int lw_writer_create(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out, struct lw_error *err);

/** Go on with the temporary file that a run with the same spec, which could be resumed, has left: its attributes and the samples
 * that it has written stand, and tables that grow are empty until lw_writer_recall. The spec's attributes are not looked at.
 * Whatever fails from here on, the file stays, so that it can be opened again. What a run that was ended while it finished has
 * changed is taken back. Errors (the same on every rank): LW_EIO if there is no such file, if it belongs to somebody else or
 * another run is writing it, or as lw_writer_create; LW_EDATA if it is damaged, complete or no result, or if a dataset's path,
 * shape or type is another one than the spec's, naming both. Collective. */
int lw_writer_open(struct lw_comm *comm, const struct lw_writer_spec *spec, struct lw_writer **out, struct lw_error *err);

/** Begin to write the hyperslab [first, first + count) of dataset number `dataset` from `data`, packed row-major in the
 * dataset's type and borrowed until end; any count 0 = nothing. Several writes may be under way. Collective: by collective HDF5
 * calls it is done at once, and a rank that fails ends all ranks. */
void lw_writer_begin(struct lw_writer *writer, int dataset, const int64_t *first, const int64_t *count, const void *data,
                     struct lw_write *write);

/** Wait for a write; one that is all zero has not begun. Not collective: LW_EIO is this rank's own, and says what failed where. */
int lw_writer_end(struct lw_writer *writer, struct lw_write *write, struct lw_error *err);

/** Both, on all ranks: each returns the same. Collective. */
int lw_writer_write(struct lw_writer *writer, int dataset, const int64_t *first, const int64_t *count, const void *data,
                    struct lw_error *err);

/** Add rows to the table that is dataset number `dataset` and grows, in any order; they become part of the result when it is
 * finished. What does not fit in memory goes to a temporary file in the result's folder. By rank 0 alone, from the thread that
 * finishes. LW_EIO: that file cannot be written. */
int lw_writer_append(struct lw_writer *writer, int dataset, const void *rows, int64_t n, struct lw_error *err);

/** Take the first n rows again that an earlier run has added to the table that is dataset number `dataset`; no others count. By
 * rank 0 alone, before it adds any. LW_EDATA: they are not there; LW_EIO. @param see  gets them, too */
int lw_writer_recall(struct lw_writer *writer, int dataset, int64_t n, lw_rows_fn *see, void *context, struct lw_error *err);

/* The rows of a table, in runs, each of which one rank has: in the file they stand run by run. */
struct lw_table_rows {
    int64_t n_runs;
    const void *context;                /* borrowed, the first argument of: */
    int64_t (*count)(const void *context, int64_t run);         /* rows of a run; every rank knows */
    bool (*is_mine)(const void *context, int64_t run);          /* whether this rank has them */
    void (*fill)(const void *context, int64_t run, int64_t first, int64_t count, void *rows);   /* if so: some of them */
};

/** Write all rows to the table that is dataset number `dataset`, as many at a time as `buffer` holds. Collective. */
int lw_writer_rows(struct lw_writer *writer, int dataset, const struct lw_table_rows *rows, void *buffer, int64_t buffer_rows,
                 struct lw_error *err);

/** Wait until what all ranks have written is on the disk. No write is under way. LW_EIO. Collective. */
int lw_writer_sync(struct lw_writer *writer, struct lw_error *err);

/** The same meanwhile, by an I/O thread of each rank, of what was written when it began; by collective HDF5 calls it is done at
 * once. Begin is collective; is_synced is not; end waits, and is for each rank: LW_EIO. One sync is under way at a time. */
void lw_writer_sync_begin(struct lw_writer *writer);
bool lw_writer_is_synced(struct lw_writer *writer);
int lw_writer_sync_end(struct lw_writer *writer, struct lw_error *err);

/** Let destroy leave the temporary file, and finish be interrupted at any moment: there is a journal by which a later run can go
 * on. */
void lw_writer_keep(struct lw_writer *writer);

/** The name of a file beside the result. */
void lw_writer_beside(const struct lw_writer *writer, const char *suffix, char name[LW_MAX_PATH]);

/** How samples are written, as attributes say it: "direct", by each rank to their place, or "collective", by calls of all ranks. */
const char *lw_writer_way(const struct lw_writer *writer);

/** Mark the result complete, flush and give it its final name. `attributes` (fixed-size numbers and texts known only at
 * the end: end time, samples that were not finite) must have been given to create with placeholder values of at least
 * the same text length, and are overwritten in place; rank 0's count. LW_EIO where the final name cannot be given, too: the
 * complete file then stays under its temporary name. What lies beside the result is removed. Collective. The writer is spent; only
 * destroy may follow. */
int lw_writer_finish(struct lw_writer *writer, const struct lw_attribute *attributes, int n_attributes, struct lw_error *err);

/** Close; unless finished, delete a temporary file that was created and is not to be kept. Collective. NULL is legal. */
void lw_writer_destroy(struct lw_writer *writer);
