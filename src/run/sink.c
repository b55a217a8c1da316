#include "run/sink.h"

void lw_sink_place(const struct lw_job *job, const struct lw_op_plan *op, int product, const struct lw_block *block,
                   int64_t first[LW_MAX_DIMS], int64_t count[LW_MAX_DIMS])
{
    const struct lw_product *const p = &job->products[product];
    for (int d = 0; d < p->dataset.n_dims; d++) {
        first[d] = 0;
        count[d] = p->dataset.dims[d];
    }
    first[p->axis_dim] = lw_op_first_output(op, product, block);
    count[p->axis_dim] = lw_op_outputs(op, product, block);
    if (p->channel_dim >= 0) {
        first[p->channel_dim] = block->channel;
        count[p->channel_dim] = block->n_channels;
    }
}

int lw_sinks_take(const struct lw_sinks *sinks, const struct lw_slot *slot, struct lw_error *err)
{
    int rc = LW_OK;
    for (int p = 0; p < sinks->job->n_products && rc == LW_OK; p++) {
        int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS];
        lw_sink_place(sinks->job, sinks->op, p, &slot->block, first, count);
        rc = lw_writer_write(sinks->writer, p, first, count, slot->products[p].data, err);
    }
    return rc;
}
