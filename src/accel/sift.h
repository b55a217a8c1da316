/* sift.h - which hits are signals of their own: neighbours of stronger hits, duplicates and harmonics of stronger candidates. */
#pragma once

#include "accel/accel.h"

/** Keep the hits that no stronger hit explains, in descending order of significance. A hit is explained if its fundamental lies so
 * near that the stronger signal's response at its r, z and w, with some noise on it, is as strong: hits along the ridge of a signal
 * and its side lobes, of any stage. LW_ESYSTEM: no memory.
 * @param variances  [n_blocks] of the spectrum's levels, see normalize.h: a sum counts as if its powers were equal
 * @param n          in: number of hits; out: number that are kept, in front */
int lw_accel_thin(const struct lw_accel_plan *plan, const float *variances, struct lw_accel_hit *hits, int64_t *n,
                  struct lw_error *err);

/* How a candidate is related to a stronger one. */
struct lw_accel_relation {
    int64_t to;                     /* index of the stronger candidate; -1: none */
    int numerator, denominator;     /* its frequency is the stronger one's times numerator / denominator; 1 / 1: a duplicate */
};

/** Find duplicates and harmonics (n / d with n and d to 16) of stronger candidates that are related to none, in any series. Related
 * are those whose r, z and w agree within four errors and a step of the grid of their highest harmonics, r within 1.5 bins,
 * too. If several are, the strongest counts. LW_ESYSTEM: no memory.
 * @param candidates  [n], descending by sigma
 * @param relations   out, [n] */
int lw_accel_relate(const struct lw_accel_candidate *candidates, int64_t n, struct lw_accel_relation *relations,
                    struct lw_error *err);
