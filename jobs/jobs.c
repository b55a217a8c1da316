#include "jobs/jobs.h"

const struct lw_job_ops *const lw_jobs[] = {
#define X(name) &lw_job_##name,
    LW_JOBS(X)
#undef X
    NULL,
};

const struct lw_job_ops *lw_job_find(const char *name)
{
    for (int i = 0; lw_jobs[i]; i++)
        if (strcmp(lw_jobs[i]->name, name) == 0)
            return lw_jobs[i];
    return NULL;
}
