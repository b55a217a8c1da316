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

#include "io/write/growing.h"
#include "io/write/result_file.h"
#include "io/write/writer.h"

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
    void (*finish_together)(void *file);
    void (*close_together)(void *file);         /* whatever state the file is in */
};
