/* parallel.h - how HDF5 is told to use MPI. */
#ifndef LW_PARALLEL_H
#define LW_PARALLEL_H

#include "../src/comm.h"

#include <hdf5.h>
#include <stdint.h>

/** File access over the program's communicator; large objects start at multiples of LW_FILE_ALIGNMENT. Close with
 * H5Pclose. */
hid_t lw_parallel_access(const struct lw_comm *comm);

#define LW_FILE_ALIGNMENT ((int64_t)1 << 20)    /* a Lustre stripe, and a multiple of any page */

/** Property list of a collective transfer. Close with H5Pclose. */
hid_t lw_parallel_transfer(void);

/** In verbose mode say if HDF5 turned the transfer just made into independent ones, and why. */
void lw_parallel_report(hid_t transfer, const char *what);

/** After every rank has tried to open or create a file collectively: LW_OK if all have it, the agreed error if none has.
 * If only some have it, those without end the run, because what was opened cannot be closed collectively. Collective. */
int lw_parallel_opened(struct lw_comm *comm, int code, struct lw_error *err);

#endif
