/* candidates.h - the way of peaks from the engine's crossings into the table of the result.
 *
 *     slot -> lw_peaks_pick, on each rank -> rank 0 -> the writer's table, in the order of its rows
 *
 * A block with more crossings than its slot has room for is done again in parts, so that memory is bounded whatever the threshold.
 * Where there are more peaks than max-peaks, the run goes on and counts, since only the whole of it tells which threshold would
 * have kept so many; where there are several times as many, it ends, and the threshold is that of the part that was seen. */
#pragma once

#include "engine/engine.h"
#include "io/write/writer.h"
#include "setup/setup.h"
#include "stream/pipeline.h"

struct lw_candidates;

/* All borrowed for the candidates' life. */
struct lw_candidates_spec {
    struct lw_setup *setup;
    const struct lw_op_plan *op;
    struct lw_pipeline *pipeline;
    struct lw_writer *writer;           /* whose datasets are the job's products */
    const struct lw_rounds *rounds;
    int64_t n_rows;                     /* of the table, that an earlier run has left */
};

/** Host bytes that create allocates. */
int64_t lw_candidates_bytes(const struct lw_op_plan *op, int64_t count, int64_t n_channels);

/** *out stays NULL where the operation has no crossings. The earlier run's rows are taken again: LW_EIO, LW_EDATA. Not
 * collective. */
int lw_candidates_create(const struct lw_candidates_spec *spec, struct lw_candidates **out, struct lw_error *err);
void lw_candidates_destroy(struct lw_candidates *candidates);       /* NULL is legal */

/** Take the peaks of a block that the engine has finished, before its slot is submitted again; an empty block takes part. NULL:
 * nothing is done. LW_EDATA where more outputs than any table holds cross the threshold in the least part of a block.
 * Collective. */
int lw_candidates_take(struct lw_candidates *candidates, struct lw_slot *slot, struct lw_error *err);

/** Rows of the table so far, on rank 0; LW_ROWS_TOO_MANY once there are more than are allowed. NULL: 0. */
int64_t lw_candidates_rows(const struct lw_candidates *candidates);

/** After the last block: LW_EDATA if there were more peaks than are allowed. Logs how many there were. Collective. */
int lw_candidates_finish(struct lw_candidates *candidates, struct lw_error *err);
