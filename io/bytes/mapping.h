/* mapping.h - bytes into a file through shared mappings, by several threads.
 *
 *     open -> write ... write (any thread, any order) -> close
 *
 * A mapping has no return value: where the disk is full, or another program has cut the file off, the kernel sends SIGBUS. It is
 * caught here and becomes an error. */
#ifndef LW_IO_BYTES_MAPPING_H
#define LW_IO_BYTES_MAPPING_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The part of a file that a thread has mapped at a time: a huge page of x86 and of most other processors. */
#define LW_MAPPING_BYTES ((int64_t)2 << 20)

struct lw_mapping;

/** Prepare to write a file. From the first call on, SIGBUS of other causes does what it did before. LW_ESYSTEM: no memory.
 * @param fd         open for reading and writing, borrowed until close; the file has its full length already
 * @param n_threads  that write: their numbers are below it */
int lw_mapping_open(int fd, int n_threads, struct lw_mapping **out, struct lw_error *err);
void lw_mapping_close(struct lw_mapping *mapping);          /* NULL is legal; the descriptor stays open */

/** Write [offset, offset + bytes) of the file.
 * Errors (LW_EIO, the reason alone) as lw_bytes_write, and where the file is shorter by now.
 * @param thread  number of the calling thread; no two threads use the same one at a time */
int lw_mapping_write(struct lw_mapping *mapping, int thread, const void *from, int64_t offset, int64_t bytes,
                     struct lw_error *err);

/** Whether the kernel makes huge pages of a file in memory when it is asked to (Linux from 6.1 on). */
bool lw_mapping_knows_huge_pages(void);

#endif
