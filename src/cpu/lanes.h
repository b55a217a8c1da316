/* lanes.h - the threads of an operation. Each takes task after task of a block and computes it in a lane, its own memory.
 *
 *     lw_cpu_lanes_open -> per block: lw_cpu_lanes_run (tasks 0 .. n - 1 in any order) -> lw_cpu_lanes_report -> ... close
 *
 * src/cpu/ols and src/cpu/conv2d use it: they cut a block into tasks and lay out a lane's memory. No result depends on the lane. */
#pragma once

#include "base/arena.h"
#include "base/integers.h"
#include "base/memory.h"
#include "engine/engine.h"

/* Count of a block's own samples that are not finite, and the first of them in the order of samples, channels and columns. */
struct lw_cpu_tally {
    int64_t n, sample, channel, column;
};

void lw_cpu_tally_add(struct lw_cpu_tally *to, struct lw_cpu_tally more);

/* First member of every lane. All but `memory` counts for the block so far. */
struct lw_cpu_lane {
    char *memory;                       /* laid out by the operation */
    struct lw_cpu_tally not_finite;     /* samples that are not finite */
    int64_t n_quiet;                    /* own windows without a normalized output */
    bool is_out_of_range;               /* some power is out of range */
    struct lw_loss loss;
};

struct lw_cpu_lanes {
    int n;
    size_t lane_bytes;                  /* bytes of the operation's own struct, which begins with a struct lw_cpu_lane */
    char *lanes;                        /* [n x lane_bytes]; owned, and so is the memory of each lane */
};

/** Return the number of lanes that find work: never more than a block has tasks. */
static inline int lw_cpu_lanes_needed(int n_threads, int64_t n_tasks) { return (int)lw_min64(n_threads, n_tasks); }

/** Return the bytes of a buffer in a lane: whole cache lines, plus one, so that buffers do not all start in the same cache set. */
static inline int64_t lw_cpu_padded(int64_t bytes)
{
    return bytes > 0 ? (lw_divide_up(bytes, LW_ALIGNMENT) + 1) * LW_ALIGNMENT : 0;
}

/** Take the next buffer of a lane from its arena; NULL while counting. */
static inline void *lw_cpu_take(struct lw_arena *arena, int64_t bytes)
{
    char *const part = arena->base ? arena->base + arena->used : NULL;
    arena->used += lw_cpu_padded(bytes);
    return part;
}

/** Open n lanes, each with memory_bytes of zeroed memory. The lanes may be closed even after an error. */
int lw_cpu_lanes_open(struct lw_cpu_lanes *lanes, int n, size_t lane_bytes, int64_t memory_bytes, struct lw_error *err);
void lw_cpu_lanes_close(struct lw_cpu_lanes *lanes);

/** Return lane number i, as the operation's own struct. */
static inline void *lw_cpu_lane_at(const struct lw_cpu_lanes *lanes, int i)
{
    return lanes->lanes + (size_t)i * lanes->lane_bytes;
}

/* A function that computes one task of the slot's block in a lane; `state` is the operation. */
typedef void (*lw_cpu_task)(const void *state, void *lane, const struct lw_slot *slot, int64_t task);

/** Begin a block and compute its tasks, or stop early when lw_leave_is_asked. Uses OpenMP threads that belong to the calling
 * thread.
 * @param chunk  tasks that a thread takes at a time */
void lw_cpu_lanes_run(const struct lw_cpu_lanes *lanes, lw_cpu_task task, const void *state, const struct lw_slot *slot,
                      int64_t n_tasks, int chunk);

/** Compute further tasks of the same block, after those before. */
void lw_cpu_lanes_continue(const struct lw_cpu_lanes *lanes, lw_cpu_task task, const void *state, const struct lw_slot *slot,
                           int64_t n_tasks, int chunk);

/** Set a slot's report on its samples and outputs: the sum over the lanes. */
void lw_cpu_lanes_report(const struct lw_cpu_lanes *lanes, struct lw_slot *slot);

/** Start the threads now, so that the first block does not wait for them. */
void lw_cpu_lanes_warm_up(const struct lw_cpu_lanes *lanes);

/** Copy to[i to_stride] = from[i from_stride], i < count. The two may overlap if `to` does not run ahead of `from`.
 * @param bytes  bytes of a sample: 4, 8 or 16 */
void lw_cpu_pick(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count, size_t bytes);
