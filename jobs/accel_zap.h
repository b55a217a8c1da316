/* accel_zap.h - frequencies of interference that `accel` leaves out: the file of --zap. */
#pragma once

#include "comm/comm.h"
#include "job/candidate_rows.h"

/** Read the bins of a file's frequencies: rank 0 reads, and all get them. A line holds a frequency and a width in Hz, as PRESTO's
 * .zaplist; a B before the frequency is ignored. As in its .birds files, a number of harmonics may follow, and 1 if the width
 * grows with the harmonic. Lines that begin with # or P are left out. Each frequency zaps at least a bin. LW_EIO, LW_EDATA: the
 * file cannot be read; LW_ESYSTEM. Collective.
 * @param seconds  time of the transform: bins are 1 / seconds apart
 * @param request  zaps and n_zaps are set: ascending, disjoint, within plan.n_bins */
int lw_accel_read_zaps(struct lw_comm *comm, const char *name, double seconds, struct lw_accel_request *request,
                       struct lw_error *err);
