/* structure.h - a format of results, as one table of operations: everything of a result file but its samples. A further one is a
 * file with such a table and a line in writer.c.
 *
 *     create     by rank 0: all datasets and attributes but tables that grow, room for them on disk, closed again
 *     check      by rank 0: or those that an earlier run has left are the same
 *     complete   by rank 0, once all samples are there: tables that grow, now that their rows are counted; late attributes and the
 *                mark of completion, in place
 *
 * Samples are written by the writer itself, to the places that create or check names; or by calls of the format's library that all
 * ranks make together, where it has such. */
#pragma once

#include "io/bytes/spool.h"
#include "io/write/result_file.h"
#include "io/write/writer.h"

/* ---- growing.c: a table of a result whose rows come while the run goes on: what it will be in the file, and its rows until then.
 * They gather in a spool, and where the run can be gone on with in the order in which they came in a file beside the result, too:
 * OUT.lapwing-rows, from which a later run takes the first so many again. */

struct lw_growing {
    struct lw_writer_dataset dataset;   /* all that it points to is in `memory`; dims[0] is 0 */
    void *memory;
    char folder[LW_MAX_PATH];
    struct lw_spool *spool;
    char log[LW_MAX_PATH];              /* the name of the file beside the result; "": there is none */
    _Atomic int fd;                     /* of that file; -1: no rows have come. A thread may sync it while another one opens it */
    int64_t n_rows;
    int64_t offset;                     /* of its rows in the file, once it is there */
};

/** Keep what `spec` says, and make a place for rows in the folder of the result. LW_ESYSTEM.
 * @param spec    with `grows`; borrowed during the call
 * @param result  the name of its file
 * @param log     what comes is written to a file of that name, too, which must not be there before the first row comes; "": it is
 *                not */
int lw_growing_create(const struct lw_writer_dataset *spec, const char *result, const char *log, struct lw_growing **out,
                      struct lw_error *err);

/** Add rows. LW_EIO. */
int lw_growing_append(struct lw_growing *table, const void *rows, int64_t n, struct lw_error *err);

/** Take the first n rows of the file again, and no others. LW_EDATA: it has fewer; LW_EIO. @param see  gets them, too */
int lw_growing_recall(struct lw_growing *table, int64_t n, lw_rows_fn *see, void *context, struct lw_error *err);

/** Wait until the rows are on the disk. Any thread. LW_EIO. */
int lw_growing_sync(const struct lw_growing *table, struct lw_error *err);

void lw_growing_destroy(struct lw_growing *table);      /* NULL is legal */

/* ---- the table of operations */

/* What the file gets at its end. */
struct lw_structure_end {
    struct lw_growing *const *tables;       /* [n_datasets of the spec]: the rows are taken from them; NULL: the dataset is there */
    int n_tables;
    const struct lw_attribute *attributes;  /* of the root group, overwritten */
    int n_attributes;
};

struct lw_structure {
    /** Make the library ready; may be called often. NULL: there is nothing to do. */
    void (*start)(void);

    /** Bytes that the file will need on disk, generously; INT64_MAX where that overflows. */
    int64_t (*room)(const struct lw_writer_spec *spec);

    /** Create the file under its temporary name, which is claimed. LW_EIO, LW_ECONFIG: what the format cannot hold.
     * @param extents   where the datasets' samples lie: [n_datasets]; left alone of tables that grow
     * @param is_stuck  set where the library could not write the file: then only lw_comm_abort ends the program */
    int (*create)(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_extent *extents, bool *is_stuck,
                  struct lw_error *err);

    /** Whether the file under its temporary name, which is resumed, is incomplete and has the spec's datasets, of the same shape
     * and type; then its room on disk is made sure of. LW_EDATA, LW_EIO. */
    int (*check)(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_extent *extents,
                 struct lw_error *err);

    /** Create and write the tables and overwrite the attributes, then mark the file complete. LW_EIO. @param is_stuck  as above */
    int (*complete)(const struct lw_result_file *result, const struct lw_structure_end *end, bool *is_stuck, struct lw_error *err);

    /* Samples by calls of the library that all ranks make together. Each either succeeds or ends all ranks; but opening may fail,
     * on every rank. NULL: there are no such calls, and samples are always written to their places. */
    int (*open_together)(struct lw_comm *comm, struct lw_result_file *result, const struct lw_writer_spec *spec, void **file,
                         struct lw_error *err);
    void (*write_together)(void *file, int dataset, const int64_t *first, const int64_t *count, const void *data);
    void (*flush_together)(void *file);
    void (*close_together)(void *file, bool is_whole);      /* else it may be in any state, and failures do not matter */
};
