#include "gpu/ols/long/long.h"

#include "base/integers.h"
#include "base/memory.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/ols/long/bank.h"
#include "gpu/ols/long/method.h"

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Whether one kernel takes samples to outputs; else blocks share work space. */
static bool is_one_kernel(const struct lw_long_ols_plan *plan)
{
    return plan->method->run && !plan->needs_gather;
}

static int64_t lay_out(struct lw_long_ols *ols, void *memory)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    const int64_t segment_bytes = lw_long_complex_bytes(plan->spec.precision, plan->segment);
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

/* ---- create ------------------------------------------------------------------------------------------------------ */

int lw_long_ols_create(const struct lw_long_ols_plan *plan, const double *taps, void *memory, void *setup,
                       cudaStream_t stream, struct lw_long_ols **out, struct lw_error *err)
{
    struct lw_long_ols *const ols = lw_alloc(sizeof *ols, "the long filters", err);
    if (!ols)
        return LW_ESYSTEM;
    ols->plan = *plan;
    lay_out(ols, memory);
    int rc;
    if ((rc = lw_cuda_check(cudaEventCreateWithFlags(&ols->idle, cudaEventDisableTiming), "making an event", err)) ||
        (rc = plan->method->prepare(ols, stream, err)) ||
        (rc = lw_long_bank_make(ols, taps, setup, stream, err))) {
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

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static struct lw_long_geometry geometry_of(const struct lw_long_ols_plan *plan, const struct lw_cuda_ols_block *block)
{
    const int64_t n_groups = lw_divide_up(block->n_channels, plan->channel_unit);
    const int64_t packed = plan->spec.layout == LW_TIME_SLOW ? block->n_channels : plan->segment - plan->hop + block->count;
    return (struct lw_long_geometry){
        .precision = plan->spec.precision,
        .layout = plan->spec.layout,
        .input = plan->spec.input,
        .input_complex = plan->spec.input_complex,
        .output_complex = plan->output_complex,
        .pairing = plan->pairing,
        .segment = plan->segment,
        .hop = plan->hop,
        .reach = plan->reach,
        .count = block->count,
        .n_channels = block->n_channels,
        .input_pitch = block->input_pitch ? block->input_pitch : packed,
        .n_groups = n_groups,
        .n_items = n_groups * lw_divide_up(block->count, plan->unit),
    };
}

/* Products of a group of filters, stored one after the other. */
static int run_group(struct lw_long_ols *ols, const struct lw_long_batch *b, int first_filter, int n_filters,
                     struct lw_error *err)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    const int64_t bytes = lw_long_complex_bytes(plan->spec.precision, b->n * plan->segment);
    int rc = plan->method->filter(ols, b, first_filter, n_filters, err);
    for (int f = 0; f < n_filters && !rc; f++)
        rc = plan->method->scatter(ols, b, ols->products + f * bytes, first_filter + f, err);
    return rc;
}

static int run_batch(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    if (is_one_kernel(plan))
        return plan->method->run(ols, b, err);
    int rc = plan->method->gather(ols, b, err);
    for (int first = 0; first < plan->spec.n_filters && !rc; first += plan->group)
        rc = run_group(ols, b, first, (int)lw_min64(plan->spec.n_filters - first, plan->group), err);
    return rc;
}

static int wait_for_work_space(const struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    return lw_cuda_check(cudaStreamWaitEvent(stream, ols->idle, 0), "waiting for the work space", err);
}

/* Items that are worked on at a time: where there is no work space, as many as a launch counts. */
static int64_t items_at_once(const struct lw_long_ols_plan *plan)
{
    const int64_t most = 1 << 24;
    return is_one_kernel(plan) ? most / plan->spec.n_filters + 1 : plan->batch;
}

int lw_long_ols_launch(struct lw_long_ols *ols, const struct lw_cuda_ols_block *block, cudaStream_t stream,
                       struct lw_error *err)
{
    const struct lw_long_geometry geometry = geometry_of(&ols->plan, block);
    const int64_t at_once = items_at_once(&ols->plan);
    int rc = is_one_kernel(&ols->plan) ? LW_OK : wait_for_work_space(ols, stream, err);
    for (int64_t first = 0; first < geometry.n_items && !rc; first += at_once) {
        const struct lw_long_batch batch = {&geometry, block, first, (int)lw_min64(geometry.n_items - first, at_once), stream};
        rc = run_batch(ols, &batch, err);
    }
    if (rc || is_one_kernel(&ols->plan))
        return rc;
    return lw_cuda_check(cudaEventRecord(ols->idle, stream), "releasing the work space", err);
}
