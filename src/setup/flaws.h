/* flaws.h - faults that a run finds in its data: their numbers, and the range of the axis that has non-finite samples. */
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"

/* Flaws found by one rank; after lw_flaws_sum, by all ranks. */
struct lw_flaws {
    int64_t n_not_finite;       /* non-finite samples (NaN or infinite) of the input that this rank owns */
    int64_t first, end;         /* the non-finite samples located so far lie in [first, end) of the input's axis; end 0: none */
    bool is_rough;              /* `end` is an upper bound: the last non-finite sample lies somewhere before it */
    int64_t n_sought;           /* values that this rank has examined to locate `end`, a limited number */
    int64_t n_out_of_range;     /* blocks (stream/stream.h) with powers beyond the range of their stored type */
    int64_t n_quiet;            /* windows of channels whose normalized outputs are 0 (signal/array.h) */
    struct lw_loss loss;
};

/** Extend the range of non-finite samples by [first, end) of the input's axis.
 * @param is_rough  `end` is an upper bound */
void lw_flaws_widen(struct lw_flaws *flaws, int64_t first, int64_t end, bool is_rough);

/** Add the counts of `more`, and extend the range by its range. */
void lw_flaws_add(struct lw_flaws *flaws, const struct lw_flaws *more);

/** Combine the flaws of all ranks, all but n_sought. Collective. */
void lw_flaws_sum(struct lw_comm *comm, struct lw_flaws *flaws);
