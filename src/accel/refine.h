/* refine.h - exact powers of drifting signals, and their maximum near a hit. */
#pragma once

#include "accel/accel.h"
#include "design/transform.h"

/* Transforms of 2048 to 524288 points: the largest drifts (plan.c) need 65536 bins around a harmonic, and 8 points for each. */
enum { LW_ACCEL_REFINER_TRANSFORMS = 9 };
struct lw_accel_refiner {
    const struct lw_accel_plan *plan;                                   /* borrowed */
    struct lw_transform *transforms[LW_ACCEL_REFINER_TRANSFORMS];       /* owned; each of twice as many bins as the one before */
};

/** Plan the transforms once, as FFTW plans for one thread at a time. LW_ESYSTEM. Destroy it after a failure, too. */
int lw_accel_refiner_create(const struct lw_accel_plan *plan, struct lw_accel_refiner *refiner, struct lw_error *err);
void lw_accel_refiner_destroy(struct lw_accel_refiner *refiner);        /* zeros are legal */

/** Maximize the sum over harmonics of P(h r, h z, h w), h = 1 .. H, over r, z and w (w only if the plan has several), from the
 * point of a hit, in double precision by Newton's method on 16384 bins on either side of each harmonic. The logarithm of a signal's
 * likelihood is this sum, so that the inverse of its negative Hessian is the covariance of r, z and w; errors are its diagonal's
 * roots. A maximum further than two steps of the grid from the hit is not taken: then the hit's own point stays, and errors are a
 * step of the grid. LW_ESYSTEM. Several threads may call it at a time; in a parallel region of OpenMP the harmonics
 * are tasks.
 * @param spectrum   [n_bins][2] normalized spectrum
 * @param variances  [n_blocks] of its levels, see normalize.h */
int lw_accel_refine(const struct lw_accel_refiner *refiner, const float *spectrum, const float *variances,
                    const struct lw_accel_hit *hit, struct lw_accel_candidate *candidate, struct lw_error *err);

/** Compute P(r, z, w) by its definition, from the bins within `half_width` of r. LW_ESYSTEM. */
int lw_accel_power(const float *spectrum, int64_t n_bins, int half_width, double r, double z, double w, double *power,
                   struct lw_error *err);
