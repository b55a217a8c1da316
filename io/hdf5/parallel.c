#include "io/hdf5/parallel.h"

#include "base/log.h"
#include "comm/raw.h"

#ifndef H5_HAVE_PARALLEL
#error "lapwing needs HDF5 with MPI: install libhdf5-openmpi-dev, or set HDF5_ROOT"
#endif

hid_t lw_parallel_access(const struct lw_comm *comm)
{
    /* Each rank writes its own part: ranks have large parts, which would only wait for each other on the way through
     * aggregators; and pieces between which others write must not be read, changed and written back. */
    MPI_Info hints;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "romio_cb_write", "disable");
    MPI_Info_set(hints, "romio_ds_write", "disable");
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, lw_comm_mpi(comm), hints);
    MPI_Info_free(&hints);
    return access;
}

hid_t lw_parallel_transfer(void)
{
    const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    return transfer;
}

void lw_parallel_report(hid_t transfer, const char *what)
{
    uint32_t local = 0, global = 0;
    H5Pget_mpio_no_collective_cause(transfer, &local, &global);
    if (local != 0 || global != 0)
        lw_log_detail("%s: HDF5 made the collective transfer independent (cause 0x%x here, 0x%x on all ranks)", what,
                      (unsigned)local, (unsigned)global);
}
