/* op.h - the interface that each operation of the CUDA engine implements (ols, conv2d). gpu/host/engine.c chooses an implementation
 * by lw_op_kind and calls its functions in this order:
 *
 *     plan, measure (sizes only) --> create [, fill] --> for each block: enqueue [, repeat] [, again for parts] --> destroy */
#pragma once

#include "base/pool.h"
#include "gpu/device/nan_report.h"
#include "gpu/host/device.h"

#include <cuda_runtime_api.h>

/* Memory of an operation, which the size of its largest block sets. */
struct lw_cuda_op_memory {
    int64_t count, n_channels;      /* size of the largest block */
    struct lw_slot_bytes slot;      /* bytes of a slot's input, map and products, on the host and again on the device */
    int64_t work_bytes;             /* device memory of a slot beside input and products */
    int64_t op_bytes;               /* device memory for the operation's life */
    int64_t setup_bytes;            /* device memory during `create` only */
    int64_t pinned_bytes;           /* pinned memory for the operation's life, beside the slots' */
    int64_t setup_pinned_bytes;     /* pinned memory during `create` only */
    int64_t host_bytes;             /* pageable host memory for the operation's life */
};

/* A submitted block. All pointers are device memory; all work for the block is enqueued on `stream`. */
struct lw_cuda_op_block {
    void *input;                    /* samples, laid out as in struct lw_slot; may be overwritten */
    void *map;                      /* weights of the input's pixels, laid out as these; NULL: none */
    void *products[LW_OP_PRODUCTS];
    int64_t most_rows[LW_OP_PRODUCTS];      /* rows that a product has room for if it is a table */
    void *work;                     /* scratch memory of the slot, work_bytes long */
    struct lw_nan_report *report;   /* zeroed before the block */
    struct lw_block block;
    bool goes_on;                   /* the best values and filters are those of earlier filters (struct lw_slot) */
    cudaStream_t stream;
};

struct slot_cuda;

struct lw_cuda_op_ops {
    /** Choose an algorithm and fill *plan. LW_ECONFIG if no algorithm can do what the spec asks for. Allocates nothing. */
    int (*plan)(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

    /** Fill work_bytes, op_bytes, host_bytes, pinned_bytes and the setup's bytes; the caller has set the other fields. */
    void (*measure)(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_cuda_op_memory *memory);

    /** Allocate and fill the memory for the operation's life; the caller has set op->spec, plan, memory and device. At return, work
     * on `stream` may still be in flight. */
    int (*create)(struct lw_op *op, cudaStream_t stream, struct lw_error *err);
    /** Replace the filters (lw_engine_ops.op_fill), and wait for the work on `stream`. NULL if the operation has none. */
    int (*fill)(struct lw_op *op, const struct lw_ols_part *part, cudaStream_t stream, struct lw_error *err);
    void (*destroy)(struct lw_op *op);          /* accepts an operation whose `create` failed */

    /** Enqueue the kernels of one block. Allocates nothing and does not wait. */
    int (*enqueue)(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err);

    /** Return whether the block of a finished `enqueue` must be computed anew by other steps, as its report tells. NULL: never. */
    bool (*must_repeat)(const struct lw_op *op, const struct lw_block *block, const struct lw_nan_report *report);

    /** Enqueue these steps. The caller has zeroed the report; the input is as `enqueue` left it. */
    int (*repeat)(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err);

    /** Enqueue the kernels that make the table's rows for a part of a block. The caller has enqueued the block before, has not
     * changed its input since, and has set report->n_rows to 0. NULL if the operation makes no table. */
    int (*again)(struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, struct lw_error *err);

    /** Enqueue what lw_engine_ops.join_best does to the best outputs on the device. NULL if there is no `fill`.
     * @param values, filters  device */
    int (*join_best)(const struct lw_op *op, const struct lw_cuda_op_block *work, int64_t first, int64_t n, const void *values,
                     const int32_t *filters, struct lw_error *err);
};

struct lw_op {
    const struct lw_cuda_op_ops *ops;
    const struct lw_device *device;     /* borrowed from the engine */
    struct lw_op_spec spec;             /* the taps that it points to are gone after `create` */
    struct lw_op_plan plan;
    struct lw_cuda_op_memory memory;
    cudaStream_t in, out;               /* streams of all slots' copies to and from the device, in block order */
    struct slot_cuda *waited;           /* the slot that was waited for last; NULL: none yet */
    struct lw_pool *threads;            /* threads that pin the slots' memory */
    struct lw_counter *counter;         /* counts series that stay on the device (count.c); NULL: series leave it */
    void *joined;                       /* device: best outputs of another rank, LW_MOST_JOINED of them; NULL: ranks have none */
    void *state;                        /* state of the implementation, which frees it in `destroy` */
};

/** Return the device and the pinned bytes of a counter; 0 if the operation needs none. Make and destroy op->counter. */
struct lw_bytes lw_counter_bytes(const struct lw_op_spec *spec, const struct lw_cuda_op_memory *memory);
int lw_counter_create(struct lw_op *op, struct lw_error *err);
void lw_counter_destroy(struct lw_op *op);

/** See lw_engine_ops.count. @param series  device; the series of a block that the work on `stream` has made */
int lw_counter_count(const struct lw_op *op, const struct lw_block *block, const void *series, const struct lw_counting *what,
                     lw_counts_fn *take, void *context, cudaStream_t stream, struct lw_error *err);

extern const struct lw_accel_ops lw_cuda_accel_ops;
extern const struct lw_cuda_op_ops lw_cuda_op_ols, lw_cuda_op_beams, lw_cuda_op_stacks, lw_cuda_op_conv2d;
