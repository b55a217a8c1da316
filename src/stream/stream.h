/* stream.h - a run that takes all samples of its input, block by block: lw_run and lw_run_plan of such jobs, see run/run.h. */
#pragma once

#include "setup/planned.h"

int lw_stream_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
                  struct lw_error *err);
int lw_stream_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_planned *planned,
                   struct lw_error *err);
