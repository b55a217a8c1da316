/* jobs.h - the jobs that there are. */
#pragma once

#include "job/job.h"

/* The jobs; a further one is a further line. */
#define LW_JOBS(X) \
    X(ols)         \
    X(conv2d)      \
    X(sfft)

#define LW_JOB(name) extern const struct lw_job_ops lw_job_##name;
LW_JOBS(LW_JOB)
#undef LW_JOB

/** The jobs, NULL-ended. */
extern const struct lw_job_ops *const lw_jobs[];

/** The job of that name; NULL if there is none. */
const struct lw_job_ops *lw_job_find(const char *name);
