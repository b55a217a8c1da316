/* format.c - HDF5 as one of the formats of results. */
#include "io/write/structure.h"

#include "io/hdf5/collective.h"
#include "io/hdf5/result/structure.h"
#include "io/hdf5/start.h"

static int open_together(struct lw_comm *comm, struct lw_result_file *result, const struct lw_writer_spec *spec, void **file,
                         struct lw_error *err)
{
    struct lw_collective *opened = NULL;
    const int rc = lw_collective_open(comm, result, spec, &opened, err);
    *file = opened;
    return rc;
}

static void write_together(void *file, int dataset, const int64_t *first, const int64_t *count, const void *data)
{
    lw_collective_write(file, dataset, first, count, data);
}

static void flush_together(void *file)
{
    lw_collective_flush(file);
}

static void finish_together(void *file)
{
    lw_collective_finish(file);
}

static void close_together(void *file)
{
    lw_collective_close(file);
}

const struct lw_structure lw_structure_hdf5 = {
    .start = lw_hdf5_start,
    .room = lw_structure_room,
    .create = lw_structure_create,
    .check = lw_structure_check,
    .complete = lw_structure_complete,
    .open_together = open_together,
    .write_together = write_together,
    .flush_together = flush_together,
    .finish_together = finish_together,
    .close_together = close_together,
};
