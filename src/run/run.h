/* run.h - a job with one result, run or planned in the way that it names. */
#pragma once

#include "setup/planned.h"

/** Run it from the input file to the finished result. Collective; every rank returns the same code.
 * @param command_line  as typed, for the provenance */
int lw_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
           struct lw_error *err);

/** Tell how it would run. Collective; every rank returns the same code. */
int lw_run_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_planned *planned,
                struct lw_error *err);

/** Print that. Collective. */
int lw_plan_one(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_error *err);
