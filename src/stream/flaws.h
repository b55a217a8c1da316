/* flaws.h - what a run finds wrong with its data: how much, and where on the axis samples that are not finite lie. */
#ifndef LW_STREAM_FLAWS_H
#define LW_STREAM_FLAWS_H

#include "comm/comm.h"
#include "engine/engine.h"
#include "stream/window.h"

/* Counted by each rank. */
struct lw_flaws {
    int64_t n_not_finite;       /* own samples of the input that are not finite */
    int64_t first, end;         /* of the axis of the whole input: those that are known to lie in [first, end); end 0: none is */
    bool is_rough;              /* they end somewhere before `end` */
    int64_t n_sought;           /* values that were looked at to find the end */
    int64_t n_out_of_range;     /* slots with results that their type cannot hold */
    struct lw_loss loss;
};

/* Samples in memory. All borrowed during the call. */
struct lw_flaws_view {
    const struct lw_op_spec *op;
    int64_t width;                      /* values of one sample of the axis of a channel */
    const struct lw_window_part *part;  /* where they lie */
};

/** How many of the samples of window positions [begin, end) are not finite. */
int64_t lw_flaws_count(const struct lw_flaws_view *view, int64_t begin, int64_t end);

/** Note where among them the first and the last lie. What this takes is bounded: once a run has sought for a tenth of a second, the
 * last one's place becomes rough. @param start  sample of the input at window position 0 */
void lw_flaws_locate(const struct lw_flaws_view *view, int64_t begin, int64_t end, int64_t start, struct lw_flaws *flaws);

/** Count what was found elsewhere, too. */
void lw_flaws_add(struct lw_flaws *flaws, const struct lw_flaws *more);

/** Those of all ranks. Collective. */
void lw_flaws_sum(struct lw_comm *comm, struct lw_flaws *flaws);

#endif
