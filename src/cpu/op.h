/* op.h - what an operation of the CPU engine implements. src/cpu/engine.c finds the implementation by lw_op_kind. */
#pragma once

#include "engine/engine.h"

/* The largest block, and the threads that compute it. */
struct lw_cpu_op_size {
    int64_t count, n_channels;
    int n_threads;
};

struct lw_cpu_op_ops {
    /** Resolve a spec, as op_plan of engine/engine.h. */
    int (*plan)(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

    /** Bytes of create, without the slots. */
    int64_t (*bytes)(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size);

    /** Allocate and fill what the operation keeps, a struct that begins with its struct lw_cpu_lanes; the spec's taps are borrowed
     * until it returns. */
    int (*create)(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size,
                  void **out, struct lw_error *err);
    void (*destroy)(void *state);                               /* NULL and a half-built state are legal */

    /* These are called by the engine's worker thread, whose own OpenMP threads they use. */
    void (*run)(void *state, struct lw_slot *slot);             /* slot->block: output from input, and what wait sets */
    void (*again)(void *state, struct lw_slot *slot, const struct lw_part *part);  /* see engine/engine.h; NULL: no table */
};

extern const struct lw_cpu_op_ops lw_cpu_op_ols, lw_cpu_op_conv2d;
