#include "io/hdf5/parallel.h"

#include "base/log.h"
#include "comm/raw.h"

#ifndef H5_HAVE_PARALLEL
#error "lapwing needs HDF5 with MPI: install libhdf5-openmpi-dev, or set HDF5_ROOT"
#endif

/* MPI hands its handlers of errors nothing of ours. */
static struct {
    lw_parallel_failed_fn *call;
    void *context;
} failed_file;

static void fail_file(MPI_File *file, int *code, ...)
{
    char reason[MPI_MAX_ERROR_STRING];
    int length;
    (void)file;
    MPI_Error_string(*code, reason, &length);
    failed_file.call(failed_file.context, reason);
}

/* Files that are opened from now on have the handler of MPI_FILE_NULL. */
static void handle_failures(void)
{
    MPI_Errhandler handler;
    MPI_File_create_errhandler(fail_file, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    MPI_Errhandler_free(&handler);
}

hid_t lw_parallel_access(const struct lw_comm *comm, lw_parallel_failed_fn *failed, void *context)
{
    failed_file.call = failed;
    failed_file.context = context;
    handle_failures();
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
