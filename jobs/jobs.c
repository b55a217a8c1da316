#include "jobs/jobs.h"

#include <string.h>

const struct lw_job_ops *const lw_jobs[] = {
    &lw_job_ols,
    &lw_job_conv2d,
    &lw_job_sfft,
    NULL,
};

const struct lw_job_ops *lw_job_find(const char *name)
{
    for (int i = 0; lw_jobs[i]; i++)
        if (strcmp(lw_jobs[i]->name, name) == 0)
            return lw_jobs[i];
    return NULL;
}
