/* best.h - the best filter of all, where ranks share the filters: best outputs of different ranks' filters compete piece by piece,
 * two ranks at a time along a tree, in the order of the filters. Rank 0 has the best of all; it alone writes the arrays. */
#pragma once

#include "stream/pipeline.h"
#include "stream/plan.h"

struct lw_best;

/** Return the host bytes of lw_best_create. */
int64_t lw_best_bytes(const struct lw_op_plan *op, enum lw_split split);

/** Add what lw_best_join sends in a round. */
void lw_best_traffic(const struct lw_op_plan *op, const struct lw_rounds *rounds, int64_t round, struct lw_traffic *traffic);

/** Create the buffers. *out stays NULL if the best filter is not wanted, or each rank has all filters. LW_ESYSTEM. Not collective.
 * @param comm, plan, pipeline  borrowed for the life of *out */
int lw_best_create(struct lw_comm *comm, const struct lw_plan *plan, struct lw_pipeline *pipeline, struct lw_best **out,
                   struct lw_error *err);
void lw_best_destroy(struct lw_best *best);                 /* NULL is legal */

/** Join the best outputs of all ranks in rank 0's slot; slots of other ranks get a part of it. NULL: nothing is done.
 * LW_ESYSTEM. Collective. */
int lw_best_join(struct lw_best *best, struct lw_slot *slot, struct lw_error *err);
