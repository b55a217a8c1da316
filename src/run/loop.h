/* loop.h - run a job, or say how it would run. */
#ifndef LW_RUN_LOOP_H
#define LW_RUN_LOOP_H

#include "comm/comm.h"
#include "job/job.h"
#include "options/options.h"

/** Run the job that the options describe, from the input file to the finished result. Collective; every rank returns the
 * same code. @param command_line  as typed, for the provenance */
int lw_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
           struct lw_error *err);

/** Print the plan on standard output (rank 0) without running: ranks, rounds, slices, bytes, estimated time. Collective. */
int lw_plan_command(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                    struct lw_error *err);

#endif
