/* raw.h - the raw communicator, for the files that may include mpi.h (the layering test names them). */
#pragma once

#include "comm/comm.h"

#include <mpi.h>

/** The program's duplicate of MPI_COMM_WORLD: never a Cartesian one (open-mpi/ompi#12718). Borrowed. */
MPI_Comm lw_comm_mpi(const struct lw_comm *comm);

/* One MPI message or file call carries at most this much (counts are int; ROMIO fails above 2 GiB). */
#define LW_MESSAGE_BYTES ((int64_t)1 << 30)
