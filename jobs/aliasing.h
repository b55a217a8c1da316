/* aliasing.h - how much of a filter lies beyond the band that a decimated result can hold. */
#pragma once

#include "engine/engine.h"

/** Warn once if a filter of the bank leaves more than 1% of its energy beyond half the rate that --decimate makes, where it would
 * be folded back into the result: the sum of |H|^2 over those frequencies against that over all, on a grid four times as
 * fine as the filter is long. Nothing where nothing is decimated.
 * @param rate_hz  of the input; 0: not known
 * @return LW_ESYSTEM: no memory */
int lw_ols_warn_of_aliasing(const struct lw_ols_spec *ols, double rate_hz, struct lw_error *err);

/** The same for a kernel, from row to row (the sum over all its columns as filters) and from column to column. */
int lw_conv2d_warn_of_aliasing(const struct lw_conv2d_spec *conv2d, struct lw_error *err);
