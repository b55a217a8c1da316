/* ols_result.h - the datasets of a result of `ols`, and what their attributes say. */
#pragma once

#include "job/job.h"

/** Fill the job's products, in the order of lw_op_ols_products, the noise behind them, and the times of outputs; everything else
 * of the job is decided. */
void lw_ols_shape_result(const struct lw_options *given, struct lw_job *job);
