/* parallel.h - how HDF5 is told to use MPI. */
#ifndef LW_IO_HDF5_PARALLEL_H
#define LW_IO_HDF5_PARALLEL_H

#include "comm/comm.h"

#include <hdf5.h>
#include <stdint.h>

/* It is not meant to return. @param reason  MPI's own words */
typedef void lw_parallel_failed_fn(void *context, const char *reason);

/** File access over the program's communicator. Close with H5Pclose.
 * @param failed  called where MPI fails to read or write a file that is opened with it: HDF5 would let this rank go on to a call in
 *                which it waits for the others, which wait for it in the one that has failed. One such file is open at a time. */
hid_t lw_parallel_access(const struct lw_comm *comm, lw_parallel_failed_fn *failed, void *context);

/** Property list of a collective transfer. Close with H5Pclose. */
hid_t lw_parallel_transfer(void);

/** In verbose mode say if HDF5 turned the transfer just made into independent ones, and why. */
void lw_parallel_report(hid_t transfer, const char *what);

#endif
