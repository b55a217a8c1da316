/* standard.h - standard input, output and error (descriptors 0 to 2) as the program was given them. */
#pragma once

#include "base/error.h"

/** Open /dev/null on those of descriptors 0 to 2 that are closed. The next file or socket would get the number otherwise, and
 * messages would go into it. Writing on a standard output that was closed still fails. Before anything is opened.
 * LW_ESYSTEM: there is no /dev/null. */
int lw_standard_open(struct lw_error *err);

/** Write out what was printed on standard output. LW_EIO: not all of it has arrived there. */
int lw_standard_flush(struct lw_error *err);
