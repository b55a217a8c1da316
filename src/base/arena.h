/* arena.h - one allocation carved into aligned parts, so that what is planned in bytes is what is allocated.
 *
 * The same code lays the parts out twice: once to count (base NULL), once over the memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LW_ARENA_ALIGNMENT 512          /* of every part: what cudaMalloc gives, and more than cuFFT asks */

struct lw_arena {
    char *base;                 /* NULL while counting */
    int64_t used;
};

/** The next part; NULL while counting. */
static inline void *lw_arena_take(struct lw_arena *arena, int64_t bytes)
{
    char *const part = arena->base ? arena->base + arena->used : NULL;
    arena->used += (bytes + LW_ARENA_ALIGNMENT - 1) / LW_ARENA_ALIGNMENT * LW_ARENA_ALIGNMENT;
    return part;
}
