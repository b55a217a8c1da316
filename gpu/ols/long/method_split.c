/* method_split.c - long segments by the three kernels of gpu/ols/long/split.h. */
#include "gpu/host/error.h"
#include "gpu/ols/long/method.h"
#include "gpu/ols/long/split.h"

static bool exists(const struct lw_cuda_arch *arch, enum lw_precision precision, int64_t segment)
{
    (void)arch;
    return lw_split_exists(precision, segment);
}

static double point_seconds(enum lw_precision precision, int64_t segment)
{
    if (precision == LW_DOUBLE)
        return segment <= 262144 ? 18.7e-12 : segment <= 1048576 ? 22.8e-12 : 25.5e-12;
    return segment <= 262144 ? 11.4e-12 : segment <= 1048576 ? 13.8e-12 : 12.4e-12;
}

static int64_t memory_bytes(const struct lw_long_ols_plan *plan)
{
    return lw_split_table_bytes(plan->spec.precision, plan->segment);
}

static int prepare(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    return lw_cuda_check(lw_split_prepare(ols->plan.spec.precision, ols->plan.segment, ols->method_memory, stream),
                         "preparing long segments", err);
}

static cudaError_t order(const struct lw_long_ols_plan *plan, const void *padded, void *spectrum, cudaStream_t stream)
{
    return lw_split_order(plan->spec.precision, plan->segment, padded, spectrum, stream);
}

/* Whether samples are transposed on their way into and out of segments. */
static bool is_transposed(const struct lw_long_geometry *geometry)
{
    return geometry->layout == LW_TIME_SLOW && geometry->n_channels > 1;
}

static int gather(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err)
{
    const bool transposed = is_transposed(b->geometry);
    const int rc = transposed ? lw_long_cut(ols, b, b->n, err) : LW_OK;
    if (rc)
        return rc;
    return lw_cuda_check(lw_split_gather(b->geometry, ols->method_memory, transposed ? NULL : b->block->input, b->first, b->n,
                                         ols->segments, b->block->not_finite, b->stream),
                         "transforming a batch of segments", err);
}

static int scatter(struct lw_long_ols *ols, const struct lw_long_batch *b, void *products, int filter, struct lw_error *err)
{
    const bool in_place = is_transposed(b->geometry) || b->block->post;
    void *const plane = in_place ? NULL : lw_long_plane(b, filter);
    const int rc = lw_cuda_check(lw_split_scatter(b->geometry, ols->method_memory, b->first, b->n, products, plane, b->stream),
                                 "storing a batch of segments", err);
    return rc || !in_place ? rc : lw_long_scatter(ols, b, products, filter, err);
}

static int filter(struct lw_long_ols *ols, const struct lw_long_batch *b, int first_filter, int n_filters, struct lw_error *err)
{
    return lw_cuda_check(lw_split_filter(b->geometry->precision, ols->plan.segment, ols->method_memory,
                                         lw_long_spectrum(ols, first_filter), ols->segments, b->n, n_filters,
                                         ols->products, b->stream),
                         "filtering a batch of segments", err);
}

const struct lw_long_method lw_long_split = {
    .name = "split",
    .text = "in three passes",
    .most_group = 2,
    .gather_seconds = 5e-12,
    .exists = exists,
    .point_seconds = point_seconds,
    .memory_bytes = memory_bytes,
    .prepare = prepare,
    .order = order,
    .gather = gather,
    .filter = filter,
    .scatter = scatter,
};
