/* mapping.h - bytes into a file through a shared mapping. A mapping has no return value: where the disk is full, or another
 * program has cut the file off, the kernel sends SIGBUS. It is caught here and becomes an error. */
#ifndef LW_IO_BYTES_MAPPING_H
#define LW_IO_BYTES_MAPPING_H

#include "base/error.h"

#include <stdint.h>

/* A part that is mapped at a time: small enough that the pages which the kernel has just filled with zeros are still in the
 * processor's cache when they are overwritten. */
#define LW_MAPPING_BYTES ((int64_t)1 << 20)

/** Once before the first copy of the process; more often is legal. SIGBUS of other causes does what it did before. */
void lw_mapping_start(void);

/** Write [offset, offset + bytes) of a file that is open for reading and writing and ends behind it.
 * Errors (LW_EIO, the reason alone) as lw_bytes_write, and where the file is shorter by now. */
int lw_mapping_write(int fd, const void *from, int64_t offset, int64_t bytes, struct lw_error *err);

#endif
