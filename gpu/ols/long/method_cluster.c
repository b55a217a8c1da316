/* method_cluster.c - long segments in the shared memory of a cluster of blocks: see gpu/ols/long/cluster.h. */
#include "gpu/host/error.h"
#include "gpu/ols/long/cluster.h"
#include "gpu/ols/long/method.h"

#include <inttypes.h>

static double point_seconds(enum lw_precision precision, int64_t segment)
{
    if (precision == LW_DOUBLE)
        return segment <= 32768 ? 9.9e-12 : 12.3e-12;
    return segment <= 32768 ? 4.5e-12 : segment <= 65536 ? 4.9e-12 : 7.6e-12;
}

static int64_t memory_bytes(const struct lw_long_ols_plan *plan)
{
    return lw_cluster_table_bytes(plan->spec.precision, plan->segment);
}

static int prepare(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    const int without_clusters = 1 << 20;
    const int rc = lw_cuda_check(lw_cluster_prepare(plan->spec.precision, plan->segment, ols->method_memory, &ols->resident,
                                                    stream), "preparing long segments", err);
    if (rc || ols->resident > 0)
        return rc;
    return lw_fail(err, LW_ECONFIG, "this device, or the part of it that this program may use, does not hold a segment "
                   "of %" PRId64 " samples in shared memory: give --segment %d, which takes another way", plan->segment,
                   without_clusters);
}

static cudaError_t order(const struct lw_long_ols_plan *plan, const void *padded, void *spectrum, cudaStream_t stream)
{
    return lw_cluster_order(plan->spec.precision, plan->segment, padded, spectrum, stream);
}

static int gather(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err)
{
    return lw_long_cut(ols, b, b->n, err);
}

/* Reals from one filter's outputs to the next one's. */
static int64_t plane_reals(const struct lw_long_geometry *geometry)
{
    return geometry->count * geometry->n_channels * (geometry->output_complex ? 2 : 1);
}

static struct lw_cluster_work cluster_work(const struct lw_long_ols *ols, const struct lw_long_batch *b, int filter,
                                           int n_filters)
{
    return (struct lw_cluster_work){
        .geometry = b->geometry,
        .table = ols->method_memory,
        .bank = lw_long_spectrum(ols, filter),
        .first = b->first,
        .n = b->n,
        .n_filters = n_filters,
        .resident = ols->resident,
        .not_finite = b->block->not_finite,
    };
}

static int filter(struct lw_long_ols *ols, const struct lw_long_batch *b, int first_filter, int n_filters, struct lw_error *err)
{
    struct lw_cluster_work work = cluster_work(ols, b, first_filter, n_filters);
    work.segments = ols->segments;
    work.products = ols->products;
    return lw_cuda_check(lw_cluster_run(&work, b->stream), "filtering a batch of segments", err);
}

static int run(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err)
{
    struct lw_cluster_work work = cluster_work(ols, b, 0, ols->plan.spec.n_filters);
    work.input = b->block->input;
    work.output = b->block->output;
    work.plane = plane_reals(b->geometry);
    return lw_cuda_check(lw_cluster_run(&work, b->stream), "filtering long segments", err);
}

const struct lw_long_method lw_long_cluster = {
    .name = "cluster",
    .text = "in the shared memory of several multiprocessors",
    .most_group = 2,
    .gather_seconds = 5e-12,
    .exists = lw_cluster_exists,
    .point_seconds = point_seconds,
    .memory_bytes = memory_bytes,
    .prepare = prepare,
    .order = order,
    .gather = gather,
    .filter = filter,
    .scatter = lw_long_scatter,
    .run = run,
};
