/* memory.h - host allocations that report errors, and the memory that this process may use. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Alignment of every buffer from lw_alloc, bytes: a cache line, and enough for every SIMD unit that FFTW uses. */
#define LW_ALIGNMENT 64

/** Return `bytes` of zeroed memory, aligned to LW_ALIGNMENT; NULL on failure with `err` set (LW_ESYSTEM, naming the size and
 * `what`). Zero bytes give a valid pointer. Release with lw_free. */
void *lw_alloc(size_t bytes, const char *what, struct lw_error *err);

/** Allocate `count` elements of `size` bytes with lw_alloc; a product that overflows is an error. */
void *lw_alloc_array(int64_t count, size_t size, const char *what, struct lw_error *err);

void lw_free(void *memory);     /* NULL is legal */

/* Attribute of pointers to memory that only their scope uses: it is freed at the end of the scope. */
#define LW_FREED __attribute__((cleanup(lw_free_at)))
void lw_free_at(const void *pointer);

/** Return freed memory to the system; otherwise this memory would count as used beside the next allocation. */
void lw_memory_trim(void);

/** Write a byte count as text, for example "1.5 GiB". Return `text`. */
const char *lw_bytes_text(int64_t bytes, char text[24]);

/* The smallest of the limits on memory, and its origin. */
struct lw_memory_limit {
    int64_t bytes;              /* bytes that all ranks on this node may use together */
    const char *source;         /* "available memory", "cgroup limit", "Slurm's grant" */
};

/** Return the smallest of three limits: the system's available memory (/proc/meminfo MemAvailable; if unknown, 1 GiB); the room
 * in the cgroup (v1 or v2); Slurm's grant for this node (SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU times its CPUs, MiB). The page
 * cache counts as free. */
struct lw_memory_limit lw_memory_available(void);

/** Have lw_memory_available return these bytes from now on, for plans of machines that are not here. 0: the true ones */
void lw_memory_imagine(int64_t bytes);

int64_t lw_memory_resident_bytes(void);     /* resident set size now (VmRSS); 0 if unknown */
int64_t lw_memory_peak_bytes(void);         /* largest resident set size since the start (VmHWM); 0 if unknown */
