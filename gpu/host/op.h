/* op.h - the interface that each operation of the CUDA engine implements (ols, conv2d). gpu/host/engine.c finds the implementation
 * by lw_op_kind and calls it in this order:
 *
 *     plan, measure (sizes only) --> create --> enqueue, for each block [--> again, for a part] --> destroy */
#pragma once

#include "base/pool.h"
#include "gpu/device/nan_report.h"
#include "gpu/host/device.h"

#include <cuda_runtime_api.h>

/* The size of the largest block, and the memory that follows from it. */
struct lw_cuda_op_memory {
    int64_t count, n_channels;      /* size of the largest block */
    struct lw_slot_bytes slot;      /* bytes of input and products, needed both on the host and on the device */
    int64_t work_bytes;             /* device memory of a slot beyond input and products */
    int64_t op_bytes;               /* device memory for the operation's life */
    int64_t setup_bytes;            /* device memory that is freed at the end of create */
    int64_t host_bytes;             /* pageable memory for the operation's life */
};

/* One submitted block on the device. All work for it is enqueued on `stream`. */
struct lw_cuda_op_block {
    void *input;                    /* layout as in struct lw_slot, on the device; may be overwritten */
    void *products[LW_OP_PRODUCTS];
    int64_t most_rows[LW_OP_PRODUCTS];      /* rows that a table has room for */
    void *work;                     /* scratch of the slot, memory.work_bytes */
    struct lw_nan_report *report;   /* zeroed before the block */
    struct lw_block block;
    cudaStream_t stream;
};

struct slot_cuda;

struct lw_cuda_op_ops {
    /** Choose an algorithm and fill `plan`. LW_ECONFIG if the spec cannot be met. Allocates nothing. */
    int (*plan)(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

    /** Fill work_bytes, op_bytes, setup_bytes and host_bytes; the caller has set the other fields. */
    void (*measure)(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_cuda_op_memory *memory);

    /** Allocate and fill what the operation keeps; the caller has set op->spec, plan, memory and device. The work may still be in
     * flight on `stream` at return. */
    int (*create)(struct lw_op *op, cudaStream_t stream, struct lw_error *err);
    void (*destroy)(struct lw_op *op);          /* accepts a half-built operation */

    /** Enqueue the kernels of one block. Allocates nothing and does not wait. */
    int (*enqueue)(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err);

    /** Enqueue the kernels that make the table's rows for a part of a block. `enqueue` has run for the block, the input is as it
     * left it, and report->n_rows is zero. NULL: there is no table. */
    int (*again)(struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, struct lw_error *err);
};

struct lw_op {
    const struct lw_cuda_op_ops *ops;
    const struct lw_device *device;     /* borrowed from the engine */
    struct lw_op_spec spec;             /* its pointer to the taps is invalid after create */
    struct lw_op_plan plan;
    struct lw_cuda_op_memory memory;
    cudaStream_t in, out;               /* all slots' copies to and from the device, in block order */
    struct slot_cuda *waited;           /* the slot that was waited for last; NULL: none yet */
    struct lw_pool *threads;            /* threads that pin the slots' memory */
    void *state;                        /* the implementation's own, which it frees in destroy */
};

extern const struct lw_cuda_op_ops lw_cuda_op_ols, lw_cuda_op_conv2d;
