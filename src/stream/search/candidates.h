/* candidates.h - how crossings (outputs above the threshold) that the engine finds become peaks in the table of the result.
 *
 *     slot -> lw_peaks_pick, on each rank -> rows (images: sources.h) -> rank 0 -> the writer's table, in the order of its rows
 *
 * A slot has room for a limited number of crossings. A block with more is computed again in parts, so that memory is bounded
 * whatever the threshold. If there are more than max-peaks peaks, there is no result; the run goes on only to find the threshold
 * that would have kept max-peaks. If there are several times max-peaks, the run ends at once; its message names a threshold that
 * is estimated from the blocks so far.
 *
 * --cluster W,filters compares the crossings of all filters, of which a rank may hold some at a time. So the table first gathers
 * the strongest crossing of each output among these, with the number of crossings that it stands for. These rows wait on disk;
 * there may be LW_CANDIDATES_KEPT times max-peaks of them. After the last block they are sifted, channel by channel: the strongest
 * of all filters remains, and from these the peaks are picked. With --cluster W,trials=K channels are compared, too: the rows are
 * sifted output by output, of all channels together, and each cluster leaves its strongest (signal/clusters.h). */
#pragma once

#include "stream/pipeline.h"
#include "stream/plan.h"

#define LW_CANDIDATES_KEPT 16

struct lw_candidates;

/* All members are borrowed for the candidates' life. */
struct lw_candidates_spec {
    struct lw_setup *setup;
    const struct lw_op_plan *op;
    struct lw_pipeline *pipeline;
    struct lw_writer *writer;           /* its datasets are the job's products */
    const struct lw_plan *plan;
    int64_t n_rows;                     /* rows of the table that an interrupted run has left */
    const struct lw_sky *sky;           /* coordinates of the input, on rank 0; NULL: not known */
};

/** Return the host bytes of candidates for blocks of at most `count` outputs on the axis and n_channels channels. */
int64_t lw_candidates_bytes(const struct lw_job *job, const struct lw_engine *engine, const struct lw_op_plan *op, int64_t count,
                            int64_t n_channels);

/** Add what lw_candidates_take sends in a round of blocks without too many crossings. Ranks with peaks send rank 0 more: their
 * rows, and the numbers of the ranks that have some. */
void lw_candidates_traffic(const struct lw_op_plan *op, int n_ranks, struct lw_traffic *traffic);

/** Create the candidates; read an interrupted run's rows (LW_EIO, LW_EDATA). *out: NULL if no peaks are sought. Not collective. */
int lw_candidates_create(const struct lw_candidates_spec *spec, struct lw_candidates **out, struct lw_error *err);
void lw_candidates_destroy(struct lw_candidates *candidates);       /* NULL is legal */

/** Take the peaks of a block that the engine has finished, before its slot is submitted again. Ranks with an empty block take
 * part. NULL: nothing is done. LW_EDATA: too many peaks, or the smallest part of a block has too many crossings. Collective. */
int lw_candidates_take(struct lw_candidates *candidates, struct lw_slot *slot, struct lw_error *err);

/** Return the rows of the table so far, on rank 0; LW_ROWS_TOO_MANY if they are too many for a result; 0 if NULL is given. */
int64_t lw_candidates_rows(const struct lw_candidates *candidates);

/** Finish after the last block, and log the number of peaks. LW_EDATA: more than max-peaks peaks. Collective. */
int lw_candidates_finish(struct lw_candidates *candidates, struct lw_error *err);
