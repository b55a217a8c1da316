/* op.h - what an operation of the CUDA engine implements. gpu/host/engine.c finds the implementation by lw_op_kind. */
#pragma once

#include "base/pool.h"
#include "gpu/device/nan_report.h"
#include "gpu/host/device.h"

#include <cuda_runtime_api.h>

/* Largest block, and the memory that follows from it. */
struct lw_cuda_op_memory {
    int64_t count, n_channels;      /* of the largest block */
    struct lw_slot_bytes slot;      /* each on the host and on the device */
    int64_t work_bytes;             /* device memory of a slot beyond these */
    int64_t op_bytes;               /* device memory for the operation's life */
    int64_t setup_bytes;            /* device memory only while it is created */
    int64_t host_bytes;             /* pageable memory for the operation's life */
};

/* One submitted block on the device; everything is enqueued on `stream`. */
struct lw_cuda_op_block {
    void *input;                    /* as struct lw_slot describes, on the device; may be changed */
    void *products[LW_OP_PRODUCTS];
    int64_t most_rows[LW_OP_PRODUCTS];      /* that there is room for in a table */
    void *work;                     /* memory.work_bytes */
    struct lw_nan_report *report;   /* zeroed */
    struct lw_block block;
    cudaStream_t stream;
};

struct slot_cuda;

struct lw_cuda_op_ops {
    int (*plan)(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

    /** Fill work_bytes, op_bytes, setup_bytes and host_bytes; the other fields are set. */
    void (*measure)(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_cuda_op_memory *memory);

    /** Allocate and fill what the operation keeps; op->spec, plan, memory and device are set. The work may be in flight on
     * `stream` at return. */
    int (*create)(struct lw_op *op, cudaStream_t stream, struct lw_error *err);
    void (*destroy)(struct lw_op *op);          /* accepts a half-built operation */

    /** Enqueue the kernels of one block. Allocates nothing and does not wait. */
    int (*enqueue)(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err);

    /** Enqueue the kernels that make the rows of the table for a part of a block that `enqueue` was called for: its input is as
     * that has left it, report->n_rows is zero. NULL: there is no table. */
    int (*again)(struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, struct lw_error *err);
};

struct lw_op {
    const struct lw_cuda_op_ops *ops;
    const struct lw_device *device;     /* borrowed from the engine */
    struct lw_op_spec spec;             /* the taps are gone after create */
    struct lw_op_plan plan;
    struct lw_cuda_op_memory memory;
    cudaStream_t in, out;               /* copies of all slots, in the order of their blocks (gpu/host/engine.c) */
    struct slot_cuda *waited;           /* the slot that was waited for last; NULL: none was */
    struct lw_pool *threads;            /* which pin the slots' memory */
    void *state;                        /* of the implementation, owned */
};

extern const struct lw_cuda_op_ops lw_cuda_op_ols, lw_cuda_op_conv2d;
