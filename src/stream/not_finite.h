/* not_finite.h - the samples of a block that are not finite: their number and their positions. */
#pragma once

#include "setup/flaws.h"
#include "stream/window.h"

/* Samples in memory. All members are borrowed during the call. */
struct lw_samples_view {
    const struct lw_op_spec *op;
    int64_t width;                      /* numbers of one channel at one position of the axis: 1, or the columns of an image */
    const struct lw_window_part *part;  /* location in memory */
};

/** Count the samples of window positions [begin, end) that are not finite. */
int64_t lw_not_finite_count(const struct lw_samples_view *view, int64_t begin, int64_t end);

/** Add the positions of the first and the last non-finite sample to `flaws`. The search is bounded: once a run has searched for
 * about a tenth of a second, the last position is approximate. @param start  sample of the input at window position 0 */
void lw_not_finite_locate(const struct lw_samples_view *view, int64_t begin, int64_t end, int64_t start, struct lw_flaws *flaws);
