/* collective.h - hyperslabs of a result's datasets to the file by collective HDF5 calls of all ranks.
 *
 * A rank that fails inside such a call cannot tell the others, and HDF5 cannot be used any more: closing the file could hang or
 * crash. So everything here either succeeds or ends all ranks (lw_comm_abort). */
#pragma once

#include "io/write/result_file.h"
#include "io/write/writer.h"

/* lw_structure.open_together and so on, of HDF5. */
int lw_collective_open(struct lw_comm *comm, struct lw_result_file *result, const struct lw_writer_spec *spec, void **out,
                       struct lw_error *err);
void lw_collective_write(void *file, int dataset, const int64_t *first, const int64_t *count, const void *data);
void lw_collective_flush(void *file);
void lw_collective_finish(void *file);
void lw_collective_close(void *file);
