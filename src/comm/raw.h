/* raw.h - the MPI communicator, for the files that may include mpi.h (listed in tests/layering). */
#pragma once

#include "comm/comm.h"

#include <mpi.h>

/** Return the program's duplicate of MPI_COMM_WORLD; borrowed. It must never be a Cartesian one (open-mpi/ompi#12718). */
MPI_Comm lw_comm_mpi(const struct lw_comm *comm);

/** Count a collective call, or a message that this rank sends. */
void lw_comm_count_collective(struct lw_comm *comm, int64_t bytes);
void lw_comm_count_message(struct lw_comm *comm, int64_t bytes);

/* Most bytes of an MPI message or file call (counts are int; ROMIO fails above 2 GiB). */
#define LW_MESSAGE_BYTES ((int64_t)1 << 30)
