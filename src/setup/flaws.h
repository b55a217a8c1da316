/* flaws.h - faults that a run finds in its data: how many, and where on the axis samples that are not finite lie. */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"

/* Counts of one rank, or of all after lw_flaws_sum. */
struct lw_flaws {
    int64_t n_not_finite;       /* samples of the rank's own input that are not finite */
    int64_t first, end;         /* the known ones of these lie in [first, end) of the whole input's axis; end 0: none is known */
    bool is_rough;              /* `end` is only a bound: the last such sample lies somewhere before it */
    int64_t n_sought;           /* values that this rank examined to find `end` */
    int64_t n_out_of_range;     /* slots with results beyond the range of their type */
    struct lw_loss loss;
};

/** Extend the range of samples that are not finite by [first, end) of the whole input's axis.
 * @param is_rough  `end` is only a bound */
void lw_flaws_widen(struct lw_flaws *flaws, int64_t first, int64_t end, bool is_rough);

/** Add the counts and the range of `more`. */
void lw_flaws_add(struct lw_flaws *flaws, const struct lw_flaws *more);

/** Combine the flaws of all ranks. Collective. */
void lw_flaws_sum(struct lw_comm *comm, struct lw_flaws *flaws);
