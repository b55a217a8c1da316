/* ols_filters.h - the filters of `ols`: read from a file or made for the rate of the input, and prepared for --whiten. */
#pragma once

#include "job/job.h"

/** Read or make the filters, and set all of job->op.ols but its search. Collective. */
int lw_ols_get_filters(const struct lw_options *given, struct lw_comm *comm, struct lw_pool *pool, struct lw_job *job,
                       struct lw_error *err);

/** Check that filters or delays were made for the rate of the input, where both rates are known. LW_EDATA.
 * @param what  "filters", for the message */
int lw_ols_check_rate(const struct lw_options *given, const struct lw_job *job, const struct lw_dataset_info *made,
                      const char *what, struct lw_error *err);

/** Add the datasets /filters (if this run made or whitened the filters) and /psd behind all products. */
void lw_ols_shape_filters(struct lw_job *job);

/** Release what a job of `ols` owns: lw_job_ops.release. */
void lw_ols_release(struct lw_job *job);
