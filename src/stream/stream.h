/* stream.h - runs that read all samples of their input, block by block: lw_run and lw_run_plan (run/run.h) of such jobs.
 *
 *     plan.h       choose rounds, slices and buffers            resume.h    continue an interrupted run, write checkpoints
 *     search/      before the rounds: noise, power spectrum, masks; in the rounds: peaks
 *     loop.h       the rounds:  reader -> window.h -> slot + halo -> pipeline.h (engine) -> sink.h -> result
 *                                         (boundary)                                        sums/ (checksums)
 *     listener.h   called after each write: progress line, checkpoints */
#pragma once

#include "setup/planned.h"

int lw_stream_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
                  struct lw_error *err);
int lw_stream_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_planned *planned,
                   struct lw_error *err);
