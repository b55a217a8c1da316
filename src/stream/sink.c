#include "stream/sink.h"

/* Find the place of a block's part of an array in the result: first index and count in each dimension. */
static void place(const struct lw_job *job, const struct lw_op_plan *op, int product, const struct lw_block *block,
                  int64_t first[LW_MAX_DIMS], int64_t count[LW_MAX_DIMS])
{
    const struct lw_product *const p = &job->products[product];
    for (int d = 0; d < p->dataset.n_dims; d++) {
        first[d] = 0;
        count[d] = p->dataset.dims[d];
    }
    if (p->has_filters) {
        first[0] = block->filter;
        count[0] = block->n_filters;
    }
    first[p->axis_dim] = lw_op_first_output(op, product, block);
    count[p->axis_dim] = lw_op_outputs(op, product, block);
    if (p->channel_dim >= 0) {
        first[p->channel_dim] = block->channel;
        count[p->channel_dim] = block->n_channels;
    }
}

/* Return whether another rank writes an array for this one. */
static bool leaves(const struct lw_sinks *sinks, int product)
{
    const enum lw_op_product_kind kind = sinks->op->products[product].kind;
    return sinks->leaves_best && (kind == LW_OP_BEST_VALUE || kind == LW_OP_BEST_FILTER);
}

void lw_sinks_begin(const struct lw_sinks *sinks, const struct lw_slot *slot, struct lw_sink_writes *writes)
{
    if (sinks->sums)
        lw_sums_next(sinks->sums);
    for (int p = 0; p < sinks->job->n_products; p++) {
        int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS];
        if (sinks->op->products[p].n_planes == 0)
            continue;
        if (sinks->sums) {      /* sums are computed from memory, before the array is written */
            struct lw_sums_part part;
            lw_sums_compute(sinks->sums, slot, p, &part);
            if (slot->block.count == 0 || leaves(sinks, p))
                memset(part.count, 0, sizeof part.count);
            lw_writer_begin(sinks->writer, part.dataset, part.first, part.count, part.values, &writes->sums[p]);
        }
        place(sinks->job, sinks->op, p, &slot->block, first, count);
        if (leaves(sinks, p))
            memset(count, 0, sizeof count);
        lw_writer_begin(sinks->writer, p, first, count, slot->products[p].data, &writes->products[p]);
    }
}

int lw_sinks_recall_best(const struct lw_sinks *sinks, const struct lw_block *block, struct lw_slot *slot, struct lw_error *err)
{
    static const enum lw_op_product_kind kinds[] = {LW_OP_BEST_VALUE, LW_OP_BEST_FILTER};
    const int product = lw_op_find_product(sinks->op, LW_OP_BEST_VALUE);
    slot->goes_on = product >= 0 && block->count > 0 && block->filter > 0 && !sinks->leaves_best;
    int rc = LW_OK;
    for (int k = 0; k < 2 && slot->goes_on && rc == LW_OK; k++) {
        int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS];
        const int p = lw_op_find_product(sinks->op, kinds[k]);
        place(sinks->job, sinks->op, p, block, first, count);
        rc = lw_writer_recall_array(sinks->writer, p, first, count, slot->products[p].data, err);
    }
    return rc;
}

int lw_sinks_end(const struct lw_sinks *sinks, struct lw_sink_writes *writes, struct lw_error *err)
{
    int rc = LW_OK;
    for (int p = 0; p < sinks->job->n_products; p++) {
        const int its_rc = lw_writer_end(sinks->writer, &writes->products[p], rc ? NULL : err);
        rc = rc ? rc : its_rc;
        const int sums_rc = lw_writer_end(sinks->writer, &writes->sums[p], rc ? NULL : err);
        rc = rc ? rc : sums_rc;
    }
    return rc;
}
