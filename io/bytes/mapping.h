/* mapping.h - bytes into a file through shared mappings, by several threads.
 *
 *     open -> write ... write (any thread, any order) -> close
 *
 * A mapping has no return value: where the disk is full, or another program has cut the file off, the kernel sends SIGBUS. It is
 * caught here and becomes an error. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Threads fill a file in such parts, one at a time each: a huge page of x86 and of most other processors. */
#define LW_MAPPING_BYTES ((int64_t)2 << 20)

struct lw_mapping;

/** Map a file that is open for reading and writing and has its full length already; it is borrowed until close. From the first
 * call on, SIGBUS of other causes does what it did before. LW_ESYSTEM: no memory, no addresses, a limit on them. */
int lw_mapping_open(int fd, struct lw_mapping **out, struct lw_error *err);
void lw_mapping_close(struct lw_mapping *mapping);          /* NULL is legal; the descriptor stays open */

/** Write [offset, offset + bytes) of the file. What is behind the end that it had when it was mapped is written by pwrite.
 * Errors (LW_EIO, the reason alone) as lw_bytes_write, and where the file is shorter by now. */
int lw_mapping_write(struct lw_mapping *mapping, const void *from, int64_t offset, int64_t bytes, struct lw_error *err);

/** Whether the kernel makes huge pages of a file in memory when it is asked to (Linux from 6.1 on). */
bool lw_mapping_knows_huge_pages(void);
