/* sparse.h - a run that takes few samples of its input, of its job's own choice: lw_run and lw_run_plan of such jobs, see
 * run/run.h. */
#pragma once

#include "setup/planned.h"

int lw_sparse_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
                  struct lw_error *err);
int lw_sparse_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_planned *planned,
                   struct lw_error *err);
