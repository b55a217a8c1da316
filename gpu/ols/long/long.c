#include "gpu/ols/long/long.h"

#include "base/integers.h"
#include "base/memory.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/ols/long/cluster.h"
#include "gpu/ols/long/post.h"
#include "gpu/ols/long/split.h"

#include <inttypes.h>

struct lw_long_ols {
    struct lw_long_ols_plan plan;
    cufftHandle fft;
    bool has_fft;
    cudaEvent_t idle;               /* the work space is free again */
    void *segments;                 /* [batch][N] complex */
    char *products;                 /* [group][batch][N] complex */
    void *work_area;                /* cuFFT's, or our own kernels' tables */
    int resident;                   /* clusters that the device runs at a time */
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

static enum lw_long_method method_for(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch,
                                      int64_t segment)
{
    if (lw_cluster_exists(arch, spec->precision, segment))
        return LW_LONG_CLUSTER;
    return spec->precision == LW_SINGLE && lw_split_exists(segment) ? LW_LONG_SPLIT : LW_LONG_CUFFT;
}

static int reach_of(const struct lw_cuda_ols_spec *spec)
{
    return lw_post_reach(spec->post).before + lw_post_reach(spec->post).after;
}

/* Whether segments are cut and stored by kernels of their own: samples that are not one after the other, or something
 * that is made of the series. */
static bool is_staged(const struct lw_cuda_ols_spec *spec)
{
    return (spec->layout == LW_TIME_SLOW && spec->n_channels > 1) || lw_cuda_post_is_needed(spec->post);
}

/* Seconds that a point of a segment takes there, and again for each filter back; measured on one H200. */
static double point_seconds(const struct lw_cuda_ols_spec *spec, enum lw_long_method method, int64_t segment)
{
    const double stages = is_staged(spec) ? 5e-12 : 0;
    switch (method) {
    case LW_LONG_CLUSTER: return stages + (segment <= 32768 ? 4.5e-12 : segment <= 65536 ? 4.9e-12 : 7.6e-12);
    case LW_LONG_SPLIT: return stages + (segment <= 262144 ? 11.4e-12 : 12.8e-12);
    default: return 22.5e-12;
    }
}

/* Of the input, with all filters. */
static double seconds_per_sample(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int64_t segment)
{
    const double hop = (double)(segment - spec->n_taps + 1 - reach_of(spec));
    const double wide = spec->precision == LW_SINGLE ? 1 : 2.4;
    const double each = wide * point_seconds(spec, method_for(spec, arch, segment), segment);
    return each * (spec->n_filters + 1) * (double)segment / hop;
}

/* For cuFFT: long segments waste less on the overlap and cost more memory. Eight filter lengths where that is little
 * memory, then fewer. */
static int64_t ample_segment(int64_t n_taps)
{
    const int64_t factor = n_taps <= 1 << 18 ? 8 : n_taps <= 1 << 24 ? 4 : 2;
    int64_t segment = LW_LONG_LEAST_SEGMENT;
    while (segment < factor * (n_taps - 1) && segment < LW_LONG_MOST_SEGMENT)
        segment *= 2;
    return segment;
}

/* One segment need not hold more than the whole result and the overlap. */
static bool is_needless(const struct lw_cuda_ols_spec *spec, int64_t n_outputs, int64_t segment)
{
    return n_outputs > 0 && segment > LW_LONG_LEAST_SEGMENT &&
           segment / 2 >= n_outputs + spec->n_taps - 1 + reach_of(spec);
}

/* The cheapest length of our own kernels, or cuFFT's. */
static int64_t choose_segment(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int64_t n_outputs)
{
    int64_t best = ample_segment(spec->n_taps);
    while (is_needless(spec, n_outputs, best))
        best /= 2;
    double best_seconds = seconds_per_sample(spec, arch, best);
    for (int64_t segment = LW_LONG_LEAST_SEGMENT; segment <= LW_LONG_MOST_SEGMENT; segment *= 2) {
        if (method_for(spec, arch, segment) == LW_LONG_CUFFT || segment < spec->n_taps + reach_of(spec) ||
            is_needless(spec, n_outputs, segment))
            continue;
        const double seconds = seconds_per_sample(spec, arch, segment);
        if (seconds < best_seconds) {
            best = segment;
            best_seconds = seconds;
        }
    }
    return best;
}

/* Large enough to fill the device, small enough that segments and products stay in a large L2 between the steps; never
 * more segments than the whole data set has. */
static int choose_batch(const struct lw_long_ols_plan *plan, int64_t n_outputs)
{
    const int64_t batch_samples = (int64_t)1 << 21, most = 64;
    const int64_t groups = divide_up(plan->spec.n_channels, plan->channel_unit);
    const int64_t items = n_outputs > 0 ? groups * divide_up(n_outputs, plan->unit) : most;
    const int64_t batch = min64(min64(batch_samples / plan->segment, most), items);
    return batch < 1 ? 1 : (int)batch;
}

static int choose_group(const struct lw_long_ols_plan *plan)
{
    return plan->method == LW_LONG_CUFFT ? 1 : (int)min64(plan->spec.n_filters, 2);
}

/* @param n_taps  and reach */
static int check_segment(int64_t segment, int64_t n_taps, struct lw_error *err)
{
    if (segment >= n_taps && segment <= LW_LONG_MOST_SEGMENT)
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "--segment %" PRId64 " does not suit %" PRId64 " taps: it must be in %" PRId64
                   "..%" PRId64 " (leave it out to have it chosen)", segment, n_taps, n_taps, LW_LONG_MOST_SEGMENT);
}

int lw_long_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int64_t n_outputs,
                       struct lw_long_ols_plan *out, struct lw_error *err)
{
    const int64_t wanted = spec->segment ? spec->segment : choose_segment(spec, arch, n_outputs);
    const int64_t segment = wanted == 1 ? 2 : wanted;       /* cuFFT does not promise a transform of one point */
    const int reach = reach_of(spec);
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
        .method = method_for(spec, arch, segment),
        .is_staged = is_staged(spec),
        .unit = pairing == LW_PAIRED_HOPS ? 2 * hop : hop,
        .channel_unit = pairing == LW_PAIRED_CHANNELS ? 2 : 1,
        .output_complex = !is_real,
    };
    out->group = choose_group(out);
    out->batch = choose_batch(out, n_outputs);
    const int shared_by = spec->n_filters * (pairing == LW_UNPAIRED ? 1 : 2);
    out->seconds_per_output = seconds_per_sample(spec, arch, segment) / shared_by;
    return LW_OK;
}

bool lw_long_ols_is_cheaper(const struct lw_cuda_ols_plan *kernel, int64_t n_outputs, struct lw_long_ols_plan *out)
{
    const double clearly = 0.85;        /* the two models are not exact; at 4097 taps either may be the faster */
    return kernel->path == LW_CUDA_SEGMENTS && kernel->spec.segment == 0 && kernel->spec.rank == 0 &&
           lw_long_ols_choose(&kernel->spec, &kernel->arch, n_outputs, out, NULL) == LW_OK &&
           out->seconds_per_output < clearly * kernel->seconds_per_output;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Whether blocks share work space: not where one kernel takes samples to outputs. */
static bool has_work_space(const struct lw_long_ols_plan *plan)
{
    return plan->method != LW_LONG_CLUSTER || plan->is_staged;
}

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
    switch (plan->method) {
    case LW_LONG_CLUSTER: return lw_cluster_table_bytes(plan->spec.precision, plan->segment);
    case LW_LONG_SPLIT: return lw_split_table_bytes(plan->segment);
    default: return work_area_bytes(plan->segment, transform_type(plan->spec.precision), plan->batch);
    }
}

static int64_t lay_out(struct lw_long_ols *ols, void *memory)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    const int64_t segment_bytes = plan->segment * complex_bytes(plan->spec.precision);
    const int64_t batch = has_work_space(plan) ? plan->batch : 0;
    struct lw_arena arena = {.base = memory};
    ols->segments = lw_arena_take(&arena, batch * segment_bytes);
    ols->products = lw_arena_take(&arena, plan->group * batch * segment_bytes);
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

static cudaError_t order_filter(const struct lw_long_ols_plan *plan, const void *padded, void *spectrum,
                                cudaStream_t stream)
{
    switch (plan->method) {
    case LW_LONG_CLUSTER: return lw_cluster_order(plan->spec.precision, plan->segment, padded, spectrum, stream);
    case LW_LONG_SPLIT: return lw_split_order(plan->segment, padded, spectrum, stream);
    default: return lw_long_scale(plan->spec.precision, padded, plan->segment, spectrum, stream);
    }
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
    return lw_cuda_check(order_filter(&ols->plan, padded, spectrum, stream), "scaling a filter", err);
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

static int prepare_cluster(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    const int without_clusters = 1 << 20;
    const int rc = lw_cuda_check(lw_cluster_prepare(plan->spec.precision, plan->segment, ols->work_area, &ols->resident,
                                                    stream), "preparing long segments", err);
    if (rc || ols->resident > 0)
        return rc;
    return lw_fail(err, LW_ECONFIG, "this device, or the part of it that this program may use, does not hold a segment "
                   "of %" PRId64 " samples in shared memory: give --segment %d, which takes another way", plan->segment,
                   without_clusters);
}

static int prepare_transforms(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    if (plan->method == LW_LONG_CLUSTER)
        return prepare_cluster(ols, stream, err);
    if (plan->method == LW_LONG_SPLIT)
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
    const int64_t n_groups = divide_up(block->n_channels, plan->channel_unit);
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
        .n_items = n_groups * divide_up(block->count, plan->unit),
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
    return geometry->layout == LW_TIME_SLOW && geometry->n_channels > 1;
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

/* Reals from one filter's outputs to the next one's. */
static int64_t plane_reals(const struct lw_long_geometry *geometry)
{
    return geometry->count * geometry->n_channels * (geometry->output_complex ? 2 : 1);
}

static struct lw_cluster_work cluster_work(const struct lw_long_ols *ols, const struct batch *b, int filter,
                                           int n_filters)
{
    return (struct lw_cluster_work){
        .geometry = b->geometry,
        .table = ols->work_area,
        .bank = spectrum_of(ols, filter),
        .first = b->first,
        .n = b->n,
        .n_filters = n_filters,
        .resident = ols->resident,
        .not_finite = b->block->not_finite,
    };
}

/* All items from samples to outputs. */
static int run_cluster(const struct lw_long_ols *ols, const struct batch *b, struct lw_error *err)
{
    struct lw_cluster_work work = cluster_work(ols, b, 0, ols->plan.spec.n_filters);
    work.input = b->block->input;
    work.output = b->block->output;
    work.plane = plane_reals(b->geometry);
    return lw_cuda_check(lw_cluster_run(&work, b->stream), "filtering long segments", err);
}

/* A batch, a group of filters at a time. */
static int run_staged(struct lw_long_ols *ols, const struct batch *b, struct lw_error *err)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    const int64_t product_bytes = b->n * plan->segment * complex_bytes(plan->spec.precision);
    int rc = cut(ols, b, b->n, err);
    for (int begin = 0; begin < plan->spec.n_filters && !rc; begin += plan->group) {
        const int n_filters = (int)min64(plan->spec.n_filters - begin, plan->group);
        struct lw_cluster_work work = cluster_work(ols, b, begin, n_filters);
        work.segments = ols->segments;
        work.products = ols->products;
        rc = lw_cuda_check(lw_cluster_run(&work, b->stream), "filtering a batch of segments", err);
        for (int f = 0; f < n_filters && !rc; f++)
            rc = store(b, ols->products + f * product_bytes, begin + f, err);
    }
    return rc;
}

static int claim(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    if (!has_work_space(&ols->plan))
        return LW_OK;
    const int rc = lw_cuda_check(cudaStreamWaitEvent(stream, ols->idle, 0), "waiting for the work space", err);
    return rc || !ols->has_fft ? rc : lw_cufft_check(cufftSetStream(ols->fft, stream),
                                                     "choosing the stream of the transforms", err);
}

static int run_batch(struct lw_long_ols *ols, const struct batch *batch, struct lw_error *err)
{
    switch (ols->plan.method) {
    case LW_LONG_CLUSTER: return ols->plan.is_staged ? run_staged(ols, batch, err) : run_cluster(ols, batch, err);
    case LW_LONG_SPLIT: return run_split(ols, batch, err);
    default: return run_through_cufft(ols, batch, err);
    }
}

/* Items that are worked on at a time: where there is no work space, as many as a launch counts. */
static int64_t items_at_once(const struct lw_long_ols_plan *plan)
{
    const int64_t most = 1 << 24;
    return has_work_space(plan) ? plan->batch : most / plan->spec.n_filters + 1;
}

int lw_long_ols_launch(struct lw_long_ols *ols, const struct lw_cuda_ols_block *block, cudaStream_t stream,
                       struct lw_error *err)
{
    const struct lw_long_geometry geometry = geometry_of(&ols->plan, block);
    const int64_t at_once = items_at_once(&ols->plan);
    int rc = claim(ols, stream, err);
    for (int64_t first = 0; first < geometry.n_items && !rc; first += at_once) {
        const struct batch batch = {&geometry, block, first, (int)min64(geometry.n_items - first, at_once), stream};
        rc = run_batch(ols, &batch, err);
    }
    if (rc || !has_work_space(&ols->plan))
        return rc;
    return lw_cuda_check(cudaEventRecord(ols->idle, stream), "releasing the work space", err);
}
