/* ols_filters.h - the filters of `ols`: read from a file, or made at the rate of the input; and, where that is asked for, to be
 * whitened by its spectrum. */
#pragma once

#include "job/job.h"

/** Read or make them, and set the operation's filters, what is made of their outputs included. Collective. */
int lw_ols_get_filters(const struct lw_options *given, struct lw_comm *comm, struct lw_job *job, struct lw_error *err);

/** The datasets of filters that are in no file yet, and of the spectrum that whitened them, behind all products. */
void lw_ols_shape_filters(struct lw_job *job);

/** lw_job_ops.release */
void lw_ols_release(struct lw_job *job);
