/* not_finite.h - the samples of a block that are not finite: their number and their positions. */
#pragma once

#include "setup/flaws.h"
#include "stream/window.h"

/* Samples in memory. All members are borrowed during the call. */
struct lw_samples_view {
    const struct lw_op_spec *op;
    int64_t width;                      /* numbers in one sample of one channel: 1, or the columns of an image */
    const struct lw_window_part *part;  /* samples, and their location in memory */
};

/** Count the samples of window positions [begin, end) that are not finite. */
int64_t lw_not_finite_count(const struct lw_samples_view *view, int64_t begin, int64_t end);

/** Extend the range in `flaws` by the first and the last non-finite sample of window positions [begin, end). Searching is bounded:
 * after about a tenth of a second in a run, the end of the range is a bound. @param start  sample of the input at position 0 */
void lw_not_finite_locate(const struct lw_samples_view *view, int64_t begin, int64_t end, int64_t start, struct lw_flaws *flaws);
