#include "long_ols.h"

#include "arena.h"
#include "cuda_error.h"
#include "long_post.h"
#include "split_kernels.h"
#include "../src/memory.h"

#include <inttypes.h>

struct lw_long_ols {
    struct lw_long_ols_plan plan;
    cufftHandle fft;
    bool has_fft;
    cudaEvent_t idle;               /* the work space is free again */
    void *segments;                 /* [batch][N] complex */
    char *products;                 /* [group][batch][N] complex */
    void *work_area;                /* cuFFT's, or the split kernels' tables */
    char *spectra;                  /* [n_filters][N] complex, already divided by N */
};

static int64_t complex_bytes(enum lw_precision precision)
{
    return precision == LW_SINGLE ? 8 : 16;
}

static cufftType transform_type(enum lw_precision precision)
{
    return precision == LW_SINGLE ? CUFFT_C2C : CUFFT_Z2Z;
}

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static bool is_split(const struct lw_cuda_ols_spec *spec, int64_t segment)
{
    return spec->precision == LW_SINGLE && lw_split_exists(segment);
}

/* Long segments waste less on the overlap and cost more memory. Where the split kernels have a length that wastes at
 * most about half (it is faster all the same), it is taken; else eight filter lengths where that is little memory, then
 * fewer. */
static int64_t segment_for(const struct lw_cuda_ols_spec *spec)
{
    const int64_t n_taps = spec->n_taps;
    for (int64_t segment = LW_LONG_LEAST_SEGMENT; segment <= LW_LONG_MOST_SEGMENT; segment *= 2)
        if (is_split(spec, segment) && n_taps <= (segment < 1 << 22 ? segment / 4 : segment / 2))
            return segment;
    const int64_t factor = n_taps <= 1 << 18 ? 8 : n_taps <= 1 << 24 ? 4 : 2;
    int64_t segment = LW_LONG_LEAST_SEGMENT;
    while (segment < factor * (n_taps - 1) && segment < LW_LONG_MOST_SEGMENT)
        segment *= 2;
    return segment;
}

/* One segment need not hold more than the whole result and the overlap. */
static int64_t choose_segment(const struct lw_cuda_ols_spec *spec, int64_t n_outputs)
{
    int64_t segment = segment_for(spec);
    const int reach = lw_post_reach(spec->post).before + lw_post_reach(spec->post).after;
    while (n_outputs > 0 && segment > LW_LONG_LEAST_SEGMENT && segment / 2 >= n_outputs + spec->n_taps - 1 + reach)
        segment /= 2;
    return segment;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Large enough to fill the device, small enough that segments and products stay in a large L2 between the steps; never
 * more segments than the whole data set has. */
static int choose_batch(const struct lw_long_ols_plan *plan, int64_t n_outputs)
{
    const int64_t batch_samples = (int64_t)1 << 21, most = 64;
    const int64_t groups = ceil_div(plan->spec.n_channels, plan->channel_unit);
    const int64_t items = n_outputs > 0 ? groups * ceil_div(n_outputs, plan->unit) : most;
    const int64_t batch = least(least(batch_samples / plan->segment, most), items);
    return batch < 1 ? 1 : (int)batch;
}

static int choose_group(const struct lw_long_ols_plan *plan)
{
    return plan->is_split ? (int)least(plan->spec.n_filters, 2) : 1;
}

/* @param n_taps  and reach */
static int check_segment(int64_t segment, int64_t n_taps, struct lw_error *err)
{
    if (segment >= n_taps && segment <= LW_LONG_MOST_SEGMENT)
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "--segment %" PRId64 " does not suit %" PRId64 " taps: it must be in %" PRId64
                   "..%" PRId64 " (leave it out to have it chosen)", segment, n_taps, n_taps, LW_LONG_MOST_SEGMENT);
}

/* Bytes moved per output over the bandwidth that such kernels reach; each of cuFFT's transforms takes two passes. */
static double model_seconds(const struct lw_long_ols_plan *plan)
{
    const double bytes_per_second = 3e12;
    const double passes = plan->is_split ? 2.0 / plan->spec.n_filters + 3.5 : 5.0 / plan->spec.n_filters + 7;
    const double shared_by = plan->pairing == LW_UNPAIRED ? 1 : 2;
    const double overlap = (double)plan->segment / (double)plan->hop;
    return passes * overlap * (double)complex_bytes(plan->spec.precision) / shared_by / bytes_per_second;
}

int lw_long_ols_choose(const struct lw_cuda_ols_spec *spec, int64_t n_outputs, struct lw_long_ols_plan *out,
                       struct lw_error *err)
{
    const int64_t wanted = spec->segment ? spec->segment : choose_segment(spec, n_outputs);
    const int64_t segment = wanted == 1 ? 2 : wanted;       /* cuFFT does not promise a transform of one point */
    const int reach = lw_post_reach(spec->post).before + lw_post_reach(spec->post).after;
    const int rc = check_segment(segment, spec->n_taps + reach, err);
    if (rc)
        return rc;
    const bool is_real = !spec->input_complex && !spec->taps_complex;
    const enum lw_pairing pairing = !is_real ? LW_UNPAIRED : spec->n_channels > 1 ? LW_PAIRED_CHANNELS : LW_PAIRED_HOPS;
    const int64_t hop = segment - spec->n_taps + 1 - reach;
    *out = (struct lw_long_ols_plan){
        .spec = *spec,
        .pairing = pairing,
        .segment = segment,
        .hop = hop,
        .reach = reach,
        .is_split = is_split(spec, segment),
        .unit = pairing == LW_PAIRED_HOPS ? 2 * hop : hop,
        .channel_unit = pairing == LW_PAIRED_CHANNELS ? 2 : 1,
        .output_complex = !is_real,
    };
    out->group = choose_group(out);
    out->batch = choose_batch(out, n_outputs);
    out->seconds_per_output = model_seconds(out);
    return LW_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Bytes that cuFFT wants for `batch` transforms. A plan that cannot be made is reported by create, which makes it again. */
static int64_t work_area_bytes(int64_t segment, cufftType type, int batch)
{
    cufftHandle fft;
    size_t bytes = 0;
    if (cufftCreate(&fft) != CUFFT_SUCCESS)
        return 0;
    cufftSetAutoAllocation(fft, 0);
    int n = (int)segment;
    cufftGetSizeMany(fft, 1, &n, NULL, 1, n, NULL, 1, n, type, batch, &bytes);
    cufftDestroy(fft);
    return (int64_t)bytes;
}

static int64_t own_work_bytes(const struct lw_long_ols_plan *plan)
{
    return plan->is_split ? lw_split_table_bytes(plan->segment)
                          : work_area_bytes(plan->segment, transform_type(plan->spec.precision), plan->batch);
}

static int64_t lay_out(struct lw_long_ols *ols, void *memory)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    const int64_t segment_bytes = plan->segment * complex_bytes(plan->spec.precision);
    struct lw_arena arena = {.base = memory};
    ols->segments = lw_arena_take(&arena, plan->batch * segment_bytes);
    ols->products = lw_arena_take(&arena, plan->group * plan->batch * segment_bytes);
    ols->work_area = lw_arena_take(&arena, own_work_bytes(plan));
    ols->spectra = lw_arena_take(&arena, plan->spec.n_filters * segment_bytes);
    return arena.used;
}

int64_t lw_long_ols_bytes(const struct lw_long_ols_plan *plan)
{
    struct lw_long_ols counted = {.plan = *plan};
    return lay_out(&counted, NULL);
}

/* One filter at a time in double: its spectrum, and cuFFT's work area. */
struct setup {
    void *padded, *work_area;
};

static int64_t lay_out_setup(const struct lw_long_ols_plan *plan, void *memory, struct setup *setup)
{
    struct lw_arena arena = {.base = memory};
    setup->padded = lw_arena_take(&arena, plan->segment * 16);
    setup->work_area = lw_arena_take(&arena, work_area_bytes(plan->segment, CUFFT_Z2Z, 1));
    return arena.used;
}

int64_t lw_long_ols_setup_bytes(const struct lw_long_ols_plan *plan)
{
    struct setup counted;
    return lay_out_setup(plan, NULL, &counted);
}

/* ---- create ------------------------------------------------------------------------------------------------------ */

/* A plan that works in `work_area`. *fft is set as soon as there is a handle to destroy. */
static int make_plan(int64_t segment, cufftType type, int batch, void *work_area, cufftHandle *fft, bool *has_fft,
                     struct lw_error *err)
{
    const char *const what = "planning the transforms of long segments";
    int rc = lw_cufft_check(cufftCreate(fft), what, err);
    if (rc)
        return rc;
    *has_fft = true;
    int n = (int)segment;
    size_t bytes;
    if ((rc = lw_cufft_check(cufftSetAutoAllocation(*fft, 0), what, err)) ||
        (rc = lw_cufft_check(cufftMakePlanMany(*fft, 1, &n, NULL, 1, n, NULL, 1, n, type, batch, &bytes), what, err)))
        return rc;
    return lw_cufft_check(cufftSetWorkArea(*fft, work_area), what, err);
}

static int transform_filter(struct lw_long_ols *ols, cufftHandle fft, const double *taps, void *padded, int64_t filter,
                            cudaStream_t stream, struct lw_error *err)
{
    const struct lw_cuda_ols_spec *const spec = &ols->plan.spec;
    const int64_t segment = ols->plan.segment;
    const double *const own_taps = taps + filter * spec->n_taps * (spec->taps_complex ? 2 : 1);
    void *const spectrum = ols->spectra + filter * segment * complex_bytes(spec->precision);
    int rc;
    if ((rc = lw_cuda_check(lw_long_pad(own_taps, spec->taps_complex, spec->n_taps, segment, padded, stream),
                            "padding a filter", err)) ||
        (rc = lw_cufft_check(cufftExecZ2Z(fft, padded, padded, CUFFT_FORWARD), "transforming a filter", err)))
        return rc;
    return lw_cuda_check(ols->plan.is_split ? lw_split_order(segment, padded, spectrum, stream)
                                            : lw_long_scale(spec->precision, padded, segment, spectrum, stream),
                         "scaling a filter", err);
}

static int transform_filters(struct lw_long_ols *ols, const double *taps, void *memory, cudaStream_t stream,
                             struct lw_error *err)
{
    struct setup setup;
    lay_out_setup(&ols->plan, memory, &setup);
    cufftHandle fft = 0;
    bool has_fft = false;
    int rc = make_plan(ols->plan.segment, CUFFT_Z2Z, 1, setup.work_area, &fft, &has_fft, err);
    if (!rc)
        rc = lw_cufft_check(cufftSetStream(fft, stream), "transforming a filter", err);
    for (int64_t filter = 0; filter < ols->plan.spec.n_filters && !rc; filter++)
        rc = transform_filter(ols, fft, taps, setup.padded, filter, stream, err);
    if (!rc)
        rc = lw_cuda_check(cudaStreamSynchronize(stream), "transforming the filters", err);
    if (has_fft)
        cufftDestroy(fft);
    return rc;
}

static int prepare_transforms(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    if (plan->is_split)
        return lw_cuda_check(lw_split_prepare(plan->segment, ols->work_area, stream), "preparing long segments", err);
    return make_plan(plan->segment, transform_type(plan->spec.precision), plan->batch, ols->work_area, &ols->fft,
                     &ols->has_fft, err);
}

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
        (rc = prepare_transforms(ols, stream, err)) ||
        (rc = transform_filters(ols, taps, setup, stream, err))) {
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
    if (ols->has_fft)
        cufftDestroy(ols->fft);
    if (ols->idle)
        cudaEventDestroy(ols->idle);
    lw_free(ols);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static struct lw_long_geometry geometry_of(const struct lw_long_ols_plan *plan, const struct lw_cuda_ols_block *block)
{
    const int64_t n_groups = ceil_div(block->n_channels, plan->channel_unit);
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
        .n_groups = n_groups,
        .n_items = n_groups * ceil_div(block->count, plan->unit),
    };
}

static char *spectrum_of(const struct lw_long_ols *ols, int filter)
{
    return ols->spectra + filter * ols->plan.segment * complex_bytes(ols->plan.spec.precision);
}

/* One filter's outputs. */
static void *plane_of(const struct lw_long_geometry *geometry, const struct lw_cuda_ols_block *block, int filter)
{
    const struct lw_post_args *const args = block->post;
    const struct lw_post post = {args ? args->kind : LW_POST_NONE, args ? args->rate : 1};
    const bool is_complex = geometry->output_complex && !lw_post_is_real(post);
    const int64_t value_bytes = complex_bytes(geometry->precision) / (is_complex ? 1 : 2);
    const int64_t outputs = args ? lw_post_outputs(post, args->n, args->first, block->count) : geometry->count;
    return (char *)block->output + filter * outputs * geometry->n_channels * value_bytes;
}

/* What one batch works on. */
struct batch {
    const struct lw_long_geometry *geometry;
    const struct lw_cuda_ols_block *block;
    int64_t first;                  /* item */
    int n;                          /* items that exist; cuFFT's batch is filled up with zeros */
    cudaStream_t stream;
};

/* In place, on the stream that was set. */
static int transform(struct lw_long_ols *ols, void *data, int direction, struct lw_error *err)
{
    const cufftResult status = ols->plan.spec.precision == LW_SINGLE
                                   ? cufftExecC2C(ols->fft, data, data, direction)
                                   : cufftExecZ2Z(ols->fft, data, data, direction);
    return lw_cufft_check(status, "transforming a batch of segments", err);
}

static int cut(struct lw_long_ols *ols, const struct batch *b, int n, struct lw_error *err)
{
    return lw_cuda_check(lw_long_load(b->geometry, b->block->input, b->first, n, ols->segments, b->block->not_finite,
                                      b->stream), "cutting a batch of segments", err);
}

/* Outputs of a batch from products that are transformed back already. */
static int store(const struct batch *b, const void *products, int filter, struct lw_error *err)
{
    const struct lw_post_args *const post = b->block->post;
    void *const plane = plane_of(b->geometry, b->block, filter);
    const cudaError_t status = post ? lw_long_post(b->geometry, post, products, b->first, b->n, plane, b->stream)
                                    : lw_long_store(b->geometry, products, b->first, b->n, plane, b->stream);
    return lw_cuda_check(status, "storing a batch of segments", err);
}

static int filter_through_cufft(struct lw_long_ols *ols, const struct batch *b, int filter, struct lw_error *err)
{
    int rc;
    if ((rc = lw_cuda_check(lw_long_multiply(b->geometry->precision, ols->segments, spectrum_of(ols, filter),
                                             ols->plan.segment, ols->plan.batch, ols->products, b->stream),
                            "multiplying by a filter's spectrum", err)) ||
        (rc = transform(ols, ols->products, CUFFT_INVERSE, err)))
        return rc;
    return store(b, ols->products, filter, err);
}

static int run_through_cufft(struct lw_long_ols *ols, const struct batch *b, struct lw_error *err)
{
    int rc;
    if ((rc = cut(ols, b, ols->plan.batch, err)) || (rc = transform(ols, ols->segments, CUFFT_FORWARD, err)))
        return rc;
    for (int filter = 0; filter < ols->plan.spec.n_filters && !rc; filter++)
        rc = filter_through_cufft(ols, b, filter, err);
    return rc;
}

/* Whether samples are transposed on their way into and out of segments. */
static bool is_transposed(const struct lw_long_geometry *geometry)
{
    return geometry->layout == LW_TIME_SLOW && geometry->n_groups > 1;
}

static int gather_split(struct lw_long_ols *ols, const struct batch *b, struct lw_error *err)
{
    const bool transposed = is_transposed(b->geometry);
    const int rc = transposed ? cut(ols, b, b->n, err) : LW_OK;
    if (rc)
        return rc;
    return lw_cuda_check(lw_split_gather(b->geometry, ols->work_area, transposed ? NULL : b->block->input, b->first, b->n,
                                         ols->segments, b->block->not_finite, b->stream),
                         "transforming a batch of segments", err);
}

static int scatter_split(struct lw_long_ols *ols, const struct batch *b, void *products, int filter,
                         struct lw_error *err)
{
    const bool in_place = is_transposed(b->geometry) || b->block->post;
    void *const plane = in_place ? NULL : plane_of(b->geometry, b->block, filter);
    const int rc = lw_cuda_check(lw_split_scatter(b->geometry, ols->work_area, b->first, b->n, products, plane, b->stream),
                                 "storing a batch of segments", err);
    return rc || !in_place ? rc : store(b, products, filter, err);
}

static int run_split(struct lw_long_ols *ols, const struct batch *b, struct lw_error *err)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    int rc = gather_split(ols, b, err);
    for (int begin = 0; begin < plan->spec.n_filters && !rc; begin += plan->group) {
        const int left = plan->spec.n_filters - begin;
        const int n_filters = left < plan->group ? left : plan->group;
        rc = lw_cuda_check(lw_split_filter(plan->segment, ols->work_area, spectrum_of(ols, begin), ols->segments, b->n,
                                           n_filters, ols->products, b->stream), "filtering a batch of segments", err);
        for (int f = 0; f < n_filters && !rc; f++)
            rc = scatter_split(ols, b, ols->products + (int64_t)f * b->n * plan->segment * complex_bytes(LW_SINGLE),
                               begin + f, err);
    }
    return rc;
}

static int claim(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    const int rc = lw_cuda_check(cudaStreamWaitEvent(stream, ols->idle, 0), "waiting for the work space", err);
    return rc || ols->plan.is_split ? rc : lw_cufft_check(cufftSetStream(ols->fft, stream),
                                                          "choosing the stream of the transforms", err);
}

int lw_long_ols_launch(struct lw_long_ols *ols, const struct lw_cuda_ols_block *block, cudaStream_t stream,
                       struct lw_error *err)
{
    const struct lw_long_geometry geometry = geometry_of(&ols->plan, block);
    int rc = claim(ols, stream, err);
    for (int64_t first = 0; first < geometry.n_items && !rc; first += ols->plan.batch) {
        const int n = (int)least(geometry.n_items - first, ols->plan.batch);
        const struct batch batch = {&geometry, block, first, n, stream};
        rc = ols->plan.is_split ? run_split(ols, &batch, err) : run_through_cufft(ols, &batch, err);
    }
    return rc ? rc : lw_cuda_check(cudaEventRecord(ols->idle, stream), "releasing the work space", err);
}
