#include "engine/engine.h"

void lw_engine_destroy(struct lw_engine *engine)
{
    if (engine)
        engine->ops->destroy(engine);
}

int64_t lw_op_input_width(const struct lw_op_spec *spec)
{
    return spec->kind == LW_OP_CONV2D ? spec->conv2d.columns : 1;
}

int64_t lw_op_output_width(const struct lw_op_spec *spec)
{
    return spec->kind == LW_OP_CONV2D ? spec->conv2d.output_columns
           : spec->kind == LW_OP_OLS  ? lw_post_rate(spec->ols.post)
                                      : 1;
}

int64_t lw_op_outputs(const struct lw_op_spec *spec, const struct lw_block *block)
{
    if (spec->kind != LW_OP_OLS)
        return block->count;
    return lw_post_outputs(spec->ols.post, spec->n_outputs, block->first, block->count);
}
