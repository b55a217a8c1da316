/* lanes.h - the threads of an operation: each takes task after task of a block and computes it in a lane, memory of its own.
 *
 *     lw_cpu_lanes_open -> per block: lw_cpu_lanes_run (tasks 0 .. n - 1 in any order) -> lw_cpu_lanes_report -> ... close
 *
 * src/cpu/ols and src/cpu/conv2d stand on it: they cut a block into tasks and lay out a lane's memory. No result depends on
 * which lane computes a task. */
#pragma once

#include "base/integers.h"
#include "base/memory.h"
#include "engine/engine.h"

/* Own samples of a block that were not finite, and the first of them in the order of samples, channels and columns. */
struct lw_cpu_tally {
    int64_t n, sample, channel, column;
};

void lw_cpu_tally_add(struct lw_cpu_tally *to, struct lw_cpu_tally more);

/* First member of every lane. */
struct lw_cpu_lane {
    char *memory;                       /* the operation lays it out */
    struct lw_cpu_tally not_finite;     /* of the block so far, as all that follows */
    bool is_out_of_range;               /* some power */
    struct lw_loss loss;
};

struct lw_cpu_lanes {
    int n;
    size_t lane_bytes;                  /* of the operation's own struct, which begins with a struct lw_cpu_lane */
    char *lanes;                        /* [n x lane_bytes]; owned, and so is the memory of each */
};

/** Threads that find work: there are no more lanes than a block has tasks. */
static inline int lw_cpu_lanes_needed(int n_threads, int64_t n_tasks) { return (int)lw_min64(n_threads, n_tasks); }

/** Bytes of a buffer in a lane: whole cache lines, and one more so that the buffers do not all start in the same cache set. */
static inline int64_t lw_cpu_padded(int64_t bytes)
{
    return bytes > 0 ? (lw_divide_up(bytes, LW_ALIGNMENT) + 1) * LW_ALIGNMENT : 0;
}

/* A lane's memory is laid out twice by the same code: once to count its bytes (NULL), once over the memory. */
struct lw_cpu_arena {
    char *base;
    int64_t used;
};

static inline void *lw_cpu_take(struct lw_cpu_arena *arena, int64_t bytes)
{
    char *const part = arena->base ? arena->base + arena->used : NULL;
    arena->used += bytes;
    return part;
}

/** n lanes, each with memory_bytes of zeroed memory. The lanes may be closed whatever the outcome. */
int lw_cpu_lanes_open(struct lw_cpu_lanes *lanes, int n, size_t lane_bytes, int64_t memory_bytes, struct lw_error *err);
void lw_cpu_lanes_close(struct lw_cpu_lanes *lanes);

/** Lane number i, as the operation's own struct. */
static inline void *lw_cpu_lane_at(const struct lw_cpu_lanes *lanes, int i)
{
    return lanes->lanes + (size_t)i * lanes->lane_bytes;
}

/* Computes one task of the slot's block in a lane; `state` is the operation. */
typedef void (*lw_cpu_task)(const void *state, void *lane, const struct lw_slot *slot, int64_t task);

/** Begin a block and compute its tasks, until lw_leave_is_asked. Starts OpenMP threads of the calling thread's own.
 * @param chunk  tasks that a thread takes at a time */
void lw_cpu_lanes_run(const struct lw_cpu_lanes *lanes, lw_cpu_task task, const void *state, const struct lw_slot *slot,
                      int64_t n_tasks, int chunk);

/** Further tasks of the same block, when those before them are done. */
void lw_cpu_lanes_continue(const struct lw_cpu_lanes *lanes, lw_cpu_task task, const void *state, const struct lw_slot *slot,
                           int64_t n_tasks, int chunk);

/** Set what a slot says of its samples and outputs: the sum over the lanes. */
void lw_cpu_lanes_report(const struct lw_cpu_lanes *lanes, struct lw_slot *slot);

/** Start the threads, so that the first block need not. */
void lw_cpu_lanes_warm_up(const struct lw_cpu_lanes *lanes);

/** to[i to_stride] = from[i from_stride], i < count. The two may overlap where `to` does not run ahead of `from`.
 * @param bytes  of a sample: 4, 8 or 16 */
void lw_cpu_pick(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count, size_t bytes);
