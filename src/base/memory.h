/* memory.h - host allocation with an error instead of NULL, and how much memory this process may use. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Alignment of every buffer from lw_alloc: a cache line, and enough for any SIMD unit FFTW knows. */
#define LW_ALIGNMENT 64

/** `bytes` of zeroed memory aligned to LW_ALIGNMENT, or NULL with `err` set (LW_ESYSTEM, naming the size and `what`).
 * Zero bytes give a valid pointer. Release with lw_free. */
void *lw_alloc(size_t bytes, const char *what, struct lw_error *err);

/** lw_alloc of `count` elements of `size` bytes; an overflowing product is an error. */
void *lw_alloc_array(int64_t count, size_t size, const char *what, struct lw_error *err);

void lw_free(void *memory);     /* NULL is legal */

/** Give what has been freed back to the system, so that it does not count beside what is allocated next. */
void lw_memory_trim(void);

/** Text of a byte count, for example "1.5 GiB". Returns `text`. */
const char *lw_bytes_text(int64_t bytes, char text[24]);

/* What bounds this process' memory, and why; the smallest one counts. */
struct lw_memory_limit {
    int64_t bytes;              /* what all ranks of this node may use together */
    const char *source;         /* "available memory", "cgroup limit", "Slurm's grant" */
};

/** The smallest of the system's available memory (/proc/meminfo MemAvailable), what the cgroup (v1 or v2) still allows, and
 * Slurm's grant for this node (SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU times the CPUs on the node, MiB). The page cache
 * counts as free. */
struct lw_memory_limit lw_memory_available(void);

int64_t lw_memory_resident_bytes(void);     /* resident set size now (VmRSS); 0 if unknown */
int64_t lw_memory_peak_bytes(void);         /* its peak since the start (VmHWM); 0 if unknown */
