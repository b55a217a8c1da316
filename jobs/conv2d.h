/* conv2d.h - what the files of the job `conv2d` share. */
#ifndef LW_JOBS_CONV2D_H
#define LW_JOBS_CONV2D_H

#include "job/job.h"

/* jobs/synth/conv2d.c: see lw_job_ops.synth_options and .synth */
extern const struct lw_option lw_conv2d_synth_options[];
int lw_conv2d_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);

#endif
