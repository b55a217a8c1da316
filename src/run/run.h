/* run.h - runs or plans a job with one result. each.h does so for one result after the other (--each).
 *
 *     each.h  --input, --output of one result-->  run.h  --LW_WAY_STREAMED-->  stream/stream.h   all samples
 *                                                        --LW_WAY_SPARSE---->  sparse/sparse.h   few samples
 *                                                        --LW_WAY_CHANNELS-->  channels/channels.h   whole channels, in turn */
#pragma once

#include "setup/planned.h"

/** Run the job from the input file to the finished result. Collective; every rank returns the same code.
 * @param command_line  as typed, for the provenance */
int lw_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
           struct lw_error *err);

/** Plan the job: fill `planned`, and print the plan if planned->prints. Collective; every rank returns the same code. */
int lw_run_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_planned *planned,
                struct lw_error *err);

/** Print the plan, and the time to request from Slurm. Collective. */
int lw_plan_one(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_error *err);

/** Print the plan for a machine that is not here, and how the run scales over its nodes (scale.c). One process.
 * @param jobfile  name of the job file, for the line to submit it; NULL: none */
int lw_plan_machine(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                    const struct lw_machine *machine, const char *jobfile, struct lw_error *err);
