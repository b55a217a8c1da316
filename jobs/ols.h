/* ols.h - what the files of the job `ols` share. */
#ifndef LW_JOBS_OLS_H
#define LW_JOBS_OLS_H

#include "job/job.h"

#define LW_OLS_MAX_FILTERS (1 << 20)

/* jobs/synth/ols.c: see lw_job_ops.synth_options and .synth */
extern const struct lw_option lw_ols_synth_options[];
int lw_ols_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);

#endif
