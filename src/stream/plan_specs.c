/* plan_specs.c - the halo, window and view that follow from a plan. */
#include "stream/plan.h"

#include "base/integers.h"

int64_t lw_plan_input_bytes(const struct lw_job *job, const struct lw_op_plan *op)
{
    return op->input_width * (int64_t)lw_type_bytes(job->op.input);
}

struct lw_halo_spec lw_plan_halo(const struct lw_plan *plan, const struct lw_job *job)
{
    return (struct lw_halo_spec){
        .rounds = &plan->rounds, .layout = job->op.layout, .sample_bytes = lw_plan_input_bytes(job, &plan->op),
        .n_inputs = lw_op_sums_channels(&job->op) ? lw_op_inputs(&job->op, 0) : 0,
    };
}

struct lw_window_spec lw_plan_window(const struct lw_plan *plan, const struct lw_job *job, struct lw_reader *reader)
{
    return (struct lw_window_spec){
        .reader = reader, .boundary = job->boundary, .layout = job->op.layout,
        .sample_bytes = lw_plan_input_bytes(job, &plan->op), .n_samples = job->n_samples,
        .n_taps = plan->op.halo + 1, .max_channels = lw_op_inputs(&job->op, plan->rounds.group),
    };
}

struct lw_view_spec lw_plan_view(const struct lw_plan *plan, const struct lw_job *job)
{
    const struct lw_window_spec window = lw_plan_window(plan, job, NULL);
    struct lw_view_spec view = job->view;
    view.max_axis = lw_max64(lw_max64(plan->rounds.slice, plan->op.halo), lw_window_max_read(&window));
    view.max_channels = window.max_channels;
    view.chunks = plan->chunks;
    return view;
}
