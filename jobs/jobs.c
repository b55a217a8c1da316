/* jobs.c - the jobs that there are. A further one is a further line here. */
#include "job/job.h"

const struct lw_job_ops *const lw_jobs[] = {
    &lw_job_ols,
    &lw_job_conv2d,
    &lw_job_sfft,
    NULL,
};
