/* channels.h - runs of jobs that take whole channels, one after the other: searches for drifting signals. lw_run and lw_run_plan
 * (run/run.h) call these functions.
 *
 *     step k   each rank has a channel of its own. In the last step, where fewer are left than there are ranks, several ranks have
 *              one channel: each reads a part of its samples, all get all samples, and each searches a part of the frequencies
 *     part p   a step has several parts, ranges of frequencies one after the other, where a channel takes longer than the time
 *              between two checkpoints
 *     order    begin p;  while the engine searches:  refine the hits of p - 1, hand them over, read the next step;  wait for p
 *
 *     read.c     samples from the file to a series without its mean
 *     search.c   series to hits, hits to rows of the table; at the end, rows to the table
 *     memory.c   memory of the run, and whether it fits
 *     resume.c   checkpoints, and what an earlier run has left */
#pragma once

#include "setup/planned.h"

int lw_channels_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
                    struct lw_error *err);
int lw_channels_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                     struct lw_planned *planned, struct lw_error *err);
