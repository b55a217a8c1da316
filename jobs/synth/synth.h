/* synth.h - the synthetic surveys that the jobs offer: lw_job_ops.synth_options and .synth of each. */
#ifndef LW_JOBS_SYNTH_SYNTH_H
#define LW_JOBS_SYNTH_SYNTH_H

#include "comm/comm.h"
#include "options/options.h"

extern const struct lw_option lw_ols_synth_options[], lw_conv2d_synth_options[], lw_sfft_synth_options[];

int lw_ols_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);
int lw_conv2d_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);
int lw_sfft_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);

#endif
