/* sink.h - where products go: an array's part of a finished block to its place in the result, the rows of a table to their turn
 * behind those of others. */
#pragma once

#include "engine/engine.h"
#include "io/write/writer.h"
#include "job/job.h"
#include "stream/sums/sums.h"

/* All borrowed. */
struct lw_sinks {
    const struct lw_job *job;
    const struct lw_op_plan *op;
    struct lw_writer *writer;           /* whose datasets are the job's products */
    struct lw_sums *sums;               /* NULL: the arrays have no checksums */
};

/* A finished block on its way to the file. */
struct lw_sink_writes {
    struct lw_write products[LW_OP_PRODUCTS];
    struct lw_write sums[LW_OP_PRODUCTS];
};

/** Hand each array of a finished block to its sink (tables go their own way, see stream/search/candidates.h); the slot's memory is
 * the sinks' until end. An empty block takes part. Collective. */
void lw_sinks_begin(const struct lw_sinks *sinks, const struct lw_slot *slot, struct lw_sink_writes *writes);

/** Wait until all products are written; where nothing has begun, at once. Not collective: errors are those of lw_writer_end. */
int lw_sinks_end(const struct lw_sinks *sinks, struct lw_sink_writes *writes, struct lw_error *err);
