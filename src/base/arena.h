/* arena.h - one allocation carved into aligned parts, so that planning counts the same bytes as allocating.
 *
 * The code that lays out the parts runs twice: once with base NULL, which only counts bytes; and once over the allocated memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LW_ARENA_ALIGNMENT 512          /* alignment of every part, bytes: the same as from cudaMalloc, and more than cuFFT needs */

struct lw_arena {
    char *base;                 /* start of the memory; NULL while counting */
    int64_t used;               /* bytes of the parts taken so far, with padding */
};

/** Return the next part of `bytes` bytes, rounded up to the alignment; NULL while counting. */
static inline void *lw_arena_take(struct lw_arena *arena, int64_t bytes)
{
    char *const part = arena->base ? arena->base + arena->used : NULL;
    arena->used += (bytes + LW_ARENA_ALIGNMENT - 1) / LW_ARENA_ALIGNMENT * LW_ARENA_ALIGNMENT;
    return part;
}
