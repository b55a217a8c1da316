#include "gpu/ols/long/long.h"

#include "base/integers.h"
#include "base/memory.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/ols/long/method.h"

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Return whether one kernel does all steps from samples to outputs. Otherwise there is a work space, which blocks share. */
static bool is_one_kernel(const struct lw_long_ols_plan *plan)
{
    return plan->method->run && !plan->needs_gather;
}

static int64_t complex_bytes(enum lw_precision precision, int64_t n)
{
    return n * (precision == LW_SINGLE ? 8 : 16);
}

static int64_t lay_out(struct lw_long_ols *ols, void *memory)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    const int64_t segment_bytes = complex_bytes(plan->spec.precision, plan->segment);
    const int64_t batch = is_one_kernel(plan) ? 0 : plan->batch;
    struct lw_arena arena = {.base = memory};
    ols->segments = lw_arena_take(&arena, batch * segment_bytes);
    ols->products = lw_arena_take(&arena, plan->group * batch * segment_bytes);
    ols->method_memory = lw_arena_take(&arena, plan->method->memory_bytes(plan));
    ols->spectra = lw_arena_take(&arena, plan->spec.n_filters * segment_bytes);
    return arena.used;
}

int64_t lw_long_ols_bytes(const struct lw_long_ols_plan *plan)
{
    struct lw_long_ols counted = {.plan = *plan};
    return lay_out(&counted, NULL);
}

/* ---- the filters ------------------------------------------------------------------------------------------------- */

char *lw_long_spectrum(const struct lw_long_ols *ols, int64_t filter)
{
    return ols->spectra + complex_bytes(ols->plan.spec.precision, filter * ols->plan.segment);
}

int lw_long_ols_put(struct lw_long_ols *ols, const void *bins, int64_t first, int n, cudaStream_t stream, struct lw_error *err)
{
    void *const spectra = lw_long_spectrum(ols, first);
    const size_t bytes = (size_t)complex_bytes(ols->plan.spec.precision, n * ols->plan.segment);
    return lw_cuda_check(bins ? ols->plan.method->order(&ols->plan, bins, n, spectra, stream)
                              : cudaMemsetAsync(spectra, 0, bytes, stream), "ordering the filters", err);
}

/* ---- create ------------------------------------------------------------------------------------------------------ */

int lw_long_ols_create(const struct lw_long_ols_plan *plan, void *memory, cudaStream_t stream, struct lw_long_ols **out,
                       struct lw_error *err)
{
    struct lw_long_ols *const ols = lw_alloc(sizeof *ols, "the long filters", err);
    if (!ols)
        return LW_ESYSTEM;
    ols->plan = *plan;
    lay_out(ols, memory);
    int rc;
    if ((rc = lw_cuda_check(cudaEventCreateWithFlags(&ols->idle, cudaEventDisableTiming), "creating an event", err)) ||
        (rc = plan->method->prepare(ols, stream, err))) {
        lw_long_ols_destroy(ols);
        return rc;
    }
    *out = ols;
    return LW_OK;
}

void lw_long_ols_destroy(struct lw_long_ols *ols)
{
    if (!ols)
        return;
    lw_cuda_fft_destroy(&ols->fft);
    if (ols->idle)
        cudaEventDestroy(ols->idle);
    lw_free(ols);
}

/* ---- steps that methods share --------------------------------------------------------------------------------------- */

void *lw_long_plane(const struct lw_long_batch *b, int filter)
{
    const struct lw_long_geometry *const geometry = b->geometry;
    const struct lw_post_args *const args = b->block->post;
    const struct lw_post post = {args ? args->kind : LW_POST_NONE, args ? args->rate : 1, 1};
    const bool is_complex = geometry->output_complex && !lw_post_has(post, LW_POST_REAL);
    const int64_t narrow_bytes = (int64_t)geometry->narrow.bytes * (is_complex ? 2 : 1);
    const int64_t value_bytes = narrow_bytes ? narrow_bytes : complex_bytes(geometry->precision, 1) / (is_complex ? 1 : 2);
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

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static struct lw_long_geometry geometry_of(const struct lw_long_ols_plan *plan, const struct lw_cuda_ols_block *block)
{
    const int64_t n_groups = lw_divide_up(block->n_channels, plan->channel_unit);
    const int64_t packed = plan->spec.layout == LW_TIME_SLOW ? block->n_channels : plan->segment - plan->hop + block->count;
    return (struct lw_long_geometry){
        .precision = plan->spec.precision, .layout = plan->spec.layout, .input = plan->spec.input,
        .input_complex = plan->spec.input_complex, .output_complex = plan->output_complex, .narrow = block->narrow,
        .pairing = plan->pairing,
        .segment = plan->segment, .hop = plan->hop, .reach = plan->reach, .count = block->count, .n_channels = block->n_channels,
        .input_pitch = block->input_pitch ? block->input_pitch : packed, .n_groups = n_groups,
        .n_items = n_groups * lw_divide_up(block->count, plan->unit),
    };
}

static int run_batch(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    if (is_one_kernel(plan))
        return plan->method->run(ols, b, err);
    const int64_t bytes = complex_bytes(plan->spec.precision, b->n * plan->segment);     /* one filter's products */
    int rc = plan->method->gather(ols, b, err);
    for (int first = 0; first < plan->spec.n_filters && !rc; first += plan->group) {
        const int n_filters = (int)lw_min64(plan->spec.n_filters - first, plan->group);
        rc = plan->method->filter(ols, b, first, n_filters, err);
        for (int f = 0; f < n_filters && !rc; f++)
            rc = plan->method->scatter(ols, b, ols->products + f * bytes, first + f, err);
    }
    return rc;
}

int lw_long_ols_launch(struct lw_long_ols *ols, const struct lw_cuda_ols_block *block, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_long_geometry geometry = geometry_of(&ols->plan, block);
    const bool shares_work_space = !is_one_kernel(&ols->plan);
    const int64_t most = 1 << 24;           /* bound of the (item, filter) pairs of a launch */
    const int64_t at_once = shares_work_space ? ols->plan.batch : most / ols->plan.spec.n_filters + 1;
    int rc = LW_OK;
    if (shares_work_space)
        rc = lw_cuda_check(cudaStreamWaitEvent(stream, ols->idle, 0), "waiting for the work space", err);
    for (int64_t first = 0; first < geometry.n_items && !rc; first += at_once) {
        const struct lw_long_batch batch = {&geometry, block, first, (int)lw_min64(geometry.n_items - first, at_once), stream};
        rc = run_batch(ols, &batch, err);
    }
    if (rc || !shares_work_space)
        return rc;
    return lw_cuda_check(cudaEventRecord(ols->idle, stream), "releasing the work space", err);
}
