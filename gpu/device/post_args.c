#include "gpu/device/post_args.h"

bool lw_cuda_post_is_needed(struct lw_post post)
{
    return lw_post_is_needed(post) && !lw_post_folds(post);
}

void lw_cuda_post_args(const struct lw_op_spec *spec, struct lw_post_args *out)
{
    const struct lw_post post = spec->ols.post;
    *out = (struct lw_post_args){
        .kind = lw_op_made(spec), .rate = lw_post_rate(post), .before = lw_post_folds(post) ? 0 : lw_post_reach(post).before,
        .is_real = lw_post_has(post, LW_POST_REAL), .n = spec->n_outputs,
    };
    lw_op_power_range(spec, &out->least, &out->most);
    for (int place = 0; out->rate > 1 && place < LW_POST_PLACES; place++) {
        struct lw_post_weights w;
        lw_post_weigh(post, spec->n_outputs, place, &w);
        for (int group = 0; group < 2; group++) {
            out->begin[place][group] = (unsigned char)w.begin[group];
            out->end[place][group] = (unsigned char)w.end[group];
        }
    }
}

size_t lw_cuda_post_weights_bytes(const struct lw_op_spec *spec)
{
    const int rate = lw_post_rate(spec->ols.post);
    return rate > 1 ? (size_t)(LW_POST_PLACES * LW_POST_SPAN * rate) * lw_scalar_bytes(lw_computed_scalar(spec->precision)) : 0;
}

void lw_cuda_post_weights(const struct lw_op_spec *spec, void *weights)
{
    const struct lw_type computed = {.scalar = lw_computed_scalar(spec->precision)};
    const int rate = lw_post_rate(spec->ols.post);
    for (int place = 0; rate > 1 && place < LW_POST_PLACES; place++) {
        struct lw_post_weights w;
        lw_post_weigh(spec->ols.post, spec->n_outputs, place, &w);
        for (int i = 0; i < LW_POST_SPAN * rate; i++)
            lw_type_put(computed, weights, place * LW_POST_SPAN * rate + i, w.weights[i / rate][i % rate]);
    }
}
