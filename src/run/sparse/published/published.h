/* published.h - the job's flow for `--algorithm sfft2`: each channel is read whole by its rank, transformed there, and once
 * more with fresh randomness if its lines do not explain it. */
#ifndef LW_RUN_SPARSE_PUBLISHED_PUBLISHED_H
#define LW_RUN_SPARSE_PUBLISHED_PUBLISHED_H

#include "run/sparse/flow.h"

/** Loops and buckets. LW_ECONFIG: what was chosen is not possible. */
int lw_published_flow_plan(struct lw_sfft_flow *flow, struct lw_error *err);
struct lw_bytes lw_published_flow_bytes(const struct lw_sfft_flow *flow);  /* with the samples of a channel */

/** For the plan command, on rank 0. */
void lw_published_flow_print(const struct lw_sfft_flow *flow);

/** What became of all channels goes to flow->all. Collective. */
int lw_published_flow_run(struct lw_sfft_flow *flow, struct lw_error *err);

/** What it did, as attributes of the result and as details in the log. */
void lw_published_flow_note(const struct lw_sfft_flow *flow, struct lw_job *job);
void lw_published_flow_log(const struct lw_sfft_flow *flow);

#endif
