/* touch.h - outputs that are made of samples that do not count: masked ones, and with --nan zero those that are not finite. They
 * become no peaks, unless the part of the filter's energy that meets such samples is no more than the job's `masked_fraction`. */
#pragma once

#include "stream/search/mask.h"

struct lw_touch {
    const struct lw_job *job;           /* all borrowed */
    const struct lw_op_plan *op;
    const struct lw_mask *mask;         /* NULL: none */
};

/** Whether any output of the job can be touched. */
bool lw_touch_is_needed(const struct lw_touch *touch);

/** Whether sample i of the slot's input does not count, in channel c of its block; of an image pixel `column` of row i, which may
 * lie beyond the sides. @param number  of the slot, see lw_mask_apply */
bool lw_touch_is_bad(const struct lw_touch *touch, const struct lw_slot *slot, int number, int64_t c, int64_t i);
bool lw_touch_is_bad_pixel(const struct lw_touch *touch, const struct lw_slot *slot, int64_t c, int64_t i, int64_t column);

/** Drop the crossings of a block that are touched too much. @param number  of the slot, see lw_mask_apply
 * @return  how many are left, at the front */
int64_t lw_touch_drop(const struct lw_touch *touch, const struct lw_slot *slot, int number, struct lw_crossing *crossings,
                      int64_t n);
