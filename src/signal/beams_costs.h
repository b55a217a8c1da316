/* beams_costs.h - the choice of the widths of beams' sums (signal/beams.h) by what an engine pays for them. Pure arithmetic. */
#pragma once

#include "signal/beams.h"

#include <stdbool.h>

LW_C_BEGIN

/* Costs in additions of sums to a beam. */
struct lw_beams_costs {
    double load, add, store;    /* a loaded sample; an addition of stage 1; a stored output */
    double sum, back;           /* a sum of a sub-band that goes to memory, and that comes back for each group */
    double far;                         /* an addition of samples that have left the near caches */
    int64_t near_samples;               /* samples of sums that stay in these */
    int64_t group, tile;                /* beams that fetch sums of sub-bands together; outputs of a tile */
    bool has_bands;                     /* the engine makes stage 2 */
    int64_t looks;                      /* channels that the choice of a width looks at, about, if there is no stage 2 */
};

/** Choose the widths with the fewest additions; lw_beams_choose does so with the costs of the CPU engine. LW_ESYSTEM. */
int lw_beams_choose_by(const struct lw_shifts *shifts, const struct lw_beams_costs *costs, struct lw_beams_shape *out,
                       struct lw_error *err);

/** Return whether the channels' weights are all equal in each beam, or 0. Sums of integers are exact then. */
bool lw_beams_are_plain(const struct lw_shifts *shifts);

/** List the beams' weights.
 * @param scales  [n] set to the last weight of a beam
 * @param counts  [n] set to the channels of a beam that have a weight
 * @param used    [n_inputs] marked if a channel has a weight in some beam; 0 before */
void lw_beams_list(const struct lw_shifts *shifts, double *scales, int32_t *counts, uint8_t *used);

LW_C_END
