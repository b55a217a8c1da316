/* conv2d_kernel.h - the kernels of `conv2d`: read from files, or Gaussians made here. */
#pragma once

#include "job/job.h"

/* Most files of --kernel. A file may hold many kernels. */
#define LW_CONV2D_MOST_FILES LW_JOB_FILTER_FILES

/** Read or make the kernels. Set job->has_filter_dim, and the fields of job->op.conv2d that describe kernels and algorithm. Kernels
 * of different sizes get zeros around them, so that their middle elements coincide. Collective. */
int lw_conv2d_get_kernels(const struct lw_options *given, struct lw_comm *comm, struct lw_job *job, struct lw_error *err);

/** Add the dataset /kernel behind all products, if the kernels were made here. */
void lw_conv2d_shape_kernels(const struct lw_options *given, struct lw_job *job);

/** Note in a product whose first dimension counts kernels where these come from. */
void lw_conv2d_describe_kernels(const struct lw_options *given, const struct lw_job *job, struct lw_product *product);
