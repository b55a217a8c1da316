/* not_finite.h - the samples of a block that are not finite: how many there are, and where. */
#pragma once

#include "setup/flaws.h"
#include "stream/window.h"

/* Samples in memory. All borrowed during the call. */
struct lw_samples_view {
    const struct lw_op_spec *op;
    int64_t width;                      /* values of one sample of the axis of a channel */
    const struct lw_window_part *part;  /* where they lie */
};

/** How many of the samples of window positions [begin, end) are not finite. */
int64_t lw_not_finite_count(const struct lw_samples_view *view, int64_t begin, int64_t end);

/** Note where among them the first and the last lie. What this takes is bounded: once a run has sought for a tenth of a second, the
 * last one's place becomes rough. @param start  sample of the input at window position 0 */
void lw_not_finite_locate(const struct lw_samples_view *view, int64_t begin, int64_t end, int64_t start, struct lw_flaws *flaws);
