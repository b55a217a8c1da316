/* open.h - the setup of a streamed run: what every run has, and a mask. */
#pragma once

#include "setup/setup.h"

/** lw_setup_open with what a streamed run opens beside. Collective. */
int lw_stream_open(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_setup *setup,
                   struct lw_error *err);
void lw_stream_close(struct lw_setup *setup);   /* Collective. */
