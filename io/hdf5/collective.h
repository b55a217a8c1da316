/* collective.h - hyperslabs of a result's datasets to the file by collective HDF5 calls of all ranks.
 *
 * A rank that fails inside such a call cannot tell the others, and HDF5 cannot be used any more: closing the file could hang or
 * crash. So everything here either succeeds or ends all ranks (lw_comm_abort). */
#ifndef LW_IO_HDF5_COLLECTIVE_H
#define LW_IO_HDF5_COLLECTIVE_H

#include "io/write/result_file.h"
#include "io/write/writer.h"

struct lw_collective;

/** Open the file, whose structure is there, by all ranks together. LW_EIO, LW_ESYSTEM: the same on every rank. Collective.
 * @param result  borrowed until closed */
int lw_collective_open(struct lw_comm *comm, struct lw_result_file *result, const struct lw_writer_spec *spec,
                       struct lw_collective **out, struct lw_error *err);

/** lw_writer_write, all of it. Collective. */
void lw_collective_write(struct lw_collective *file, int dataset, const int64_t *first, const int64_t *count, const void *data);

/** Flush: every rank's samples are on disk. Collective. */
void lw_collective_flush(struct lw_collective *file);

/** Close, after the last write. Collective. NULL is legal. */
void lw_collective_finish(struct lw_collective *file);

/** Close, whatever state the file is in. Collective. NULL is legal. */
void lw_collective_close(struct lw_collective *file);

#endif
