/* engine.c - the CUDA engine: it drives one GPU, and passes each block through the buffers of a slot.
 *
 *     pinned input --H2D--> device input --kernels--> device products --D2H--> pinned products
 *
 * Kernels run on the slot's own stream. Copies run on two streams that all slots share, one per direction. With copy streams per
 * slot, copies of two slots in one direction would share the link: both would end late, and the link would idle afterwards.
 * A table's number of rows is known only when the block is done; its rows are then copied on the slot's own stream.
 *
 * A slot's input may be filled as soon as the slot exists, while its memory is still being pinned. The first submit waits for
 * the pinning, and reports it if it failed. */
#include "base/integers.h"
#include "base/memory.h"
#include "engine/gpus.h"
#include "engine/registry.h"
#include "gpu/device/convert.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/op.h"
#include "gpu/host/pinned.h"
#include "gpu/sfft/dense.h"
#include "gpu/sfft/published/solver.h"
#include "gpu/sfft/solver.h"

#include <assert.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

/* ---- slots ------------------------------------------------------------------------------------------------------- */

struct slot_cuda {
    struct lw_slot base;                    /* input and output are pinned */
    cudaStream_t stream;
    cudaEvent_t begun, arrived, computed, done;     /* begin and end of the copy in, end of the kernels, end of the copies out */
    struct lw_pinned pinned;                /* host memory of input, map, products and report */
    void *device;                           /* device memory of input, map, products, work and report */
    void *device_input, *device_map, *device_products[LW_OP_PRODUCTS], *device_work;
    struct lw_nan_report *report, *device_report;
    bool is_submitted;                      /* submitted and not waited for yet */
};

static struct slot_cuda *of(struct lw_slot *slot) { return (struct slot_cuda *)slot; }

static int64_t lay_out_pinned(struct slot_cuda *slot, const struct lw_op_spec *spec, const struct lw_cuda_op_memory *memory)
{
    struct lw_arena arena = {.base = slot->pinned.memory};
    slot->base.input = lw_arena_take(&arena, memory->slot.input);
    slot->base.map = memory->slot.map > 0 ? lw_arena_take(&arena, memory->slot.map) : NULL;
    for (int p = 0; p < LW_OP_PRODUCTS && memory->slot.products[p] > 0 && spec->pieces == 0; p++)
        slot->base.products[p].data = lw_arena_take(&arena, memory->slot.products[p]);
    slot->report = lw_arena_take(&arena, sizeof *slot->report);
    return arena.used;
}

static int64_t lay_out_device(struct slot_cuda *slot, const struct lw_cuda_op_memory *memory)
{
    struct lw_arena arena = {.base = slot->device};
    slot->device_input = lw_arena_take(&arena, memory->slot.input);
    slot->device_map = memory->slot.map > 0 ? lw_arena_take(&arena, memory->slot.map) : NULL;
    for (int p = 0; p < LW_OP_PRODUCTS && memory->slot.products[p] > 0; p++)
        slot->device_products[p] = lw_arena_take(&arena, memory->slot.products[p]);
    slot->device_work = lw_arena_take(&arena, memory->work_bytes);
    slot->device_report = lw_arena_take(&arena, sizeof *slot->device_report);
    return arena.used;
}

static int allocate(struct lw_op *op, struct slot_cuda *slot, struct lw_error *err)
{
    const struct lw_cuda_op_memory *const memory = &op->memory;
    const int64_t pinned_bytes = lay_out_pinned(slot, &op->spec, memory);
    const int64_t device_bytes = lay_out_device(slot, memory);
    int rc;
    if ((rc = lw_cuda_allocate(device_bytes, "the buffers of a block", &slot->device, err)) ||
        (rc = lw_pinned_begin(&slot->pinned, pinned_bytes, op->device->index, op->threads, err)))
        return rc;
    lay_out_pinned(slot, &op->spec, memory);
    lay_out_device(slot, memory);
    lw_slot_set_rows(&op->plan, &memory->slot, &slot->base);
    return LW_OK;
}

/* Wait for all work on the slot's streams, then destroy the slot. */
static void slot_destroy(struct lw_op *op, struct lw_slot *slot)
{
    struct slot_cuda *const s = of(slot);
    if (!s)
        return;
    if (op->waited == s)
        op->waited = NULL;
    const cudaStream_t streams[] = {op->in, s->stream, op->out};
    for (int i = 0; i < 3; i++)
        if (streams[i])
            cudaStreamSynchronize(streams[i]);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    const cudaEvent_t events[] = {s->begun, s->arrived, s->computed, s->done};
    for (int i = 0; i < 4; i++)
        if (events[i])
            cudaEventDestroy(events[i]);
    cudaFree(s->device);
    lw_pinned_end(&s->pinned, op->threads);
    lw_free(s);
}

static int slot_create(struct lw_op *op, struct lw_slot **out, struct lw_error *err)
{
    struct slot_cuda *const slot = lw_alloc(sizeof *slot, "the buffers of a block", err);
    if (!slot)
        return LW_ESYSTEM;
    int rc;
    if ((rc = allocate(op, slot, err)) ||
        (rc = lw_cuda_check(cudaStreamCreateWithFlags(&slot->stream, cudaStreamNonBlocking), "making a stream", err)) ||
        (rc = lw_cuda_check(cudaEventCreate(&slot->begun), "making an event", err)) ||
        (rc = lw_cuda_check(cudaEventCreateWithFlags(&slot->arrived, cudaEventDisableTiming), "making an event", err)) ||
        (rc = lw_cuda_check(cudaEventCreateWithFlags(&slot->computed, cudaEventDisableTiming), "making an event", err)) ||
        (rc = lw_cuda_check(cudaEventCreateWithFlags(&slot->done, cudaEventBlockingSync), "making an event", err))) {
        slot_destroy(op, &slot->base);
        return rc;
    }
    *out = &slot->base;
    return LW_OK;
}

/* Make `stream` wait for the work that has been enqueued on stream `before` so far, by means of `event`. */
static cudaError_t follow(cudaStream_t stream, cudaEvent_t event, cudaStream_t before)
{
    const cudaError_t status = cudaEventRecord(event, before);
    return status == cudaSuccess ? cudaStreamWaitEvent(stream, event, 0) : status;
}

/* Copy n places of the best outputs, from place `first` on, to the device or from it. */
static cudaError_t copy_best(const struct lw_op *op, struct slot_cuda *slot, int64_t first, int64_t n, enum cudaMemcpyKind kind,
                             cudaStream_t stream)
{
    static const enum lw_op_product_kind kinds[] = {LW_OP_BEST_VALUE, LW_OP_BEST_FILTER};
    cudaError_t status = cudaSuccess;
    for (int k = 0; k < 2 && status == cudaSuccess; k++) {
        const int p = lw_op_find_product(&op->plan, kinds[k]);
        const size_t each = lw_type_bytes(op->plan.products[p].type), at = (size_t)first * each;
        char *const host = (char *)slot->base.products[p].data + at, *const device = (char *)slot->device_products[p] + at;
        const bool is_in = kind == cudaMemcpyHostToDevice;
        status = cudaMemcpyAsync(is_in ? device : host, is_in ? host : device, (size_t)n * each, kind, stream);
    }
    return status;
}

static int copy_in(const struct lw_op *op, struct slot_cuda *slot, struct lw_error *err)
{
    const struct lw_block *const block = &slot->base.block;
    cudaError_t status = cudaEventRecord(slot->begun, op->in);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(slot->device_input, slot->base.input,
                                 (size_t)lw_op_input_bytes(&op->spec, &op->plan, block->count, block->n_channels),
                                 cudaMemcpyHostToDevice, op->in);
    if (status == cudaSuccess && slot->base.map)
        status = cudaMemcpyAsync(slot->device_map, slot->base.map,
                                 (size_t)lw_op_map_bytes(&op->spec, &op->plan, block->count, block->n_channels),
                                 cudaMemcpyHostToDevice, op->in);
    if (status == cudaSuccess && slot->base.goes_on)
        status = copy_best(op, slot, 0, block->count * block->n_channels, cudaMemcpyHostToDevice, op->in);
    if (status == cudaSuccess)
        status = cudaMemsetAsync(slot->device_report, 0, sizeof *slot->device_report, slot->stream);
    if (status == cudaSuccess)
        status = follow(slot->stream, slot->arrived, op->in);
    return lw_cuda_check(status, "copying a block to the device", err);
}

/* Return the bytes of a product that the kernels write for a block: the block's outputs, packed; 0 for a table. */
static int64_t written_bytes(const struct lw_op *op, int product, const struct lw_block *block)
{
    const struct lw_op_product *const p = &op->plan.products[product];
    return p->n_planes * lw_op_outputs(&op->plan, product, block) * block->n_channels * p->width * (int64_t)lw_type_bytes(p->type);
}

/* Reverse the bytes of each scalar in place, if `type` is in the other byte order. Input may be changed: the slot owns it. */
static int order_bytes(struct lw_type type, void *data, int64_t bytes, cudaStream_t stream, struct lw_error *err)
{
    if (!type.is_swapped)
        return LW_OK;
    const int64_t n = bytes / (int64_t)lw_scalar_bytes(type.scalar);
    return lw_cuda_check(lw_cuda_swap_bytes(data, type.scalar, n, stream), "swapping bytes", err);
}

static int order_products(const struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    int rc = LW_OK;
    for (int p = 0; p < op->plan.n_products && rc == LW_OK; p++)
        rc = order_bytes(op->plan.products[p].type, work->products[p], written_bytes(op, p, &work->block), work->stream, err);
    return rc;
}

static int compute(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    const struct lw_block *const block = &work->block;
    int rc = order_bytes(op->spec.input, work->input, lw_op_input_bytes(&op->spec, &op->plan, block->count, block->n_channels),
                         work->stream, err);
    if (rc == LW_OK && work->map)
        rc = order_bytes(op->spec.conv2d.map, work->map,
                         lw_op_map_bytes(&op->spec, &op->plan, block->count, block->n_channels), work->stream, err);
    if (rc == LW_OK)
        rc = op->ops->enqueue(op, work, err);
    return rc ? rc : order_products(op, work, err);
}

static int copy_out(const struct lw_op *op, struct slot_cuda *slot, struct lw_error *err)
{
    cudaError_t status = follow(op->out, slot->computed, slot->stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(slot->report, slot->device_report, sizeof *slot->report, cudaMemcpyDeviceToHost, op->out);
    for (int p = 0; p < op->plan.n_products && op->spec.pieces == 0 && status == cudaSuccess; p++)
        status = cudaMemcpyAsync(slot->base.products[p].data, slot->device_products[p],
                                 (size_t)written_bytes(op, p, &slot->base.block), cudaMemcpyDeviceToHost, op->out);
    if (status == cudaSuccess)
        status = cudaEventRecord(slot->done, op->out);
    return lw_cuda_check(status, "copying a block from the device", err);
}

static struct lw_cuda_op_block work_of(const struct slot_cuda *slot)
{
    struct lw_cuda_op_block work = {
        .input = slot->device_input, .map = slot->device_map, .work = slot->device_work, .report = slot->device_report,
        .block = slot->base.block, .goes_on = slot->base.goes_on, .stream = slot->stream,
    };
    memcpy(work.products, slot->device_products, sizeof work.products);
    for (int p = 0; p < LW_OP_PRODUCTS; p++)
        work.most_rows[p] = slot->base.products[p].most_rows;
    return work;
}

static int submit(struct lw_op *op, struct lw_slot *slot, const struct lw_block *block, struct lw_error *err)
{
    assert(block->count > 0 && block->count <= op->memory.count);
    assert(block->n_channels > 0 && block->n_channels <= op->memory.n_channels);
    struct slot_cuda *const s = of(slot);
    slot->block = *block;
    s->is_submitted = true;
    const struct lw_cuda_op_block work = work_of(s);
    nvtxRangePushA("lapwing submit");
    int rc;
    if (!(rc = lw_pinned_wait(&s->pinned, op->threads, err)) && !(rc = copy_in(op, s, err)) && !(rc = compute(op, &work, err)))
        rc = copy_out(op, s, err);
    nvtxRangePop();
    return rc;
}

/* Set the seconds that the device was busy with this slot: from `begun` to `done`. Slots overlap, so only the time after the `done`
 * of the slot that was waited for before counts, unless that slot has been submitted again since. */
static cudaError_t find_busy(struct lw_op *op, struct slot_cuda *slot)
{
    struct slot_cuda *const before = op->waited;
    float own = 0, behind = 0;
    cudaError_t status = cudaEventElapsedTime(&own, slot->begun, slot->done);
    if (status == cudaSuccess && before && before != slot && !before->is_submitted) {
        status = cudaEventElapsedTime(&behind, before->done, slot->done);
        own = behind < own ? behind : own;
    }
    slot->base.busy_seconds = (double)own / 1000;
    slot->is_submitted = false;
    op->waited = slot;
    return status;
}

/* Drop the rows whose output is NaN because the filter's taps touch a sample that is not finite. */
static void drop_spoilt(struct lw_slot_product *table)
{
    struct lw_crossing *const rows = table->data;
    int64_t kept = 0;
    for (int64_t i = 0; i < table->n_rows; i++)
        if (!isnan(rows[i].re))
            rows[kept++] = rows[i];
    table->n_rows = kept;
}

/* If there is a table, set its number of rows, and copy the rows to the host unless there are more than the table has room for. */
static int take_rows(const struct lw_op *op, struct slot_cuda *slot, struct lw_error *err)
{
    const int product = lw_op_find_product(&op->plan, LW_OP_CROSSINGS);
    if (product < 0)
        return LW_OK;
    struct lw_slot_product *const table = &slot->base.products[product];
    table->n_rows = (int64_t)slot->report->n_rows;
    if (table->n_rows == 0 || table->n_rows > table->most_rows)
        return LW_OK;
    cudaError_t status = cudaMemcpyAsync(table->data, slot->device_products[product],
                                         (size_t)(table->n_rows * op->plan.products[product].row_bytes), cudaMemcpyDeviceToHost,
                                         slot->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(slot->stream);
    if (status == cudaSuccess && slot->report->flag)
        drop_spoilt(table);
    return lw_cuda_check(status, "copying the rows of a block", err);
}

/* Compute a block anew, if its report asks for it, and copy it from the device. The slot's `done` is recorded again. */
static int repeat(struct lw_op *op, struct slot_cuda *slot, struct lw_error *err)
{
    const struct lw_cuda_op_block work = work_of(slot);
    int rc;
    if (!op->ops->must_repeat || !op->ops->must_repeat(op, &slot->base.block, slot->report))
        return LW_OK;
    if ((rc = lw_cuda_check(cudaMemsetAsync(slot->device_report, 0, sizeof *slot->device_report, slot->stream),
                            "beginning a block anew", err)) ||
        (rc = op->ops->repeat(op, &work, err)) || (rc = order_products(op, &work, err)))
        return rc;
    return copy_out(op, slot, err);
}

static int slot_wait(struct lw_op *op, struct lw_slot *slot, struct lw_error *err)
{
    struct slot_cuda *const s = of(slot);
    const char *const what = "computing a block on the device";
    nvtxRangePushA("lapwing wait");
    int rc;
    if (!(rc = lw_cuda_check(cudaEventSynchronize(s->done), what, err)) && !(rc = repeat(op, s, err)) &&
        !(rc = lw_cuda_check(cudaEventSynchronize(s->done), what, err)))
        rc = lw_cuda_check(find_busy(op, s), what, err);
    nvtxRangePop();
    if (rc)
        return rc;
    const struct lw_nan_report *const report = s->report;
    const int64_t n_channels = lw_op_inputs(&op->spec, slot->block.n_channels), width = op->plan.input_width;
    const int64_t lowest = report->n_own ? (int64_t)~report->lowest_complement : 0;
    slot->is_out_of_range = report->out_of_range != 0;
    slot->loss = (struct lw_loss){(int64_t)report->n_saturated, (int64_t)report->n_nan};
    slot->n_not_finite = (int64_t)report->n_own;
    slot->n_quiet = (int64_t)report->n_quiet;
    slot->not_finite_channel = lowest / width % n_channels;
    slot->not_finite_sample = lowest / width / n_channels;
    slot->not_finite_column = lowest % width;
    return take_rows(op, s, err);
}

/* Make the rows of a part. Of the report only n_rows is reset and read: slot_wait has read the other fields. */
static int again(struct lw_op *op, struct lw_slot *slot, const struct lw_part *part, struct lw_error *err)
{
    struct slot_cuda *const s = of(slot);
    const struct lw_cuda_op_block work = work_of(s);
    int rc;
    assert(op->ops->again && !s->is_submitted);
    if ((rc = lw_cuda_check(cudaMemsetAsync(&s->device_report->n_rows, 0, sizeof s->device_report->n_rows, s->stream),
                            "beginning a part of a block", err)) ||
        (rc = op->ops->again(op, &work, part, err)) ||
        (rc = lw_cuda_check(cudaMemcpyAsync(&s->report->n_rows, &s->device_report->n_rows, sizeof s->report->n_rows,
                                            cudaMemcpyDeviceToHost, s->stream), "copying a part of a block", err)) ||
        (rc = lw_cuda_check(cudaStreamSynchronize(s->stream), "computing a part of a block", err)))
        return rc;
    return take_rows(op, s, err);
}

static int join_best(struct lw_op *op, struct lw_slot *slot, int64_t first, int64_t n, const void *values, const int32_t *filters,
                     struct lw_error *err)
{
    struct slot_cuda *const s = of(slot);
    const struct lw_cuda_op_block work = work_of(s);
    const size_t bytes = (size_t)n * lw_type_bytes(op->plan.products[lw_op_find_product(&op->plan, LW_OP_BEST_VALUE)].type);
    int32_t *const its = (int32_t *)(void *)((char *)op->joined + bytes);
    cudaError_t status = cudaMemcpyAsync(op->joined, values, bytes, cudaMemcpyHostToDevice, s->stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(its, filters, (size_t)n * sizeof *its, cudaMemcpyHostToDevice, s->stream);
    int rc = lw_cuda_check(status, "copying the best filters of ranks", err);
    rc = rc ? rc : op->ops->join_best(op, &work, first, n, op->joined, its, err);
    rc = rc ? rc : lw_cuda_check(copy_best(op, s, first, n, cudaMemcpyDeviceToHost, s->stream), "copying the best filter", err);
    return rc ? rc : lw_cuda_check(cudaStreamSynchronize(s->stream), "comparing the best filters of ranks", err);
}

static int count(struct lw_op *op, struct lw_slot *slot, const struct lw_counting *what, lw_counts_fn *take, void *context,
                 struct lw_error *err)
{
    struct slot_cuda *const s = of(slot);
    return lw_counter_count(op, &slot->block, s->device_products[0], what, take, context, s->stream, err);
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

/* Operations that work block by block. LW_OP_SFFT and LW_OP_ACCEL have functions of their own. */
static const struct lw_cuda_op_ops *operation_of(const struct lw_op_spec *spec)
{
    return spec->kind == LW_OP_CONV2D ? &lw_cuda_op_conv2d
           : spec->ols.stacks         ? &lw_cuda_op_stacks
           : spec->ols.beams          ? &lw_cuda_op_beams
                                      : &lw_cuda_op_ols;
}

static void describe(const struct lw_engine *engine, char *text, size_t size)
{
    const struct lw_device *const device = lw_cuda_device_of(engine);
    char memory[24];
    snprintf(text, size, "%s, %s%s%s", device->name, device->uuid, device->uuid[0] ? ", " : "",
             lw_bytes_text(device->memory_bytes, memory));
}

/* The text has the number of multiprocessors, since results depend on it: it sets the order of the sums in sfft's recovery. */
static void architecture(const struct lw_engine *engine, char *text, size_t size)
{
    const struct lw_device *const device = lw_cuda_device_of(engine);
    snprintf(text, size, "sm_%d%d with %d multiprocessors", device->major, device->minor, device->n_multiprocessors);
}

static int op_plan(const struct lw_engine *engine, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    return operation_of(spec)->plan(lw_cuda_device_of(engine), spec, plan, err);
}

static struct lw_cuda_op_memory memory_of(const struct lw_engine *engine, const struct lw_op_spec *spec,
                                          const struct lw_op_plan *plan, int64_t count, int64_t n_channels)
{
    struct lw_cuda_op_memory memory = {
        .count = count, .n_channels = n_channels, .slot = lw_op_slot_bytes(spec, plan, count, n_channels),
    };
    operation_of(spec)->measure(lw_cuda_device_of(engine), spec, plan, &memory);
    return memory;
}

/* Return the bytes of lw_op.joined: ranks have filters of their own where an operation does not hold the whole bank. */
static int64_t joined_bytes(const struct lw_op_spec *spec)
{
    const bool joins = spec->kind == LW_OP_OLS && lw_search_products(&spec->ols.search) & LW_BEST &&
                       lw_ols_bank(&spec->ols) > spec->ols.n_filters;
    return joins ? LW_MOST_JOINED * (int64_t)(2 * sizeof(double) + sizeof(int32_t)) : 0;
}

static struct lw_bytes op_bytes(const struct lw_engine *engine, const struct lw_op_spec *spec,
                                const struct lw_op_plan *plan, int64_t count, int64_t n_channels, int depth)
{
    const struct lw_cuda_op_memory memory = memory_of(engine, spec, plan, count, n_channels);
    struct slot_cuda counted = {0};
    /* Set-up memory is freed before slots are allocated: only the larger of the two counts. */
    const int64_t setup = lw_device_bytes(memory.setup_bytes), slots = lw_device_bytes(lay_out_device(&counted, &memory)) * depth;
    const int64_t pinned = lay_out_pinned(&counted, spec, &memory) * depth;
    const struct lw_bytes counter = lw_counter_bytes(spec, &memory);
    return (struct lw_bytes){
        .host = (int64_t)sizeof counted * depth + memory.host_bytes,
        .pinned = memory.pinned_bytes + lw_max64(pinned, memory.setup_pinned_bytes) + counter.pinned,
        .device = lw_device_bytes(memory.op_bytes) + lw_device_bytes(joined_bytes(spec)) + lw_device_bytes(counter.device) +
                  (slots > setup ? slots : setup),
    };
}

static void op_destroy(struct lw_op *op)
{
    if (!op)
        return;
    op->ops->destroy(op);
    lw_counter_destroy(op);
    cudaFree(op->joined);
    if (op->in)
        cudaStreamDestroy(op->in);
    if (op->out)
        cudaStreamDestroy(op->out);
    lw_pool_destroy(op->threads);
    lw_free(op);
}

/* Make the operation's streams and threads, call its `create`, and wait for the work on the device. */
static int set_up(struct lw_op *op, struct lw_error *err)
{
    int rc;
    if ((rc = lw_cuda_check(cudaStreamCreateWithFlags(&op->in, cudaStreamNonBlocking), "making a stream", err)) ||
        (rc = lw_cuda_check(cudaStreamCreateWithFlags(&op->out, cudaStreamNonBlocking), "making a stream", err)) ||
        (rc = lw_pinned_threads(&op->threads, err)) ||
        (rc = lw_cuda_allocate(joined_bytes(&op->spec), "best outputs of other ranks", &op->joined, err)) ||
        (rc = lw_counter_create(op, err)))
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
    op->ops = operation_of(spec);
    op->device = lw_cuda_device_of(engine);
    op->spec = *spec;
    op->plan = *plan;
    op->memory = memory_of(engine, spec, plan, count, n_channels);
    const int rc = set_up(op, err);
    if (rc)
        op_destroy(op);
    else
        *out = op;
    return rc;
}

static int op_fill(struct lw_op *op, const struct lw_ols_part *part, struct lw_error *err)
{
    return op->ops->fill(op, part, op->in, err);
}

static const struct lw_engine_ops engine_ops = {
    .name = "cuda",
    .describe = describe,
    .architecture = architecture,
    .op_plan = op_plan,
    .op_bytes = op_bytes,
    .op_create = op_create,
    .op_fill = op_fill,
    .op_destroy = op_destroy,
    .slot_create = slot_create,
    .slot_destroy = slot_destroy,
    .submit = submit,
    .wait = slot_wait,
    .again = again,
    .join_best = join_best,
    .count = count,
    .sparse = &lw_cuda_sparse_ops,
    .dense = &lw_cuda_dense_ops,
    .published = &lw_cuda_published_ops,
    .accel = &lw_cuda_accel_ops,
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
        .depth = 4,             /* slots: one block is read, one copied in, one computed and copied out, one written */
        .n_workers = 1,
        .device_bytes = engine->device.usable_bytes,
        .link_rate = spec->gpu ? spec->gpu->link_rate : 45e9,   /* PCIe 5.0 with 16 lanes, both ways at a time */
        .slowness = spec->gpu ? spec->gpu->slowness : 1,
    };
    snprintf(engine->base.device_id, sizeof engine->base.device_id, "%s", engine->device.uuid);
    if (!spec->gpu)
        snprintf(engine->base.device_cores, sizeof engine->base.device_cores, "/sys/bus/pci/devices/%s/local_cpulist",
             engine->device.bus);
    *out = &engine->base;
    return LW_OK;
}

const struct lw_engine_type lw_cuda_engine = {
    .name = "cuda", .start_seconds = 0.3, .is_usable = lw_device_is_usable, .warm_up = lw_device_warm_up, .create = create,
};
