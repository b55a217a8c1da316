/* unpacked.h - a FITS file open for reading: as it is, or, of one that was put through gzip, what comes out, in memory behind a
 * descriptor (memfd_create), so that all that read FITS read it, too. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Of what comes out of one file. */
#define LW_FITS_MOST_UNPACKED ((int64_t)4 << 30)

/** Open a file. LW_EIO: unreadable. LW_EDATA: it begins as gzip's do, and is damaged or unpacks to more than LW_FITS_MOST_UNPACKED.
 * LW_ESYSTEM: no memory.
 * @param fd     set to a descriptor, to be closed; -1 on failure
 * @param bytes  set to how many there are behind it */
int lw_fits_open(const char *file, int *fd, int64_t *bytes, bool *is_unpacked, struct lw_error *err);

/** Whether a file begins as FITS does, as it is or unpacked; only as much as that takes is unpacked. LW_EIO. */
int lw_fits_begins(const char *file, bool *begins, struct lw_error *err);
