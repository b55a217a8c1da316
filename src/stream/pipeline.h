/* pipeline.h - a ring of slots, so that reading, computing and writing overlap. It calls neither MPI nor files.
 *
 *     read 0 | read 1    | read 2    |          files and halos
 *            | compute 0 | compute 1 | ...      engine: threads or streams
 *                        | write 0   | write 1  files
 *
 *     acquire    the next free slot, to be filled with samples
 *     submit     start to compute the slot
 *     collect    wait for the oldest submitted slot; its output can be written
 *     release    make the slot free again
 *
 * At most `depth` slots are in use at a time. A rank without work in a round submits an empty block. The block passes through
 * the ring without reaching the engine, so that all ranks collect and write in step. */
#pragma once

#include "engine/engine.h"

struct lw_pipeline;

#define LW_MIN_DEPTH 1
#define LW_MAX_DEPTH 8

/** Create a pipeline of `depth` slots.
 * @param engine  borrowed for the pipeline's life
 * @param count, n_channels  size of the largest block: outputs on the axis, channels */
int lw_pipeline_create(struct lw_engine *engine, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                       int64_t count, int64_t n_channels, int depth, struct lw_pipeline **out, struct lw_error *err);
void lw_pipeline_destroy(struct lw_pipeline *pipeline);     /* waits for submitted slots first; NULL is legal */

bool lw_pipeline_is_full(const struct lw_pipeline *pipeline);       /* true: collect and release before the next acquire */
int lw_pipeline_submitted(const struct lw_pipeline *pipeline);      /* slots submitted but not yet collected */

/** Return the number of a slot, 0 .. depth - 1. */
int lw_pipeline_number(const struct lw_pipeline *pipeline, const struct lw_slot *slot);

/** Replace the engine's filters (lw_engine_ops.op_fill). All submitted slots have been collected. */
int lw_pipeline_fill(struct lw_pipeline *pipeline, const struct lw_ols_part *part, struct lw_error *err);

struct lw_slot *lw_pipeline_acquire(struct lw_pipeline *pipeline);
int lw_pipeline_submit(struct lw_pipeline *pipeline, struct lw_slot *slot, const struct lw_block *block, struct lw_error *err);
int lw_pipeline_collect(struct lw_pipeline *pipeline, struct lw_slot **out, struct lw_error *err);

/** Compute the crossings again for a part of a slot's block (lw_engine_ops.again). The slot is collected, but not released. */
int lw_pipeline_again(struct lw_pipeline *pipeline, struct lw_slot *slot, const struct lw_part *part, struct lw_error *err);

/** Let best outputs of other filters compete with those of a collected slot (lw_engine_ops.join_best). */
int lw_pipeline_join_best(struct lw_pipeline *pipeline, struct lw_slot *slot, int64_t first, int64_t n, const void *values,
                          const int32_t *filters, struct lw_error *err);

/** Count the values of a collected slot's series (lw_engine_ops.count). */
int lw_pipeline_count(struct lw_pipeline *pipeline, struct lw_slot *slot, const struct lw_counting *what, lw_counts_fn *take,
                      void *context, struct lw_error *err);

void lw_pipeline_release(struct lw_pipeline *pipeline, struct lw_slot *slot);
