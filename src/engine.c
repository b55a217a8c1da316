#include "engine.h"

#include <stddef.h>
#include <stdio.h>

static int create_auto(const struct lw_engine_spec *spec, struct lw_engine **out, char why[200], struct lw_error *err)
{
    char reason[160];
    /* The cuda engine passes the conformance suite with its kernels emulated; until it has passed on a GPU, it is taken
     * only by those who ask for it. */
    if (lw_engine_cuda_usable(reason))
        snprintf(why, 200, "cpu engine: the cuda engine is not yet proven on a GPU; --engine cuda takes it");
    else
        snprintf(why, 200, "cpu engine: %s", reason);
    return lw_engine_create_cpu(spec, out, err);
}

int lw_engine_create(const struct lw_engine_spec *spec, struct lw_engine **out, char why[200], struct lw_error *err)
{
    switch (spec->kind) {
    case LW_ENGINE_CPU:
        snprintf(why, 200, "cpu engine: asked for");
        return lw_engine_create_cpu(spec, out, err);
    case LW_ENGINE_CUDA:
        snprintf(why, 200, "cuda engine: asked for");
        return lw_engine_create_cuda(spec, out, err);
    default:
        return create_auto(spec, out, why, err);
    }
}

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
