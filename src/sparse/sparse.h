/* sparse.h - runs of jobs that read few samples of their input. lw_run and lw_run_plan (run/run.h) call these functions.
 *
 *     plan     a method (state.h) chooses the samples to read; memory.c and pace.c choose how to read them
 *     search   collect.c brings the samples of some channels to their ranks; the method finds lines; refine.c fits tones to them
 *     dense    channels are read and transformed whole if their lines do not explain them, that is, leave more than noise
 *     write    outcome.c gathers the outcomes of the channels and writes the tables; resume.c writes checkpoints meanwhile */
#pragma once

#include "setup/planned.h"

int lw_sparse_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
                  struct lw_error *err);
int lw_sparse_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_planned *planned,
                   struct lw_error *err);
