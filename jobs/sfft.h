/* sfft.h - what the job `sfft` makes, and what its files share. */
#ifndef LW_JOBS_SFFT_H
#define LW_JOBS_SFFT_H

#include "job/job.h"

/* jobs/synth/sfft.c: see lw_job_ops.synth_options and .synth */
extern const struct lw_option lw_sfft_synth_options[];
int lw_sfft_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err);

#endif
