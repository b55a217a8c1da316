#include "run/run.h"

#include "channels/channels.h"
#include "sparse/sparse.h"
#include "stream/stream.h"

int lw_run(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, const char *command_line,
           struct lw_error *err)
{
    switch (ops->way) {
    case LW_WAY_STREAMED: return lw_stream_run(comm, ops, options, command_line, err);
    case LW_WAY_SPARSE: return lw_sparse_run(comm, ops, options, command_line, err);
    case LW_WAY_CHANNELS: return lw_channels_run(comm, ops, options, command_line, err);
    }
    return LW_ECONFIG;
}

int lw_run_plan(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_planned *planned,
                struct lw_error *err)
{
    switch (ops->way) {
    case LW_WAY_STREAMED: return lw_stream_plan(comm, ops, options, planned, err);
    case LW_WAY_SPARSE: return lw_sparse_plan(comm, ops, options, planned, err);
    case LW_WAY_CHANNELS: return lw_channels_plan(comm, ops, options, planned, err);
    }
    return LW_ECONFIG;
}

int lw_plan_one(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_error *err)
{
    struct lw_planned planned = {.prints = lw_comm_rank(comm) == 0};
    const int rc = lw_run_plan(comm, ops, options, &planned, err);
    if (rc == LW_OK && planned.serial_seconds > 0 && planned.prints)
        lw_plan_print_slurm(planned.serial_seconds);
    return rc;
}
