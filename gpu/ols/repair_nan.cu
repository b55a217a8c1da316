/* repair_nan.cu - kernels that find samples that are not finite (flaws) and overwrite the outputs that flaws spoil.
 *
 * A warp takes 32 consecutive axis samples of one channel, one per thread: coalesced for [channel][axis], strided for
 * [axis][channel]. A flaw spoils the outputs from its own position to `span` later. For each flaw a warp overwrites outputs only up
 * to the next flaw: every spoilt output is written once (interpolated: a few times), and the work is linear in the block's size. */
#include "gpu/ols/repair_nan.h"

#include "gpu/device/post.cuh"
#include "gpu/device/stored.cuh"

#include <math_constants.h>

static constexpr int block_threads = 256;
static constexpr int warp = 32;
static constexpr int most_blocks = 1024;

/* Return the place of sample i of a channel in the block's input. */
__device__ static int64_t input_index(const lw_repair &r, int64_t channel, int64_t i)
{
    return r.layout == LW_TIME_SLOW ? i * r.input_channels + channel : channel * (r.halo + r.count) + i;
}

/* Return how many of a channel's first n outputs are kept. */
__device__ static int64_t kept_before(const lw_repair &r, int64_t n)
{
    return (r.post.first + n + r.every - 1) / r.every - (r.post.first + r.every - 1) / r.every;
}

/* Return the number of outputs of a channel in the output array. */
__device__ static int64_t output_row(const lw_repair &r)
{
    if (r.every > 1)
        return kept_before(r, r.n_outputs);
    return r.n_outputs * r.post.rate - (r.post.first + r.n_outputs == r.post.n ? r.post.rate - 1 : 0);
}

__device__ static int64_t output_index(const lw_repair &r, int64_t plane, int64_t channel, int64_t o)
{
    const int64_t n = output_row(r);
    const int64_t in_plane = r.layout == LW_TIME_SLOW ? o * r.n_channels + channel : channel * n + o;
    return plane * n * r.n_channels + in_plane;
}

template <typename Real, typename Stored>
__device__ static bool is_bad(const lw_repair &r, int64_t channel, int64_t i)
{
    const Stored *const input = static_cast<const Stored *>(r.input);
    const int64_t index = input_index(r, channel, i);
    bool bad = false;
    if (r.input_type.is_complex)
        finite_complex<Real>(input, index, bad);
    else
        finite_of<Stored>((Real)input[index], bad);
    return bad;
}

__device__ static void spoil_scalar(const lw_repair &r, int64_t index)
{
    if (r.precision == LW_SINGLE)
        static_cast<float *>(r.output)[index] = CUDART_NAN_F;
    else
        static_cast<double *>(r.output)[index] = CUDART_NAN;
}

__device__ static void spoil(const lw_repair &r, int64_t channel, int64_t o)
{
    for (int64_t plane = 0; plane < r.n_planes; plane++) {
        const int64_t index = output_index(r, plane, channel, o);
        if (r.output_complex) {
            spoil_scalar(r, 2 * index);
            spoil_scalar(r, 2 * index + 1);
        } else {
            spoil_scalar(r, index);
        }
    }
    if (r.filters)
        r.filters[output_index(r, 0, channel, o)] = -1;
}

/* Overwrite output o of a channel, counted at the full rate, with NaN, if it is kept. */
__device__ static void spoil_at(const lw_repair &r, int64_t channel, int64_t o)
{
    if (r.every == 1)
        spoil(r, channel, o);
    else if ((r.post.first + o) % r.every == 0)
        spoil(r, channel, kept_before(r, o));
}

/* Overwrite with NaN the outputs of sample i of the block's series whose stencils hold sample s of the series. */
__device__ static void spoil_sample(const lw_repair &r, int64_t channel, int64_t i, int64_t s)
{
    const int64_t axis = r.post.first + i;
    const int place = post_place(r.post, axis), k = (int)(s - i) + LW_POST_REACH, phases = phases_of(r.post, axis);
    if (k >= r.post.begin[place][0] && k < r.post.end[place][0])
        spoil(r, channel, i * r.post.rate);
    if (k >= r.post.begin[place][1] && k < r.post.end[place][1])
        for (int phase = 1; phase < phases; phase++)
            spoil(r, channel, i * r.post.rate + phase);
}

/* Overwrite, with one warp, the interpolated outputs of samples that the flaw at input sample p spoils, up to the samples that the
 * next flaw spoils. Sample s of the block's series depends on the input samples up to s + M - 1 + before. */
template <typename Real, typename Stored>
__device__ static void spoil_interpolated(const lw_repair &r, int64_t channel, int64_t p)
{
    const int lane = threadIdx.x % warp;
    const int64_t length = r.halo + r.count, newest = r.n_taps - 1 + r.post.before;
    const int64_t end = p + r.n_taps < length ? p + r.n_taps : length;
    for (int64_t q0 = p; q0 < end; q0 += warp) {
        const int64_t q = q0 + lane, s = q - newest;
        const unsigned next = __ballot_sync(~0u, q > p && q < end && is_bad<Real, Stored>(r, channel, q));
        const int64_t stop = next ? q0 + __ffs(next) - 1 : end;
        for (int64_t i = s - LW_POST_REACH; q < stop && i <= s + LW_POST_REACH; i++)
            if (i >= 0 && i < r.count)
                spoil_sample(r, channel, i, s);
        if (next)
            return;
    }
}

/* Overwrite, with one warp, the outputs that the flaw at input sample p spoils, up to the next flaw. */
template <typename Real, typename Stored>
__device__ static void spoil_after(const lw_repair &r, int64_t channel, int64_t p)
{
    const int lane = threadIdx.x % warp;
    const int64_t length = r.halo + r.count;
    const int64_t newest = r.skip + r.span;         /* newest input sample that output 0 depends on */
    const int64_t end = p + r.span + 1 < length ? p + r.span + 1 : length;
    for (int64_t q0 = p; q0 < end; q0 += warp) {
        const int64_t q = q0 + lane;
        const unsigned next = __ballot_sync(~0u, q > p && q < end && is_bad<Real, Stored>(r, channel, q));
        const int64_t stop = next ? q0 + __ffs(next) - 1 : end;
        if (q >= newest && q < stop && q - newest < r.n_outputs)
            spoil_at(r, channel, q - newest);
        if (next)
            return;
    }
}

template <typename Real, typename Stored>
__device__ static void spoil_for(const lw_repair &r, int64_t channel, int64_t p)
{
    if (r.post.rate > 1)
        spoil_interpolated<Real, Stored>(r, channel, p);
    else
        spoil_after<Real, Stored>(r, channel, p);
}

/* Call found(channel, i, bad) for every input sample i, by a whole warp for 32 adjacent samples; bad: it exists and is a flaw. */
template <typename Real, typename Stored, typename Found>
__device__ static void for_samples(const lw_repair &r, Found found)
{
    const int64_t length = r.halo + r.count;
    const int64_t chunks = (length + warp - 1) / warp;
    const int64_t warps = int64_t(gridDim.x) * (block_threads / warp);
    const int64_t first = (int64_t(blockIdx.x) * block_threads + threadIdx.x) / warp;
    for (int64_t task = first; task < chunks * r.n_channels; task += warps) {
        const int64_t channel = task / chunks;
        const int64_t i = task % chunks * warp + threadIdx.x % warp;
        found(channel, i, i < length && is_bad<Real, Stored>(r, channel, i));
    }
}

/* Report a flaw at input sample i. A flaw in the halo is reported by the block that owns the sample. */
__device__ static void report(const lw_repair &r, int64_t channel, int64_t i)
{
    if (i < r.halo || r.is_silent)
        return;
    const unsigned long long position = (i - r.halo) * r.n_channels + channel;
    atomicAdd(&r.report->n_own, 1ull);
    atomicMax(&r.report->lowest_complement, ~position);
}

template <typename Real, typename Stored>
__global__ void repair_nan(lw_repair r)
{
    if (r.report->flag == 0)
        return;
    for_samples<Real, Stored>(r, [&](int64_t channel, int64_t i, bool bad) {
        if (bad)
            report(r, channel, i);
        for (unsigned left = __ballot_sync(~0u, bad); left; left &= left - 1)
            spoil_for<Real, Stored>(r, channel, i - threadIdx.x % warp + __ffs(left) - 1);
    });
}

template <typename Real, typename Stored>
__global__ void zero_nan(lw_repair r)
{
    Stored *const input = static_cast<Stored *>(r.input);
    for_samples<Real, Stored>(r, [&](int64_t channel, int64_t i, bool bad) {
        if (!bad)
            return;
        report(r, channel, i);
        const int parts = r.input_type.is_complex ? 2 : 1;
        for (int part = 0; part < parts; part++)
            input[parts * input_index(r, channel, i) + part] = 0;
    });
}

/* Each warp takes one row of the table at a time; its threads test the samples that the row's output depends on. */
template <typename Real, typename Stored>
__global__ void spoil_crossings(lw_repair r, lw_crossings table, int64_t first, int64_t channel)
{
    if (r.report->flag == 0)
        return;
    const int64_t most = table.most_rows, n = *table.n_rows < (unsigned long long)most ? (int64_t)*table.n_rows : most;
    const int64_t warps = int64_t(gridDim.x) * (block_threads / warp);
    for (int64_t row = (int64_t(blockIdx.x) * block_threads + threadIdx.x) / warp; row < n; row += warps) {
        lw_crossing *const c = &table.rows[row];
        const int64_t begin = r.skip + c->index - first;
        bool bad = false;
        for (int64_t q = begin + threadIdx.x % warp; q <= begin + r.span && !bad; q += warp)
            bad = is_bad<Real, Stored>(r, c->channel - channel, q);
        if (bad)
            c->re = c->im = CUDART_NAN;
    }
}

static unsigned blocks_for(const lw_repair &repair)
{
    const int64_t chunks = (repair.halo + repair.count + warp - 1) / warp * repair.n_channels;
    const int64_t wanted = (chunks * warp + block_threads - 1) / block_threads;
    return static_cast<unsigned>(wanted < most_blocks ? wanted : most_blocks);
}

/* Call start(x, y), which launches: x has the type of the computing precision, y the stored type. Not for integers: no flaws. */
template <typename Start> static cudaError_t launch(const lw_repair &repair, Start start)
{
    if (repair.count == 0 || repair.n_channels == 0 || lw_scalar_is_integer(repair.input_type.scalar))
        return cudaSuccess;
    with_stored(repair.input_type.scalar, [&](auto stored) {
        if constexpr (std::is_floating_point<decltype(stored)>::value)
            with_real(repair.precision, [&](auto real) { start(real, stored); });
    });
    return cudaGetLastError();
}

cudaError_t lw_cuda_repair_nan(const struct lw_repair *repair, cudaStream_t stream)
{
    return launch(*repair, [=](auto computed, auto stored) {
        repair_nan<decltype(computed), decltype(stored)><<<blocks_for(*repair), block_threads, 0, stream>>>(*repair);
    });
}

cudaError_t lw_cuda_spoil_crossings(const struct lw_repair *repair, const struct lw_crossings *table, int64_t first,
                                    int64_t channel, cudaStream_t stream)
{
    const lw_crossings t = *table;
    return launch(*repair, [=](auto computed, auto stored) {
        const lw_repair r = *repair;
        spoil_crossings<decltype(computed), decltype(stored)><<<most_blocks, block_threads, 0, stream>>>(r, t, first, channel);
    });
}

cudaError_t lw_cuda_zero_nan(const struct lw_repair *repair, cudaStream_t stream)
{
    return launch(*repair, [=](auto computed, auto stored) {
        zero_nan<decltype(computed), decltype(stored)><<<blocks_for(*repair), block_threads, 0, stream>>>(*repair);
    });
}
