/* op.h - operations of the CPU engine, as a table of functions; src/cpu/engine.c finds the table.
 *
 *     engine.c (slots, a worker thread) -> ols/, beams/, conv2d/: a block is cut into tasks -> lanes.h: OpenMP threads compute them
 *                                       -> kernels/: inner loops for each precision and instruction set (dispatch.h chooses)
 *
 * sfft/ stands apart: its solvers take all samples at once, without slots and blocks. */
#pragma once

#include "engine/engine.h"

/* Size of the largest block, and the threads that compute it. */
struct lw_cpu_op_size {
    int64_t count, n_channels;
    int n_threads;
};

struct lw_cpu_op_ops {
    /** Resolve a spec, as op_plan of engine/engine.h. */
    int (*plan)(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

    /** Return the bytes that create allocates, without the slots. */
    int64_t (*bytes)(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size);

    /** Allocate and fill the state, a struct that begins with its struct lw_cpu_lanes. Borrows the spec's taps until it returns. */
    int (*create)(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size,
                  void **out, struct lw_error *err);
    /** Replace the filters, see op_fill of engine/engine.h; NULL: there are none. */
    int (*fill)(void *state, const struct lw_ols_part *part, struct lw_error *err);
    void (*destroy)(void *state);                               /* accepts NULL and a half-built state */

    /* The engine's worker thread calls these, and they use its OpenMP threads. */
    void (*run)(void *state, struct lw_slot *slot);             /* compute the products of slot->block, and what `wait` sets */
    void (*again)(void *state, struct lw_slot *slot, const struct lw_part *part);  /* see engine/engine.h; NULL: no table */
    void (*join_best)(void *state, struct lw_slot *slot, int64_t first, int64_t n, const void *values, const int32_t *filters);
};

extern const struct lw_cpu_op_ops lw_cpu_op_ols, lw_cpu_op_conv2d;
extern const struct lw_cpu_op_ops lw_cpu_op_beams;          /* overlap-save filtering of beams */
