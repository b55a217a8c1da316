/* sink.h - the way of products into the result: an array's part of a finished block to its place, rows of a table in order. */
#pragma once

#include "engine/engine.h"
#include "io/write/writer.h"
#include "job/job.h"
#include "stream/sums/sums.h"

/* All borrowed. */
struct lw_sinks {
    const struct lw_job *job;
    const struct lw_op_plan *op;
    struct lw_writer *writer;           /* its datasets are the job's products */
    struct lw_sums *sums;               /* NULL: no checksums */
};

/* Writes of a finished block in progress. */
struct lw_sink_writes {
    struct lw_write products[LW_OP_PRODUCTS];
    struct lw_write sums[LW_OP_PRODUCTS];
};

/** Begin to write each array of a finished block; tables are written by stream/search/candidates.h. The slot's memory must not
 * change until end. Ranks with an empty block take part. Collective. */
void lw_sinks_begin(const struct lw_sinks *sinks, const struct lw_slot *slot, struct lw_sink_writes *writes);

/** Wait until all products are written; return at once if no write has begun. Not collective. Errors are those of lw_writer_end. */
int lw_sinks_end(const struct lw_sinks *sinks, struct lw_sink_writes *writes, struct lw_error *err);
