/* flaws.h - what a run finds wrong with its data: how much, and where on the axis samples that are not finite lie. */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"

/* Counted by each rank. */
struct lw_flaws {
    int64_t n_not_finite;       /* own samples of the input that are not finite */
    int64_t first, end;         /* of the axis of the whole input: those that are known to lie in [first, end); end 0: none is */
    bool is_rough;              /* they end somewhere before `end` */
    int64_t n_sought;           /* values that were looked at to find the end */
    int64_t n_out_of_range;     /* slots with results that their type cannot hold */
    struct lw_loss loss;
};

/** Samples that are not finite lie in [first, end) of the axis of the whole input, too. @param is_rough  they end somewhere before
 * `end` */
void lw_flaws_widen(struct lw_flaws *flaws, int64_t first, int64_t end, bool is_rough);

/** Count what was found elsewhere, too. */
void lw_flaws_add(struct lw_flaws *flaws, const struct lw_flaws *more);

/** Those of all ranks. Collective. */
void lw_flaws_sum(struct lw_comm *comm, struct lw_flaws *flaws);
