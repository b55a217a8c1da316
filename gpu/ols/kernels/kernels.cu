/* kernels.cu - launcher and filter banks of the overlap-save kernels. A bank has twiddle powers and the filters' spectra in the
 * order that threads read. */
#include "base/integers.h"
#include "gpu/device/fft.cuh"
#include "gpu/device/launch.cuh"
#include "gpu/ols/direct/direct.h"
#include "gpu/ols/kernels/launch.h"

#include <climits>

/* ---- the bank ------------------------------------------------------------------------------------------------------ */

/* Fill spectra[f] with bins[f] / N in the order in which threads read, one thread per bin. In a segment's transform, bin m of
 * thread t is k = P (t mod E) + t / E + T m. The order is [m][t], or in single precision [m / 2][t][m % 2], so that a 16-byte load
 * has two bins of a thread. */
template <class C> __global__ void ols_order(C *spectra, const double2 *bins, int radix, int outer_radix)
{
    const int threads = radix * outer_radix, n = radix * threads;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t f = blockIdx.y;
    if (i >= n)
        return;
    const int per_load = 16 / (int)sizeof(C);
    const int m = i / (threads * per_load) * per_load + i % per_load, t = i / per_load % threads;
    const double2 bin = bins[f * n + outer_radix * (t % radix) + t / radix + threads * m];
    using Real = decltype(C::x);
    spectra[f * n + i] = {(Real)(bin.x / n), (Real)(bin.y / n)};
}

template <class C>
static void order(const OlsKernel *k, const OlsBankLayout *layout, const void *bins, int64_t first, int n, void *bank,
                  cudaStream_t stream)
{
    const int threads = 128;
    C *const spectra = (C *)bank + layout->spectra + first * k->segment;
    if (!bins)
        cudaMemsetAsync(spectra, 0, (size_t)n * k->segment * sizeof(C), stream);
    else
        ols_order<<<dim3((k->segment + threads - 1) / threads, n), threads, 0, stream>>>(spectra, (const double2 *)bins, k->radix,
                                                                                         k->outer_radix);
}

int lw_cuda_ols_put(const struct lw_cuda_ols_plan *plan, const void *values, int64_t first, int n, void *bank,
                    struct CUstream_st *stream)
{
    if (plan->path == LW_CUDA_DIRECT)
        return lw_direct_put(plan, (const double *)values, first, n, bank, stream);
    const OlsKernel *k = lw_ols_kernel_of(plan);
    const OlsBankLayout layout = lw_ols_bank_layout(k, plan->spec.n_filters);
    if (plan->spec.precision == LW_SINGLE)
        order<float2>(k, &layout, values, first, n, bank, stream);
    else
        order<double2>(k, &layout, values, first, n, bank, stream);
    return cudaGetLastError();
}

template <class C> static void fill_tables(const OlsKernel *k, const OlsBankLayout *layout, void *bank, cudaStream_t stream)
{
    fill_powers((C *)bank, k->radix, k->outer_radix, stream);
    if (k->fold > 1)
        fill_powers((C *)bank + layout->back_powers, k->back_radix, k->back_outer_radix, stream);
}

int lw_cuda_ols_prepare(const struct lw_cuda_ols_plan *plan, void *bank, struct CUstream_st *stream)
{
    if (plan->path == LW_CUDA_DIRECT)
        return cudaSuccess;
    const OlsKernel *k = lw_ols_kernel_of(plan);
    const OlsBankLayout layout = lw_ols_bank_layout(k, plan->spec.n_filters);
    if (plan->spec.precision == LW_SINGLE)
        fill_tables<float2>(k, &layout, bank, stream);
    else
        fill_tables<double2>(k, &layout, bank, stream);
    /* Each kernel must be allowed dynamic shared memory beyond the default. */
    const cudaFuncAttribute attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    cudaError_t failed = cudaGetLastError();
    if (!failed)
        failed = cudaFuncSetAttribute(k->kernel, attribute, k->shared_bytes);
    if (!failed && plan->finds)
        failed = cudaFuncSetAttribute(k->find, attribute, k->shared_bytes);
    if (!failed && plan->finds)
        failed = cudaFuncSetAttribute(k->keep, attribute, k->keep_bytes);
    return failed;
}

/* ---- the launch ---------------------------------------------------------------------------------------------------- */

/* Thread blocks that the device runs at a time: `each` on each of n_sm multiprocessors. Clusters: n_sm counts groups of these. */
struct Resident {
    int n_sm, each;
};

static cudaError_t resident_blocks(const OlsKernel *k, Resident *blocks)
{
    int device, shared;
    cudaError_t failed;
    if ((failed = cudaGetDevice(&device)) ||
        (failed = cudaDeviceGetAttribute(&blocks->n_sm, cudaDevAttrMultiProcessorCount, device)) ||
        (failed = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device)))
        return failed;
    const int by_shared = shared / (k->shared_bytes + 1024);
    blocks->n_sm /= k->cluster;
    blocks->each = by_shared < k->blocks ? by_shared : k->blocks;
    return cudaSuccess;
}

/* Share out the units (segments, or two per warp) to thread blocks, see OlsWalk. Many units: each block takes one, in the
 * hardware's order. Few units, or blocks that prefetch the next segment or gather products of several: every resident block takes
 * whole units, pass after pass, then an even share of the (unit, filter) pairs that are left, so that all blocks end together. But
 * each block with a share of a unit transforms it. So some blocks take one more whole unit if that leaves the others idle for at
 * most two transforms: equally many on each multiprocessor (these get blocks in turn). The other blocks share what is left. */
static void share_out(OlsArgs *a, const OlsKernel *k, int64_t n_units, Resident resident)
{
    if (a->search.values) {             /* best filter: one block must take all filters of a unit */
        a->n_blocks = (int)n_units;
        a->n_passes = 1;
        return;
    }
    const int64_t pieces = n_units * a->n_filters, n_resident = (int64_t)resident.n_sm * resident.each;
    if (n_units >= 16 * n_resident && !k->prefetches && k->design == OLS_PLAIN && k->fold <= 1)
        a->n_blocks = (int)n_units;
    else
        a->n_blocks = (int)(pieces < n_resident ? pieces : n_resident);
    a->n_passes = (int)(n_units / a->n_blocks);
    const int left = (int)(n_units - (int64_t)a->n_passes * a->n_blocks);
    const bool whole = (int64_t)(a->n_blocks - left) * (a->n_filters + 1) <= 2 * (int64_t)a->n_blocks;
    a->n_whole = whole ? left / resident.n_sm * resident.n_sm : 0;
    const int n_sharing = a->n_blocks - a->n_whole, units = (left - a->n_whole) * a->n_filters;
    a->share = units / n_sharing;
    a->n_larger = units % n_sharing;
}

/* Set the strides by which a prefetching thread block moves from segment to segment, and the segments that it may prefetch. */
static void count_strides(OlsArgs *a, const OlsKernel *k)
{
    const int across = a->n_segments / a->n_steps;
    if (k->layout == LW_TIME_SLOW) {
        a->n_groups = across;
        a->stride_steps = a->n_blocks / across;
        a->stride_groups = a->n_blocks % across;
    } else {
        a->n_rows = across;
        a->stride_rows = a->n_blocks / a->n_steps;
        a->stride_steps = a->n_blocks % a->n_steps;
        a->whole_rows = k->paired && !a->pairs_hops ? (int)(a->n_channels / 2) : across;
        a->whole_begin = (int)((a->lead + a->step - 1) / a->step);
        const int64_t last = a->input_row + a->lead - k->segment - 16 - (a->pairs_hops ? a->hop : 0);
        a->whole_end = last < 0 ? 0 : (int)(last / a->step + 1);
    }
}

/* Set the distances in input and output for time fast, [channel][axis]. */
static void arrange_fast(OlsArgs *a, const struct lw_cuda_ols_plan *plan, const OlsKernel *k, const struct lw_cuda_ols_block *block)
{
    const int rows_each = (int)plan->channel_unit;
    const int64_t channel = block->input_pitch ? block->input_pitch : a->input_row,
                  outputs = block->best_pitch ? block->best_pitch : a->count;
    a->pairs_hops = k->paired && rows_each == 1;
    a->input_pitch = rows_each * channel;
    a->output_pitch = rows_each * outputs;
    a->input_second = a->pairs_hops ? plan->hop : channel;
    a->output_second = a->pairs_hops ? plan->hop : outputs;
    a->plane = a->n_channels * a->count;
}

/* Set the distances in input and output for time slow, [axis][channel]. */
static void arrange_slow(OlsArgs *a, const struct lw_cuda_ols_plan *plan, const OlsKernel *k, int64_t pitch)
{
    a->input_columns = a->n_channels * (a->input_complex ? 2 : 1);
    a->input_pitch = pitch ? pitch * (a->input_complex ? 2 : 1) : a->input_columns;
    a->output_pitch = a->n_channels * (plan->output_complex ? 2 : 1);
    a->input_second = k->paired || a->input_complex ? 2 : 1;
    a->plane = a->count * a->output_pitch;
    const int64_t row_bytes = (pitch ? pitch : a->n_channels) * a->sample_bytes;
    a->rows_aligned = (row_bytes | (int64_t)(uintptr_t)a->input) % 16 == 0;
}

/* Replace the distances in the output, which counted outputs of the series: they then count outputs of --post, or kept outputs. */
static void arrange_made(OlsArgs *a, const struct lw_cuda_ols_plan *plan, const OlsKernel *k, const struct lw_cuda_ols_block *block)
{
    const struct lw_post wanted = plan->spec.post;
    const struct lw_post post = {wanted.kind, k->fold > 0 ? 1 : wanted.rate, k->fold > 0 ? lw_post_every(wanted) : 1};
    const int64_t outputs = lw_post_outputs(post, block->post->n, block->post->first, block->count);
    a->post = *block->post;
    if (k->fold > 0) {
        a->every = post.every;
        a->first_kept = lw_divide_up(a->post.first, a->every);
    }
    if (k->layout == LW_TIME_SLOW) {
        a->output_pitch = a->n_channels * (plan->output_complex && !lw_post_has(post, LW_POST_REAL) ? 2 : 1);
        a->plane = outputs * a->output_pitch;
    } else {
        a->output_pitch = plan->channel_unit * outputs;
        a->output_second = !a->pairs_hops ? outputs : k->fold > 0 ? 0 : (int64_t)plan->hop * a->post.rate;
        a->plane = a->n_channels * outputs;
    }
}

/* Return all arguments except those of share_out and count_strides. */
static OlsArgs arguments(const struct lw_cuda_ols_plan *plan, const OlsKernel *k, const struct lw_cuda_ols_block *block)
{
    const struct lw_cuda_ols_spec *spec = &plan->spec;
    OlsArgs a = {};
    a.input = block->input;
    a.output = block->output;
    a.narrow = block->narrow;
    a.bank = block->bank;
    a.not_finite = block->not_finite;
    a.count = block->count;
    a.n_channels = block->n_channels;
    a.input_row = spec->n_taps - 1 + plan->reach + block->count + block->more;
    a.input_scalar = spec->input;
    a.input_complex = spec->input_complex;
    a.sample_bytes = (int)lw_scalar_bytes(spec->input) * (spec->input_complex ? 2 : 1);
    if (k->layout == LW_TIME_SLOW)
        arrange_slow(&a, plan, k, block->input_pitch);
    else
        arrange_fast(&a, plan, k, block);
    if (k->post || k->fold > 0)
        arrange_made(&a, plan, k, block);
    a.step = plan->unit;
    a.spectra = lw_ols_bank_layout(k, spec->n_filters).spectra;
    a.lead = plan->discard - (int)(spec->n_taps - 1);
    a.discard = plan->discard;
    a.hop = plan->hop;
    a.n_filters = spec->n_filters;
    if (block->search) {                /* filter numbers in the kernel begin with the first filter that is searched */
        a.search = *block->search;
        a.n_filters = a.search.table.end_filter - a.search.table.filter;
        a.spectra += a.search.table.filter * k->segment;
    }
    return a;
}

static cudaError_t launch(const OlsKernel *k, const OlsArgs *a, cudaStream_t stream)
{
    const dim3 grid(a->n_blocks * k->cluster);
    const Launch launch = {grid, k->threads, (int64_t)k->shared_bytes, stream, k->cluster, has_dependents()};
    const bool has_own = a->narrow.bytes > 0 && k->narrow;
    const cudaError_t failed = has_own ? allow_and_launch(launch, k->narrow, *a) : launch_kernel(launch, k->kernel, *a);
    return failed ? failed : cudaGetLastError();
}

int lw_cuda_ols_launch(const struct lw_cuda_ols_plan *plan, const struct lw_cuda_ols_block *block, struct CUstream_st *stream)
{
    if (block->count <= 0 || block->n_channels <= 0)
        return cudaSuccess;
    if (plan->path == LW_CUDA_DIRECT)
        return lw_direct_launch(plan, block, stream);

    OlsKernel used = *lw_ols_kernel_of(plan);
    if (block->search) {
        used.kernel = block->search->values ? used.keep : used.find;
        used.shared_bytes = block->search->values ? used.keep_bytes : used.shared_bytes;
    }
    const OlsKernel *const k = &used;
    OlsArgs a = arguments(plan, k, block);
    const int64_t n_steps = (block->count + a.step - 1) / a.step;
    const int64_t channels_each = plan->channel_unit * k->batch;
    const int64_t n_segments = n_steps * ((block->n_channels + channels_each - 1) / channels_each);
    const int64_t per_warp = k->radix * k->outer_radix < 32 ? 32 / (k->radix * k->outer_radix) : 1;
    const int64_t n_units = (n_segments + per_warp - 1) / per_warp;
    if (n_segments > INT_MAX || n_units * a.n_filters > INT64_MAX / 2)
        return cudaErrorInvalidValue;
    a.n_steps = (int)n_steps;
    a.n_segments = (int)n_segments;

    Resident resident;
    const cudaError_t failed = resident_blocks(k, &resident);
    if (failed)
        return failed;
    share_out(&a, k, n_units, resident);
    count_strides(&a, k);
    return launch(k, &a, stream);
}
