/* test_slots.c - tests of the CUDA engine's slots: their bytes, several in flight, and the message when memory is short. */
#include "gpu.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>

enum { n_taps = 33, n_filters = 2, depth = 3 };

static double taps[n_filters * n_taps];

static struct lw_op_spec make_spec(enum lw_scalar output)
{
    for (int i = 0; i < n_filters * n_taps; i++)
        taps[i] = 1.0 / (1 + i % 7) - 0.2;
    return (struct lw_op_spec){
        .kind = LW_OP_OLS,
        .input = {.scalar = LW_INT16},
        .output = {.scalar = output},
        .precision = LW_SINGLE,
        .n_channels = 1,
        .ols = {.taps = lw_stored_doubles(taps, false), .n_filters = n_filters, .n_taps = n_taps, .segment = 1024},
    };
}

struct setup {
    struct lw_engine *engine;
    struct lw_op_spec spec;
    struct lw_op_plan plan;
    int64_t count;
    struct lw_op *op;
    struct lw_slot *slots[depth];
};

static int64_t free_bytes(void)
{
    size_t room = 0, total = 0;
    cudaMemGetInfo(&room, &total);
    return (int64_t)room;
}

static void open_all(struct setup *s, struct lw_engine *engine, int64_t count, enum lw_scalar output)
{
    struct lw_error err;
    *s = (struct setup){.engine = engine, .spec = make_spec(output)};
    int rc = engine->ops->op_plan(engine, &s->spec, &s->plan, &err);
    s->count = count / s->plan.unit * s->plan.unit;
    if (!rc)
        rc = engine->ops->op_create(engine, &s->spec, &s->plan, s->count, 1, &s->op, &err);
    for (int i = 0; i < depth && !rc; i++)
        rc = engine->ops->slot_create(s->op, &s->slots[i], &err);
    if (rc) {
        fprintf(stderr, "no operation: %s\n", err.message);
        exit(1);
    }
}

static void close_all(struct setup *s)
{
    for (int i = 0; i < depth; i++)
        s->engine->ops->slot_destroy(s->op, s->slots[i]);
    s->engine->ops->op_destroy(s->op);
}

/* The device's free memory shrinks by the number of bytes that op_bytes returns; the driver may take a little more. */
static void test_bytes(struct lw_engine *engine)
{
    const int64_t slack = 16 << 20;
    struct setup warm, s;
    open_all(&warm, engine, 1 << 16, LW_INT16);         /* the first slot loads the kernels */
    close_all(&warm);
    const int64_t before = free_bytes();
    open_all(&s, engine, 1 << 24, LW_INT16);
    const int64_t taken = before - free_bytes();
    const struct lw_bytes bytes = engine->ops->op_bytes(engine, &s.spec, &s.plan, s.count, 1, depth);
    CHECK(taken >= bytes.device - slack && taken <= bytes.device + slack, "op_bytes says %" PRId64 ", taken %" PRId64,
          bytes.device, taken);
    const int64_t slot_bytes = 2 * (s.count + n_taps - 1) + 2 * n_filters * s.count;
    CHECK(bytes.pinned >= depth * slot_bytes && bytes.pinned <= depth * (slot_bytes + 4096),
          "pinned %" PRId64 ", %d slots need %" PRId64, bytes.pinned, depth, depth * slot_bytes);
    close_all(&s);
    CHECK(before - free_bytes() <= slack, "%" PRId64 " bytes not given back", before - free_bytes());
}

static void fill(struct lw_slot *slot, int64_t n, unsigned seed)
{
    int16_t *const input = slot->input;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        input[i] = (int16_t)(seed >> 16);
    }
}

/* All slots in flight at once, waited for in reverse order, give the same results as each alone. Their blocks differ in size. */
static void test_in_flight(struct lw_engine *engine)
{
    struct setup s;
    struct lw_error err;
    open_all(&s, engine, 1 << 20, LW_FLOAT32);
    float *alone[depth];
    for (int i = 0; i < depth; i++) {
        const struct lw_block block = {.count = s.count - 1000 * i, .n_channels = 1};
        const size_t bytes = (size_t)block.count * n_filters * sizeof(float);
        fill(s.slots[0], block.count + n_taps - 1, (unsigned)i);
        int rc = engine->ops->submit(s.op, s.slots[0], &block, &err);
        rc = rc ? rc : engine->ops->wait(s.op, s.slots[0], &err);
        CHECK(rc == LW_OK, "%s", err.message);
        CHECK(s.slots[0]->busy_seconds > 0, "busy %g s", s.slots[0]->busy_seconds);
        alone[i] = malloc(bytes);
        memcpy(alone[i], s.slots[0]->products[0].data, bytes);
    }
    for (int i = 0; i < depth; i++) {
        const struct lw_block block = {.count = s.count - 1000 * i, .n_channels = 1};
        fill(s.slots[i], block.count + n_taps - 1, (unsigned)i);
        const int rc = engine->ops->submit(s.op, s.slots[i], &block, &err);
        CHECK(rc == LW_OK, "%s", err.message);
    }
    for (int i = depth - 1; i >= 0; i--) {
        const int rc = engine->ops->wait(s.op, s.slots[i], &err);
        const size_t bytes = (size_t)s.slots[i]->block.count * n_filters * sizeof(float);
        CHECK(rc == LW_OK && memcmp(alone[i], s.slots[i]->products[0].data, bytes) == 0, "slot %d differs in flight", i);
        free(alone[i]);
    }
    close_all(&s);
}

static void test_no_memory(struct lw_engine *engine)
{
    struct setup s;
    struct lw_error err;
    open_all(&s, engine, 1 << 24, LW_INT16);
    void *hog = NULL;
    const cudaError_t status = cudaMalloc(&hog, (size_t)(free_bytes() - (32 << 20)));
    struct lw_slot *slot = NULL;
    const int rc = engine->ops->slot_create(s.op, &slot, &err);
    CHECK(status == cudaSuccess && rc == LW_ESYSTEM && !slot, "code %d with the device full", rc);
    CHECK(strstr(err.message, "device memory") && strstr(err.message, "free") && strstr(err.message, "--gpu-memory"), "%s",
          err.message);
    cudaFree(hog);
    CHECK(engine->ops->slot_create(s.op, &slot, &err) == LW_OK, "after the memory is back: %s", err.message);
    engine->ops->slot_destroy(s.op, slot);
    close_all(&s);
}

int main(void)
{
    const int missing = gpu_missing("slots");
    if (missing)
        return missing;
    struct lw_engine *const engine = gpu_engine();
    test_bytes(engine);
    test_in_flight(engine);
    test_no_memory(engine);
    lw_engine_destroy(engine);
    return check_result("slots");
}
