/* sparse.h - runs that read few samples of their input, chosen by the job: lw_run and lw_run_plan (run/run.h) of such jobs.
 *
 *     plan     a method (state.h) chooses the samples; memory.c and pace.c how they are read
 *     search   collect.c brings the samples of some channels to their ranks; the method finds lines; refine.c fits tones to them
 *     dense    channels that their lines do not explain are read and transformed as a whole
 *     write    outcome.c gathers the outcomes of the channels and writes the tables; resume.c writes checkpoints meanwhile */
#pragma once

#include "setup/planned.h"

int lw_sparse_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
                  struct lw_error *err);
int lw_sparse_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_planned *planned,
                   struct lw_error *err);
