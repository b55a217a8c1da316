/* cufft.c - the method for any segment length, by cuFFT: cut, transform, multiply, transform back, store. */
#include "gpu/host/error.h"
#include "gpu/ols/long/method.h"

static cufftType transform_type(enum lw_precision precision)
{
    return precision == LW_SINGLE ? CUFFT_C2C : CUFFT_Z2Z;
}

static double point_seconds(enum lw_precision precision, int64_t segment)
{
    (void)segment;
    return precision == LW_SINGLE ? 22.5e-12 : 48.4e-12;
}

static int64_t memory_bytes(const struct lw_long_ols_plan *plan)
{
    return lw_cuda_fft_bytes(plan->segment, transform_type(plan->spec.precision), plan->batch);
}

static int prepare(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    (void)stream;
    const struct lw_long_ols_plan *const plan = &ols->plan;
    return lw_cuda_fft_create(&ols->fft, plan->segment, transform_type(plan->spec.precision), plan->batch, ols->method_memory,
                              "planning the transforms of long segments", err);
}

static cudaError_t order(const struct lw_long_ols_plan *plan, const void *bins, int n, void *spectra, cudaStream_t stream)
{
    return lw_long_scale(plan->spec.precision, bins, plan->segment, n, spectra, stream);
}

/* Transform a batch in place, on the stream that `gather` has set. */
static int transform(struct lw_long_ols *ols, void *data, int direction, struct lw_error *err)
{
    const cufftResult status = ols->plan.spec.precision == LW_SINGLE
                                   ? cufftExecC2C(ols->fft.handle, data, data, direction)
                                   : cufftExecZ2Z(ols->fft.handle, data, data, direction);
    return lw_cufft_check(status, "transforming a batch of segments", err);
}

static int gather(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err)
{
    int rc;
    if ((rc = lw_cufft_check(cufftSetStream(ols->fft.handle, b->stream), "choosing the stream of the transforms", err)) ||
        (rc = lw_long_cut(ols, b, ols->plan.batch, err)))
        return rc;
    return transform(ols, ols->segments, CUFFT_FORWARD, err);
}

/* Filter with one filter: a group is one filter here, because cuFFT's batch is the segments of one filter. */
static int filter(struct lw_long_ols *ols, const struct lw_long_batch *b, int first_filter, int n_filters, struct lw_error *err)
{
    (void)n_filters;
    const int rc = lw_cuda_check(lw_long_multiply(b->geometry->precision, ols->segments, lw_long_spectrum(ols, first_filter),
                                                  ols->plan.segment, ols->plan.batch, ols->products, b->stream),
                                 "multiplying by a filter's spectrum", err);
    return rc ? rc : transform(ols, ols->products, CUFFT_INVERSE, err);
}

const struct lw_long_method lw_long_cufft = {
    .name = "cuFFT",
    .text = "through cuFFT",
    .most_group = 1,
    .gather_seconds = 0,            /* included in point_seconds */
    .point_seconds = point_seconds,
    .memory_bytes = memory_bytes,
    .prepare = prepare,
    .order = order,
    .gather = gather,
    .filter = filter,
    .scatter = lw_long_scatter,
};
