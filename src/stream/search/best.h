/* best.h - the best filter of all, where ranks share the filters: rank 0 gets the best outputs of the other ranks' filters, piece
 * by piece, and lets them compete with its own, in the order of the filters. It alone writes the arrays. */
#pragma once

#include "stream/pipeline.h"
#include "stream/plan.h"

struct lw_best;

/** Return the host bytes of lw_best_create. */
int64_t lw_best_bytes(const struct lw_op_plan *op, enum lw_split split);

/** Create the buffers. *out stays NULL if the best filter is not wanted, or each rank has all filters. LW_ESYSTEM. Not collective.
 * @param comm, plan, pipeline  borrowed for the life of *out */
int lw_best_create(struct lw_comm *comm, const struct lw_plan *plan, struct lw_pipeline *pipeline, struct lw_best **out,
                   struct lw_error *err);
void lw_best_destroy(struct lw_best *best);                 /* NULL is legal */

/** Join the best outputs of all ranks in rank 0's slot. NULL: nothing is done. LW_ESYSTEM. Collective. */
int lw_best_join(struct lw_best *best, struct lw_slot *slot, struct lw_error *err);
