/* each.h - --each: one result for each file or stretch of files, one after the other, in one start of the program. */
#pragma once

#include "job/job.h"

/** Run the job for each group of --input (a file, or a stretch of files without gaps), or for those that part= of --each chooses.
 * --output is a folder, which is made if missing, or a name with {} for the group's own. Complete results are skipped. LW_EDATA,
 * LW_EIO, LW_ECONFIG, LW_EUSAGE may be a group's own fault: they are logged, the next group begins, and the first of them is
 * returned. LW_EUSAGE: two results would have one name, or part= is not I/N. Collective.
 * @param options  --input and --output are changed; --each is cleared, so that a result's configuration makes this result alone */
int lw_each_run(struct lw_comm *comm, const struct lw_job_ops *ops, struct lw_options *options, const char *command_line,
                struct lw_error *err);

/** Print the number of results, the plan of the largest, and the totals of all. If there are many results, most are estimated from
 * the size of their input. Errors as of lw_each_run. Collective. */
int lw_each_plan(struct lw_comm *comm, const struct lw_job_ops *ops, struct lw_options *options, struct lw_error *err);
