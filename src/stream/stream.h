/* stream.h - runs that read all samples of their input, round by round: lw_run and lw_run_plan (run/run.h) of streamed jobs.
 *
 *     block        outputs that a rank computes in a round (signal/rounds.h); empty if the rank has no work in it
 *     slot         buffers for a block's samples and products; slots are numbered 0 .. depth - 1 (engine/engine.h)
 *     halo         samples before a block that its filters need (comm/halo.h: also carry and prologue)
 *     position     window position: a sample's index in the view; boundary samples lie below 0 and beyond the end (window.h)
 *     table        product whose number of rows grows with the run: the peaks, picked from crossings (signal/search.h)
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
