/* sink.h - writing the arrays of finished blocks to their places in the result, with their checksums. */
#pragma once

#include "stream/sums/sums.h"

/* Places that arrays are written to. All members are borrowed. */
struct lw_sinks {
    const struct lw_job *job;
    const struct lw_op_plan *op;
    struct lw_writer *writer;           /* its datasets are the job's products */
    struct lw_sums *sums;               /* NULL: no checksums */
    bool leaves_best;                   /* rank 0 reads and writes the best outputs for this rank (search/best.h) */
};

/* Writes in progress of one finished block, by product number. */
struct lw_sink_writes {
    struct lw_write products[LW_OP_PRODUCTS];
    struct lw_write sums[LW_OP_PRODUCTS];
};

/** Begin to write each array of a finished block; stream/search/candidates.h writes tables. The slot's memory must not change
 * until lw_sinks_end. Ranks with an empty block take part. Collective. */
void lw_sinks_begin(const struct lw_sinks *sinks, const struct lw_slot *slot, struct lw_sink_writes *writes);

/** Read the best values and filters so far of a block's outputs from the result into its slot, before it is submitted: those of the
 * filters before. Errors are those of lw_writer_recall_array; not collective. */
int lw_sinks_recall_best(const struct lw_sinks *sinks, const struct lw_block *block, struct lw_slot *slot, struct lw_error *err);

/** Wait for all writes of a block; return at once if none has begun. Errors are those of lw_writer_end; not collective. */
int lw_sinks_end(const struct lw_sinks *sinks, struct lw_sink_writes *writes, struct lw_error *err);
