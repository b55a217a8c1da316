/* drift.h - the response of a Fourier transform to a signal whose frequency drifts.
 *
 *     A(q; z, w) = integral over u from 0 to 1 of exp(2 pi i (q u + z (u^2 - u) / 2 + w (u^3 / 6 - u^2 / 4 + u / 12)))
 *
 * q is the distance of the signal's mean frequency from a bin, z the change of the frequency over the transform, in bins, and w the
 * change of z. Conventions and source: accel/accel.h. */
#pragma once

#include "base/error.h"


/** Return the largest distance of the frequency from its mean, in bins. */
double lw_drift_excursion(double z, double w);

/** Compute A at q = j / steps for j = -half_width steps .. half_width steps, exact to 1e-12. LW_ESYSTEM: no memory. Several threads
 * may call it at a time.
 * @param out  [2 half_width steps + 1][2] */
int lw_drift_response(double z, double w, int steps, int half_width, double *out, struct lw_error *err);

/** Find the least half width such that any response's points beyond it have at most `lost` of its power, at any fraction of a bin.
 * LW_ESYSTEM: no memory. */
int lw_drift_half_width(double z, double w, double lost, int *half_width, struct lw_error *err);
