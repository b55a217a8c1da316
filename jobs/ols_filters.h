/* ols_filters.h - the filters of `ols`: read from a file or made for the rate of the input, and prepared for --whiten. */
#pragma once

#include "job/job.h"

/** Read or make the filters, and set all of job->op.ols but its search. Collective. */
int lw_ols_get_filters(const struct lw_options *given, struct lw_comm *comm, struct lw_pool *pool, struct lw_job *job,
                       struct lw_error *err);

/** Add the datasets /filters (if this run made or whitened the filters) and /psd behind all products. */
void lw_ols_shape_filters(struct lw_job *job);

/** Release what a job of `ols` owns: lw_job_ops.release. */
void lw_ols_release(struct lw_job *job);
