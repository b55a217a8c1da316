/* aliasing.h - warn of filters that pass frequencies beyond half the sampling rate of a decimated result. */
#pragma once

#include "job/job.h"

/** Warn once if a filter of the bank has more than 1% of its energy beyond half the rate that --decimate leaves: this part is
 * folded back into the result. The energy is the sum of |H|^2 over a grid of at least four points per tap.
 * @return  LW_ESYSTEM: no memory; errors of lw_job_take_filters */
int lw_ols_warn_of_aliasing(struct lw_job *job, struct lw_error *err);

/** Warn likewise of a kernel, for both directions of --decimate: all its columns are one bank of filters, all its rows another. */
int lw_conv2d_warn_of_aliasing(const struct lw_conv2d_spec *conv2d, struct lw_error *err);
