/* templates.h - the responses with which spectra are correlated, for all z and w of a plan's grid. */
#pragma once

#include "accel/accel.h"

/** Return the half width of the template of z and w, in bins: 1.1 times the largest excursion plus 16, as PRESTO's low accuracy
 * (its src/responses.c), or that of spec->lost. LW_ESYSTEM. */
int lw_accel_half_width(const struct lw_accel_spec *spec, double z, double w, int *half_width, struct lw_error *err);

/** Make the template of indices z and w: conj(A(j / LW_ACCEL_STEPS; z, w)) for j = -half .. half with half = LW_ACCEL_STEPS
 * plan->half_width, zero beyond the template's own half width. Several threads may call it at a time.
 * @param out  [2 half + 1][2] */
int lw_accel_template(const struct lw_accel_plan *plan, int z, int w, float *out, struct lw_error *err);
