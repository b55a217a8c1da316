#include "gpu/ols/long/method.h"

#include "gpu/host/error.h"
#include "gpu/ols/long/post.h"

int64_t lw_long_complex_bytes(enum lw_precision precision, int64_t n)
{
    return n * (precision == LW_SINGLE ? 8 : 16);
}

char *lw_long_spectrum(const struct lw_long_ols *ols, int64_t filter)
{
    return ols->spectra + lw_long_complex_bytes(ols->plan.spec.precision, filter * ols->plan.segment);
}

void *lw_long_plane(const struct lw_long_batch *b, int filter)
{
    const struct lw_long_geometry *const geometry = b->geometry;
    const struct lw_post_args *const args = b->block->post;
    const struct lw_post post = {args ? args->kind : LW_POST_NONE, args ? args->rate : 1, 1};
    const bool is_complex = geometry->output_complex && !lw_post_has(post, LW_POST_REAL);
    const int64_t value_bytes = lw_long_complex_bytes(geometry->precision, 1) / (is_complex ? 1 : 2);
    const int64_t outputs = args ? lw_post_outputs(post, args->n, args->first, geometry->count) : geometry->count;
    return (char *)b->block->output + filter * outputs * geometry->n_channels * value_bytes;
}

int lw_long_cut(struct lw_long_ols *ols, const struct lw_long_batch *b, int n, struct lw_error *err)
{
    return lw_cuda_check(lw_long_load(b->geometry, b->block->input, b->first, n, ols->segments, b->block->not_finite,
                                      b->stream), "cutting a batch of segments", err);
}

int lw_long_scatter(struct lw_long_ols *ols, const struct lw_long_batch *b, void *products, int filter, struct lw_error *err)
{
    (void)ols;
    const struct lw_post_args *const post = b->block->post;
    void *const plane = lw_long_plane(b, filter);
    const cudaError_t status = post ? lw_long_post(b->geometry, post, products, b->first, b->n, plane, b->stream)
                                    : lw_long_store(b->geometry, products, b->first, b->n, plane, b->stream);
    return lw_cuda_check(status, "storing a batch of segments", err);
}
