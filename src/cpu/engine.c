/* engine.c - the CPU engine. A worker thread computes block after block, with FFTW and OpenMP, while the main thread reads and
 * writes files and calls MPI. */

#include "base/leave.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/proc.h"
#include "cpu/accel/accel.h"
#include "cpu/dispatch.h"
#include "cpu/lanes.h"
#include "cpu/op.h"
#include "cpu/sfft/published/solver.h"
#include "cpu/sfft/solver.h"

#include <assert.h>
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>

/* One slot each is read, computed and written at a time. */
#define DEPTH 3

#define MOST_THREADS 4096

/* Return the operation, which goes block by block. LW_OP_SFFT and LW_OP_ACCEL do not: they have their own solvers. */
static const struct lw_cpu_op_ops *operation_of(const struct lw_op_spec *spec)
{
    return spec->kind == LW_OP_CONV2D ? &lw_cpu_op_conv2d : spec->ols.beams ? &lw_cpu_op_beams : &lw_cpu_op_ols;
}

struct lw_op {
    const struct lw_cpu_op_ops *ops;
    void *state;                        /* state of the implementation, owned */
    struct lw_pool *worker;             /* one thread, which has its own OpenMP threads */
    struct lw_op_plan plan;
    struct lw_slot_bytes bytes;
    int64_t count, n_channels;          /* size of the largest block */
};

struct slot_cpu {
    struct lw_slot base;
    struct lw_op *op;
    struct lw_batch batch;
    const struct lw_part *part;         /* the part that is computed again; else NULL */
};

/* ---- plan and bytes ---------------------------------------------------------------------------------------------- */
static int op_plan(const struct lw_engine *engine, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    (void)engine;
    return operation_of(spec)->plan(spec, plan, err);
}

static struct lw_bytes op_bytes(const struct lw_engine *engine, const struct lw_op_spec *spec,
                                const struct lw_op_plan *plan, int64_t count, int64_t n_channels, int depth)
{
    const struct lw_cpu_op_size size = {count, n_channels, engine->n_workers};
    const struct lw_slot_bytes buffers = lw_op_slot_bytes(spec, plan, count, n_channels);
    const int64_t work = operation_of(spec)->bytes(spec, plan, &size);
    int64_t slot = (int64_t)sizeof(struct slot_cpu) + buffers.input + buffers.map;
    for (int p = 0; p < plan->n_products; p++)
        slot += buffers.products[p];
    return (struct lw_bytes){.host = (int64_t)sizeof(struct lw_op) + work + depth * slot};
}

/* ---- operations -------------------------------------------------------------------------------------------------- */
static int warm_up(void *context, int64_t piece, int thread, struct lw_error *err)
{
    struct lw_op *const op = context;
    (void)piece, (void)thread, (void)err;
    lw_cpu_lanes_warm_up(op->state);
    return LW_OK;
}

static void op_destroy(struct lw_op *op)
{
    if (!op)
        return;
    lw_pool_destroy(op->worker);
    op->ops->destroy(op->state);
    lw_free(op);
}

static int op_create(struct lw_engine *engine, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                     int64_t count, int64_t n_channels, struct lw_op **out, struct lw_error *err)
{
    struct lw_op *const op = *out = lw_alloc(sizeof *op, "an operation", err);
    if (!op)
        return LW_ESYSTEM;
    op->ops = operation_of(spec);
    op->plan = *plan;
    op->bytes = lw_op_slot_bytes(spec, plan, count, n_channels);
    op->count = count;
    op->n_channels = n_channels;

    const struct lw_cpu_op_size size = {count, n_channels, engine->n_workers};
    struct lw_batch batch = {.n_pieces = 1, .work = warm_up, .context = op};
    int rc;
    if ((rc = op->ops->create(spec, plan, &size, &op->state, err)) || (rc = lw_pool_create(1, &op->worker, err)))
        return rc;
    lw_pool_start(op->worker, &batch);
    return lw_pool_wait(op->worker, &batch, err);
}

static int op_fill(struct lw_op *op, const struct lw_ols_part *part, struct lw_error *err)
{
    return op->ops->fill(op->state, part, err);
}

static int join_best(struct lw_op *op, struct lw_slot *slot, int64_t first, int64_t n, const void *values, const int32_t *filters,
                     struct lw_error *err)
{
    (void)err;
    op->ops->join_best(op->state, slot, first, n, values, filters);
    return LW_OK;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */
static void slot_destroy(struct lw_op *op, struct lw_slot *slot)
{
    if (!slot)
        return;
    lw_free(slot->input);
    lw_free(slot->map);
    for (int p = 0; p < op->plan.n_products; p++)
        lw_free(slot->products[p].data);
    lw_free(slot);
}

static int slot_create(struct lw_op *op, struct lw_slot **out, struct lw_error *err)
{
    struct slot_cpu *const slot = lw_alloc(sizeof *slot, "a slot", err);
    if (!slot)
        return LW_ESYSTEM;
    slot->op = op;
    lw_slot_set_rows(&op->plan, &op->bytes, &slot->base);
    bool is_whole = (slot->base.input = lw_alloc_array(op->bytes.input, 1, "a slot's samples", err));
    if (is_whole && op->bytes.map > 0)
        is_whole = (slot->base.map = lw_alloc_array(op->bytes.map, 1, "a slot's weights", err));
    for (int p = 0; p < op->plan.n_products && is_whole; p++)
        is_whole = (slot->base.products[p].data = lw_alloc_array(op->bytes.products[p], 1, "a slot's results", err));
    if (!is_whole) {
        slot_destroy(op, &slot->base);
        return LW_ESYSTEM;
    }
    *out = &slot->base;
    return LW_OK;
}

static int work(void *context, int64_t piece, int thread, struct lw_error *err)
{
    struct slot_cpu *const slot = context;
    (void)piece, (void)thread;
    const double start = lw_now();
    if (slot->part) {
        slot->op->ops->again(slot->op->state, &slot->base, slot->part);
    } else {
        slot->op->ops->run(slot->op->state, &slot->base);
        slot->base.busy_seconds = lw_now() - start;
    }
    return lw_leave_check(err);
}

static void start(struct lw_op *op, struct lw_slot *slot, const struct lw_part *part)
{
    struct slot_cpu *const s = (struct slot_cpu *)slot;
    s->part = part;
    s->batch = (struct lw_batch){.n_pieces = 1, .work = work, .context = s};
    lw_pool_start(op->worker, &s->batch);
}

static int submit(struct lw_op *op, struct lw_slot *slot, const struct lw_block *block, struct lw_error *err)
{
    (void)err;
    assert(block->count <= op->count && block->n_channels <= op->n_channels);
    slot->block = *block;
    start(op, slot, NULL);
    return LW_OK;
}

static int wait_for(struct lw_op *op, struct lw_slot *slot, struct lw_error *err)
{
    return lw_pool_wait(op->worker, &((struct slot_cpu *)slot)->batch, err);
}

static int again(struct lw_op *op, struct lw_slot *slot, const struct lw_part *part, struct lw_error *err)
{
    start(op, slot, part);
    return wait_for(op, slot, err);
}

/* ---- the engine -------------------------------------------------------------------------------------------------- */
static void describe(const struct lw_engine *engine, char *text, size_t size)
{
    snprintf(text, size, "%d thread%s, %s, %s", engine->n_workers, engine->n_workers == 1 ? "" : "s",
             lw_cpu_instruction_set(), fftwf_version);
}

/* FFTW chooses its code by the processor, so that its version and our instruction set together determine the result. */
static void architecture(const struct lw_engine *engine, char *text, size_t size)
{
    (void)engine;
    snprintf(text, size, "%s, %s", lw_cpu_instruction_set(), fftwf_version);
}

static const struct lw_engine_ops ops = {
    .name = "cpu",
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
    .wait = wait_for,
    .again = again,
    .join_best = join_best,
    .sparse = &lw_cpu_sparse_ops,
    .dense = &lw_cpu_dense_ops,
    .published = &lw_cpu_published_ops,
    .accel = &lw_cpu_accel_ops,
};

static int create(const struct lw_engine_spec *spec, struct lw_engine **out, struct lw_error *err)
{
    if (spec->n_threads < 0 || spec->n_threads > MOST_THREADS)
        return lw_fail(err, LW_ECONFIG, "--threads %d is not in 1..%d", spec->n_threads, MOST_THREADS);
    const int rc = lw_cpu_instruction_set_check(err);
    if (rc)
        return rc;
    struct lw_engine *const engine = lw_alloc(sizeof *engine, "the cpu engine", err);
    if (!engine)
        return LW_ESYSTEM;
    const int cores = lw_proc_cores();
    *engine = (struct lw_engine){.ops = &ops, .depth = DEPTH, .n_workers = spec->n_threads > 0 ? spec->n_threads : cores};
    const char *const text = getenv("OMP_NUM_THREADS");
    const long wanted = text ? strtol(text, NULL, 10) : 0;
    if (spec->n_threads == 0 && wanted > cores)
        snprintf(engine->warning, sizeof engine->warning,
                 "OMP_NUM_THREADS = %ld, but this process may run on %d core%s only: using %d "
                 "(under mpirun try --bind-to none or --map-by slot:PE=%ld)", wanted, cores, cores == 1 ? "" : "s", cores, wanted);
    *out = engine;
    return LW_OK;
}

static bool is_usable(const struct lw_engine_spec *spec, char text[LW_ENGINE_TEXT])
{
    struct lw_engine *engine = NULL;
    struct lw_error err;
    if (create(spec, &engine, &err)) {
        snprintf(text, LW_ENGINE_TEXT, "%.*s", LW_ENGINE_TEXT - 1, err.message);
        return false;
    }
    describe(engine, text, LW_ENGINE_TEXT);
    lw_engine_destroy(engine);
    return true;
}

const struct lw_engine_type lw_cpu_engine = {.name = "cpu", .is_usable = is_usable, .create = create};
