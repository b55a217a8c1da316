/* jobs.h - the list of jobs.
 *
 *     ols.c, conv2d.c, sfft.c, accel.c   options and the input's shape become a struct lw_job (job/job.h), which src/run executes
 *     ols_filters.c, filters/   filters read from a file, or made from options; also `lapwing filters`
 *     aliasing.c                warns if decimation folds much of a filter's energy back
 *     synth/                    synthetic input with known contents, `lapwing synth` */
#pragma once

#include "job/job.h"

/* The jobs; a new job is a new line. */
#define LW_JOBS(X) \
    X(ols)         \
    X(conv2d)      \
    X(sfft)        \
    X(accel)

#define LW_JOB(name) extern const struct lw_job_ops lw_job_##name;
LW_JOBS(LW_JOB)
#undef LW_JOB

/** The jobs, NULL-ended. */
extern const struct lw_job_ops *const lw_jobs[];

/** Return the job of a name; NULL if there is none. */
const struct lw_job_ops *lw_job_find(const char *name);
