/* jobs.h - the jobs that there are. */
#ifndef LW_JOBS_JOBS_H
#define LW_JOBS_JOBS_H

#include "job/job.h"

extern const struct lw_job_ops lw_job_ols, lw_job_conv2d, lw_job_sfft;

/** The jobs, NULL-ended. A further one is a further line in jobs.c. */
extern const struct lw_job_ops *const lw_jobs[];

/** The job of that name; NULL if there is none. */
const struct lw_job_ops *lw_job_find(const char *name);

#endif
