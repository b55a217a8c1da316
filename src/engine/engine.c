#include "engine/engine.h"

#include "base/integers.h"

void lw_engine_destroy(struct lw_engine *engine)
{
    if (engine)
        engine->ops->destroy(engine);
}

struct lw_op_product lw_op_ols_product(const struct lw_op_spec *spec)
{
    return (struct lw_op_product){.type = spec->output, .n_planes = spec->ols.n_filters, .width = 1,
                                  .rate = lw_post_rate(spec->ols.post), .every = lw_post_every(spec->ols.post)};
}

struct lw_op_product lw_op_conv2d_product(const struct lw_op_spec *spec)
{
    return (struct lw_op_product){.type = spec->output, .n_planes = 1, .width = spec->conv2d.output_columns, .rate = 1,
                                  .every = 1};
}

int64_t lw_op_first_output(const struct lw_op_plan *plan, int product, const struct lw_block *block)
{
    const struct lw_op_product *const p = &plan->products[product];
    return divide_up(block->first, p->every) * p->rate;
}

/* Of the last sample of an interpolated axis there is one output only. */
int64_t lw_op_outputs(const struct lw_op_plan *plan, int product, const struct lw_block *block)
{
    const struct lw_op_product *const p = &plan->products[product];
    const int64_t end = block->first + block->count;
    const int64_t samples = divide_up(end, p->every) - divide_up(block->first, p->every);
    return samples * p->rate - (block->count > 0 && end == plan->n_outputs ? p->rate - 1 : 0);
}

double lw_op_output_factor(const struct lw_op_spec *spec)
{
    return spec->output_scale > 0 && lw_scalar_is_integer(spec->output.scalar) ? 1 / spec->output_scale : 1;
}

int64_t lw_op_input_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels)
{
    return (plan->halo + count) * n_channels * plan->input_width * (int64_t)lw_type_bytes(spec->input);
}

int64_t lw_op_product_bytes(const struct lw_op_plan *plan, int product, int64_t count, int64_t n_channels)
{
    const struct lw_op_product *const p = &plan->products[product];
    if (p->n_planes == 0)
        return p->most_rows * p->row_bytes;
    return p->n_planes * divide_up(count, p->every) * n_channels * p->rate * p->width * (int64_t)lw_type_bytes(p->type);
}
