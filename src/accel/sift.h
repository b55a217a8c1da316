/* sift.h - which hits are signals of their own: neighbours of stronger hits, duplicates and harmonics of stronger candidates. */
#pragma once

#include "accel/accel.h"

#include <stdbool.h>

/** Keep the hits that no stronger hit explains: hits of any stage whose fundamental lies within the templates' reach of a stronger
 * one's, where a side lobe of the latter would be as strong. Strength is significance; the order of the result is descending.
 * @return number of hits that are kept, in front */
int64_t lw_accel_thin(const struct lw_accel_plan *plan, struct lw_accel_hit *hits, int64_t n);

/* How a candidate is related to a stronger one. */
struct lw_accel_relation {
    int64_t to;                     /* index of the stronger candidate; -1: none */
    int numerator, denominator;     /* its frequency is the stronger one's times numerator / denominator; 1 / 1: a duplicate */
};

/** Find duplicates and harmonics (n / d with n and d to 16) of stronger candidates, in any series.
 * @param candidates  [n], descending by sigma
 * @param relations   out, [n] */
int lw_accel_relate(const struct lw_accel_candidate *candidates, int64_t n, struct lw_accel_relation *relations,
                    struct lw_error *err);
