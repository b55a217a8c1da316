#include "stream/pipeline.h"

#include "base/memory.h"

#include <assert.h>

struct lw_pipeline {
    struct lw_engine *engine;   /* borrowed */
    struct lw_op *op;
    struct lw_slot *slots[LW_MAX_DEPTH];
    int depth;
    int next;                   /* number of the slot that acquire returns next */
    int oldest;                 /* number of the slot that collect returns next */
    int n_submitted;            /* slots submitted but not yet collected */
    int n_out;                  /* slots acquired but not yet released */
};

int lw_pipeline_create(struct lw_engine *engine, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                       int64_t count, int64_t n_channels, int depth, struct lw_pipeline **out, struct lw_error *err)
{
    assert(depth >= LW_MIN_DEPTH && depth <= LW_MAX_DEPTH);
    struct lw_pipeline *const pipeline = *out = lw_alloc(sizeof *pipeline, "the pipeline", err);
    if (!pipeline)
        return LW_ESYSTEM;
    pipeline->engine = engine;
    int rc = engine->ops->op_create(engine, spec, plan, count, n_channels, &pipeline->op, err);
    while (rc == LW_OK && pipeline->depth < depth)
        if ((rc = engine->ops->slot_create(pipeline->op, &pipeline->slots[pipeline->depth], err)) == LW_OK)
            pipeline->depth++;
    return rc;
}

void lw_pipeline_destroy(struct lw_pipeline *pipeline)
{
    if (!pipeline)
        return;
    while (pipeline->n_submitted > 0) {         /* the engine still uses the slots: wait, and ignore errors */
        struct lw_slot *slot;
        lw_pipeline_collect(pipeline, &slot, NULL);
    }
    for (int i = 0; i < pipeline->depth; i++)
        pipeline->engine->ops->slot_destroy(pipeline->op, pipeline->slots[i]);
    pipeline->engine->ops->op_destroy(pipeline->op);
    lw_free(pipeline);
}

bool lw_pipeline_is_full(const struct lw_pipeline *pipeline) { return pipeline->n_out == pipeline->depth; }

int lw_pipeline_submitted(const struct lw_pipeline *pipeline) { return pipeline->n_submitted; }

int lw_pipeline_number(const struct lw_pipeline *pipeline, const struct lw_slot *slot)
{
    int number = 0;
    while (pipeline->slots[number] != slot)
        number++;
    return number;
}

struct lw_slot *lw_pipeline_acquire(struct lw_pipeline *pipeline)
{
    assert(!lw_pipeline_is_full(pipeline));
    struct lw_slot *const slot = pipeline->slots[pipeline->next];
    pipeline->next = (pipeline->next + 1) % pipeline->depth;
    pipeline->n_out++;
    return slot;
}

int lw_pipeline_submit(struct lw_pipeline *pipeline, struct lw_slot *slot, const struct lw_block *block, struct lw_error *err)
{
    slot->block = *block;
    slot->n_not_finite = 0;
    slot->is_out_of_range = false;
    slot->loss = (struct lw_loss){0};
    slot->busy_seconds = 0;
    for (int p = 0; p < LW_OP_PRODUCTS; p++)
        slot->products[p].n_rows = 0;
    const int rc = block->count > 0 ? pipeline->engine->ops->submit(pipeline->op, slot, block, err) : LW_OK;
    if (rc == LW_OK)
        pipeline->n_submitted++;
    return rc;
}

int lw_pipeline_collect(struct lw_pipeline *pipeline, struct lw_slot **out, struct lw_error *err)
{
    assert(pipeline->n_submitted > 0);
    struct lw_slot *const slot = pipeline->slots[pipeline->oldest];
    const int rc = slot->block.count > 0 ? pipeline->engine->ops->wait(pipeline->op, slot, err) : LW_OK;
    pipeline->oldest = (pipeline->oldest + 1) % pipeline->depth;
    pipeline->n_submitted--;
    if (rc == LW_OK)
        *out = slot;
    return rc;
}

int lw_pipeline_fill(struct lw_pipeline *pipeline, const struct lw_ols_part *part, struct lw_error *err)
{
    assert(pipeline->n_submitted == 0);
    return pipeline->engine->ops->op_fill(pipeline->op, part, err);
}

int lw_pipeline_again(struct lw_pipeline *pipeline, struct lw_slot *slot, const struct lw_part *part, struct lw_error *err)
{
    return pipeline->engine->ops->again(pipeline->op, slot, part, err);
}

int lw_pipeline_join_best(struct lw_pipeline *pipeline, struct lw_slot *slot, int64_t first, int64_t n, const void *values,
                          const int32_t *filters, struct lw_error *err)
{
    return pipeline->engine->ops->join_best(pipeline->op, slot, first, n, values, filters, err);
}

int lw_pipeline_count(struct lw_pipeline *pipeline, struct lw_slot *slot, const struct lw_counting *what, lw_counts_fn *take,
                      void *context, struct lw_error *err)
{
    return pipeline->engine->ops->count(pipeline->op, slot, what, take, context, err);
}

void lw_pipeline_release(struct lw_pipeline *pipeline, struct lw_slot *slot)
{
    assert(pipeline->n_out > 0 && slot);
    (void)slot;
    pipeline->n_out--;
}
