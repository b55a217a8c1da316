/* structure.h - everything of a result file but its samples: groups, datasets, attributes. By one process, rank 0, through a
 * plain HDF5 handle, so that a failure is an error like any other: within collective calls on metadata it would leave the
 * other ranks waiting for ever.
 *
 *     create     all datasets and attributes but tables that grow, room for them on disk, closed again
 *     check      or those that an earlier run has left are the same
 *     complete   once all samples are there: tables that grow, now that their rows are counted; late attributes and the mark of
 *                completion, in place */
#ifndef LW_IO_HDF5_RESULT_STRUCTURE_H
#define LW_IO_HDF5_RESULT_STRUCTURE_H

#include "io/write/structure.h"

/** Create the file under its temporary name, which is claimed. LW_EIO, LW_ECONFIG (an attribute that is too long).
 * @param extents   where the datasets' samples lie: [n_datasets]; left alone of tables that grow
 * @param is_stuck  set where HDF5 could not write the file: then only lw_comm_abort ends the program, because HDF5 would try
 *                  again when MPI ends, and crash */
int lw_structure_create(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_extent *extents,
                        bool *is_stuck, struct lw_error *err);

/** Whether the file under its temporary name, which is resumed, is incomplete and has the spec's datasets, of the same shape
 * and type; then its room on disk is made sure of. The file's structure does not change. LW_EDATA: what differs, or that it is
 * damaged, complete or no result, or that a table of the spec grows: its rows were in the memory of the earlier run. LW_EIO. */
int lw_structure_check(const struct lw_result_file *result, const struct lw_writer_spec *spec, struct lw_extent *extents,
                       struct lw_error *err);

/** Create and write the tables and overwrite the attributes, then mark the file complete. LW_EIO. @param is_stuck  as above */
int lw_structure_complete(const struct lw_result_file *result, const struct lw_structure_end *end, bool *is_stuck,
                          struct lw_error *err);

/** Bytes of one element of the dataset: a sample, or a row of a table. */
int64_t lw_structure_element_bytes(const struct lw_writer_dataset *dataset);

/** Bytes that the file will need on disk, structure and alignment included, generously; INT64_MAX where that overflows. */
int64_t lw_structure_room(const struct lw_writer_spec *spec);

#endif
