/* engine.c - the CUDA engine: one GPU. Operations are in gpu/ols/ols.c and gpu/conv2d/conv2d.c, slots in
 * gpu/host/slot.c. */
#include "base/memory.h"
#include "engine/registry.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/op.h"
#include "gpu/host/pinned.h"
#include "gpu/host/slot.h"
#include "gpu/sfft/dense.h"
#include "gpu/sfft/published/solver.h"
#include "gpu/sfft/solver.h"

#include <inttypes.h>
#include <stdio.h>

/* What is done block by block. LW_OP_SFFT is not: it has solvers of its own, and nobody plans an operation for it. */
static const struct lw_cuda_op_ops *const operations[] = {
    [LW_OP_OLS] = &lw_cuda_op_ols,
    [LW_OP_CONV2D] = &lw_cuda_op_conv2d,
};

static void describe(const struct lw_engine *engine, char *text, size_t size)
{
    const struct lw_device *const device = lw_cuda_device_of(engine);
    char memory[24];
    snprintf(text, size, "%s, %s, %s", device->name, device->uuid, lw_bytes_text(device->memory_bytes, memory));
}

/* Sums of sfft's recovery are ordered by the number of blocks that run at a time. */
static void architecture(const struct lw_engine *engine, char *text, size_t size)
{
    const struct lw_device *const device = lw_cuda_device_of(engine);
    snprintf(text, size, "sm_%d%d with %d multiprocessors", device->major, device->minor, device->n_multiprocessors);
}

static int op_plan(const struct lw_engine *engine, const struct lw_op_spec *spec, struct lw_op_plan *plan,
                   struct lw_error *err)
{
    return operations[spec->kind]->plan(lw_cuda_device_of(engine), spec, plan, err);
}

static struct lw_cuda_op_memory memory_of(const struct lw_engine *engine, const struct lw_op_spec *spec,
                                          const struct lw_op_plan *plan, int64_t count, int64_t n_channels)
{
    struct lw_cuda_op_memory memory = {
        .count = count,
        .n_channels = n_channels,
        .slot = lw_op_slot_bytes(spec, plan, count, n_channels),
    };
    operations[spec->kind]->measure(lw_cuda_device_of(engine), spec, plan, &memory);
    return memory;
}

static struct lw_bytes op_bytes(const struct lw_engine *engine, const struct lw_op_spec *spec,
                                const struct lw_op_plan *plan, int64_t count, int64_t n_channels, int depth)
{
    const struct lw_cuda_op_memory memory = memory_of(engine, spec, plan, count, n_channels);
    struct lw_bytes bytes = lw_cuda_slot_bytes(&memory);
    bytes.host = bytes.host * depth + memory.host_bytes;
    bytes.pinned *= depth;
    /* What is needed only for the set-up is gone before the slots are made. */
    const int64_t setup = lw_device_bytes(memory.setup_bytes);
    bytes.device *= depth;
    bytes.device = lw_device_bytes(memory.op_bytes) + (bytes.device > setup ? bytes.device : setup);
    return bytes;
}

static void op_destroy(struct lw_op *op)
{
    if (!op)
        return;
    op->ops->destroy(op);
    if (op->in)
        cudaStreamDestroy(op->in);
    if (op->out)
        cudaStreamDestroy(op->out);
    lw_pool_destroy(op->threads);
    lw_free(op);
}

/* Run the operation's set-up and wait for that. */
static int set_up(struct lw_op *op, struct lw_error *err)
{
    int rc;
    if ((rc = lw_cuda_check(cudaStreamCreateWithFlags(&op->in, cudaStreamNonBlocking), "making a stream", err)) ||
        (rc = lw_cuda_check(cudaStreamCreateWithFlags(&op->out, cudaStreamNonBlocking), "making a stream", err)) ||
        (rc = lw_pinned_threads(&op->threads, err)))
        return rc;
    rc = op->ops->create(op, op->in, err);
    const cudaError_t status = cudaStreamSynchronize(op->in);
    return rc ? rc : lw_cuda_check(status, "preparing the filters on the device", err);
}

static int op_create(struct lw_engine *engine, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                     int64_t count, int64_t n_channels, struct lw_op **out, struct lw_error *err)
{
    struct lw_op *const op = lw_alloc(sizeof *op, "an operation", err);
    if (!op)
        return LW_ESYSTEM;
    op->ops = operations[spec->kind];
    op->device = lw_cuda_device_of(engine);
    op->spec = *spec;
    op->plan = *plan;
    op->memory = memory_of(engine, spec, plan, count, n_channels);
    const int rc = set_up(op, err);
    if (rc) {
        op_destroy(op);
        return rc;
    }
    *out = op;
    return LW_OK;
}

static const struct lw_engine_ops engine_ops = {
    .name = "cuda",
    .describe = describe,
    .architecture = architecture,
    .op_plan = op_plan,
    .op_bytes = op_bytes,
    .op_create = op_create,
    .op_destroy = op_destroy,
    .slot_create = lw_cuda_slot_create,
    .slot_destroy = lw_cuda_slot_destroy,
    .submit = lw_cuda_slot_submit,
    .wait = lw_cuda_slot_wait,
    .again = lw_cuda_slot_again,
    .sparse = &lw_cuda_sparse_ops,
    .dense = &lw_cuda_dense_ops,
    .published = &lw_cuda_published_ops,
};

static int create(const struct lw_engine_spec *spec, struct lw_engine **out, struct lw_error *err)
{
    struct lw_cuda_engine *const engine = lw_alloc(sizeof *engine, "the CUDA engine", err);
    if (!engine)
        return LW_ESYSTEM;
    const int rc = lw_device_open(spec, &engine->device, err);
    if (rc) {
        lw_free(engine);
        return rc;
    }
    engine->base = (struct lw_engine){
        .ops = &engine_ops,
        .depth = 4,             /* one block is read, one copied in, one computed and copied out, one written */
        .n_workers = 1,
        .device_bytes = engine->device.usable_bytes,
    };
    snprintf(engine->base.device_id, sizeof engine->base.device_id, "%s", engine->device.uuid);
    snprintf(engine->base.device_cores, sizeof engine->base.device_cores, "/sys/bus/pci/devices/%s/local_cpulist",
             engine->device.bus);
    *out = &engine->base;
    return LW_OK;
}

const struct lw_engine_type lw_cuda_engine = {
    .name = "cuda", .is_usable = lw_device_is_usable, .warm_up = lw_device_warm_up, .create = create,
};
