/* sink.h - where the products of finished blocks go: an array's part to its place in the result. */
#ifndef LW_RUN_SINK_H
#define LW_RUN_SINK_H

#include "engine/engine.h"
#include "io/writer.h"
#include "job/job.h"

/* All borrowed. */
struct lw_sinks {
    const struct lw_job *job;
    const struct lw_op_plan *op;
    struct lw_writer *writer;           /* whose datasets are the job's products */
};

/** Where a block's part of product number `product` lies in the result: first[] and count[] of its dimensions. */
void lw_sink_place(const struct lw_job *job, const struct lw_op_plan *op, int product, const struct lw_block *block,
                   int64_t first[LW_MAX_DIMS], int64_t count[LW_MAX_DIMS]);

/** Hand each product of a finished block to its sink. An empty block takes part. Collective. */
int lw_sinks_take(const struct lw_sinks *sinks, const struct lw_slot *slot, struct lw_error *err);

#endif
