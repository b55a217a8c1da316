/* structure.h - a format of results as one table of operations: everything of a result file except its samples. To add a format,
 * write a file with its table and add a line to writer.c.
 *
 *     create     rank 0 makes all datasets and attributes except growing tables, reserves room on disk, closes the file
 *     check      rank 0 checks that the file of an earlier run has the same datasets
 *     complete   rank 0, once all samples are written, adds the growing tables, whose rows are now counted, then overwrites the
 *                late attributes and the mark of completion
 *
 * The writer itself writes the samples, to the places that create or check finds. Alternatively all ranks write the samples
 * together by collective calls of the format's library (HDF5). */
#pragma once

#include "io/bytes/spool.h"
#include "io/write/result_file.h"
#include "io/write/writer.h"

/* ---- growing.c: a table of a result whose rows arrive during the run. Its description and rows wait here until the table is
 * written. Rows gather in a spool. If a later run may go on, they are also written, in the order of arrival, to OUT.lapwing-rows
 * beside the result. The later run takes from there the first rows, as many as its journal vouches for. */

struct lw_growing {
    struct lw_writer_dataset dataset;   /* owns all that it points to, in `memory`; dims[0] is 0 */
    void *memory;
    char folder[LW_MAX_PATH];
    struct lw_spool *spool;
    char log[LW_MAX_PATH];              /* name of OUT.lapwing-rows; "": rows are not logged */
    _Atomic int fd;                     /* descriptor of the log; -1: no rows yet. One thread may sync while another opens it */
    int64_t n_rows;
    bool is_sifted;                     /* no more rows are logged */
    int64_t offset;                     /* offset of the rows in the result, known once the table is created there */
};

/** Copy the description of a table, and prepare for rows in the result's folder. LW_ESYSTEM.
 * @param spec    description with `grows`, borrowed during the call
 * @param result  name of the result
 * @param log     name of the file that logs rows, which must not exist before the first row; "": none */
int lw_growing_create(const struct lw_writer_dataset *spec, const char *result, const char *log, struct lw_growing **out,
                      struct lw_error *err);

/** Add n rows to the spool, and to the log if there is one. LW_EIO. */
int lw_growing_append(struct lw_growing *table, const void *rows, int64_t n, struct lw_error *err);

/** Take over the first n rows of the log, cut off the others, and pass the rows to `see`. LW_EDATA: the log has fewer. LW_EIO. */
int lw_growing_recall(struct lw_growing *table, int64_t n, lw_rows_fn *see, void *context, struct lw_error *err);

/** Sort the rows by `gathered` and pass them to `sift`, which appends others; these alone remain. The log stays. LW_EIO,
 * LW_ESYSTEM, errors of `sift`. */
int lw_growing_sift(struct lw_growing *table, lw_sift_fn *sift, void *context, struct lw_error *err);

/** Wait until the log is on disk. Any thread may call. LW_EIO. */
int lw_growing_sync(const struct lw_growing *table, struct lw_error *err);

void lw_growing_destroy(struct lw_growing *table);      /* NULL is legal */

/* ---- the table of operations */

/* The final changes to the file. */
struct lw_structure_end {
    struct lw_growing *const *tables;       /* [n_tables], one for each dataset; NULL: the dataset does not grow */
    int n_tables;
    const struct lw_attribute *attributes;  /* late attributes, to overwrite in the root group */
    int n_attributes;
};

struct lw_structure {
    /** Prepare the format's library; may be called often. NULL: nothing to prepare. */
    void (*start)(void);

    /** Return an upper limit of the file's bytes on disk; INT64_MAX: more than 64 bits count. */
    int64_t (*room)(const struct lw_writer_spec *spec);

    /** Create the file under its temporary name, which is claimed. LW_EIO. LW_ECONFIG: the format cannot hold the result.
     * @param extents   [n_datasets], set to the places of samples; those of growing tables are left alone
     * @param is_stuck  set if the library could not write the file: then the program must end by lw_comm_abort */
    int (*create)(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_extent *extents, bool *is_stuck,
                  struct lw_error *err);

    /** Check that the resumed temporary file is incomplete and has the spec's datasets, in shape and type; reserve its room on
     * disk. LW_EDATA, LW_EIO. */
    int (*check)(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_extent *extents,
                 struct lw_error *err);

    /** Write the growing tables, overwrite the attributes, and mark the file complete. LW_EIO. @param is_stuck  as for create */
    int (*complete)(const struct lw_result_file *result, const struct lw_structure_end *end, bool *is_stuck, struct lw_error *err);

    /* Writes of samples by library calls that all ranks make together. Each function succeeds or ends all ranks; only opening may
     * fail, then on every rank. NULL: the library has no collective calls, and samples are always written to their places. */
    int (*open_together)(struct lw_comm *comm, struct lw_result_file *result, const struct lw_writer_spec *spec, void **file,
                         struct lw_error *err);
    void (*write_together)(void *file, int dataset, const int64_t *first, const int64_t *count, const void *data);
    void (*flush_together)(void *file);
    void (*close_together)(void *file, bool is_whole);      /* false: after a failure; further failures are ignored */
};
