/* each.h - a result of its own for each file or stretch of files (--each), one after the other, from one start of the program. */
#pragma once

#include "job/job.h"

/** Run the job for each of what --input names, or the part of it that its part= says; --output names a folder, which is made if it
 * is not there, or holds {}. Results that are complete are passed over. A group that ends with LW_EDATA or LW_EIO is reported, and
 * the next one begun; the code is then that of the first. LW_EUSAGE: two results would have one name, or part= is not I/N.
 * Collective.
 * @param options  --input and --output are changed; --each is cleared, so that a result's configuration makes it again */
int lw_each_run(struct lw_comm *comm, const struct lw_job_ops *ops, struct lw_options *options, const char *command_line,
                struct lw_error *err);

/** Say how many there are, how the largest would run, and what all take: where they are many, most are counted by the size of their
 * input. An input that cannot be described is an error as of lw_each_run. Collective. */
int lw_each_plan(struct lw_comm *comm, const struct lw_job_ops *ops, struct lw_options *options, struct lw_error *err);
