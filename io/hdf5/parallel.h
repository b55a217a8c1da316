/* parallel.h - how HDF5 is told to use MPI. */
#ifndef LW_IO_HDF5_PARALLEL_H
#define LW_IO_HDF5_PARALLEL_H

#include "comm/comm.h"

#include <hdf5.h>
#include <stdint.h>

/** File access over the program's communicator. Close with H5Pclose. */
hid_t lw_parallel_access(const struct lw_comm *comm);

/** Property list of a collective transfer. Close with H5Pclose. */
hid_t lw_parallel_transfer(void);

/** In verbose mode say if HDF5 turned the transfer just made into independent ones, and why. */
void lw_parallel_report(hid_t transfer, const char *what);

#endif
