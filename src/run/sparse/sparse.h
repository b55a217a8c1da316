/* sparse.h - run the job `sfft`, or say how it would run.
 *
 *     each rank reads the wanted samples of its part of the axis  ->  summed on the channel's rank (each sample has one
 *     owner, so the sum is exact)  ->  lines  ->  not explained: more stages, then all samples  ->  one table */
#ifndef LW_RUN_SPARSE_SPARSE_H
#define LW_RUN_SPARSE_SPARSE_H

#include "run/setup.h"

/** As lw_run and lw_plan_command, for a job whose op is LW_OP_SFFT. Collective. */
int lw_sfft_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                const char *command_line, struct lw_error *err);
int lw_sfft_plan_command(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options,
                         struct lw_error *err);

#endif
