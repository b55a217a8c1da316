/* post.cu - last step of the long path with --post: makes outputs from the series that the products contain.
 *
 * Threads with adjacent x store adjacent outputs: of one item for [channel][axis], of adjacent items, whose channels are adjacent,
 * for [axis][channel]. So stores are coalesced. Adjacent threads share samples through L1. Other warps hide the loads. */

#include "gpu/device/launch.cuh"
#include "gpu/device/post.cuh"
#include "gpu/ols/long/segments.cuh"

static constexpr int wide = 32, high = 8;

/* Return the channel of the block that part 0 (re) or 1 (im) of an item of `group` holds; -1: none. start_of returns the output of
 * the channel at which the part's hop begins, for item number `segment` on the axis. */
__device__ static int64_t channel_of(const lw_long_geometry &g, int64_t group, int part)
{
    if (g.pairing != LW_PAIRED_CHANNELS)
        return part == 0 || g.pairing == LW_PAIRED_HOPS ? group : -1;
    return 2 * group + part < g.n_channels ? 2 * group + part : -1;
}

__device__ static int64_t start_of(const lw_long_geometry &g, int64_t segment, int part)
{
    return (g.pairing == LW_PAIRED_HOPS ? 2 * segment + part : segment) * g.hop;
}

__device__ static int64_t output_of(const lw_long_geometry &g, const lw_post_args &post, int64_t channel, int64_t output)
{
    const int64_t row = g.count * post.rate - (post.first + g.count == post.n ? post.rate - 1 : 0);
    return g.layout == LW_TIME_SLOW ? output * g.n_channels + channel : channel * row + output;
}

/* Return one part (re or im) of an output: the sample *at itself or, if interpolated, output `phase` of this sample. */
template <typename Real>
__device__ static Real part_of(const lw_post_args &post, const Real *at, int64_t axis, int phase)
{
    return post.rate > 1 ? phase_sum(post, at, 2, axis, phase) : *at;
}

template <typename Real>
__device__ static void make_output(const lw_long_geometry &g, const lw_post_args &post, const Complex<Real> *at,
                                   int64_t item, int64_t i, int phase, void *plane, bool &lost, Losses &losses)
{
    const int64_t segment = item / g.n_groups, group = item % g.n_groups;
    for (int part = 0; part < (g.pairing == LW_UNPAIRED ? 1 : 2); part++) {
        const int64_t channel = channel_of(g, group, part), sample = start_of(g, segment, part) + i;
        const int64_t axis = post.first + sample;
        if (channel < 0 || sample >= g.count || phase >= phases_of(post, axis))
            continue;
        const int64_t to = output_of(g, post, channel, sample * post.rate + phase);
        const Real value = part_of(post, part == 0 ? &at->x : &at->y, axis, phase);
        if (!g.output_complex) {
            put_number(g.narrow, plane, to, made_of_real(post, value, lost), losses);
            continue;
        }
        const Complex<Real> c = made<true>(post, Complex<Real>{value, part_of(post, &at->y, axis, phase)}, lost);
        if (post.is_real)
            put_number(g.narrow, plane, to, c.x, losses);
        else
            put_complex(g.narrow, plane, to, c, losses);
    }
}

template <typename Real>
__global__ void long_post(lw_long_geometry g, lw_post_args post, const Complex<Real> *products, int64_t first, int n,
                          bool across_items, void *plane)
{
    const int64_t x = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, y = int64_t(blockIdx.y) * blockDim.y + threadIdx.y;
    const int64_t item = across_items ? x : y, outputs = g.hop * post.rate;
    bool lost = false;
    Losses losses = {};
    const int64_t stride = across_items ? int64_t(gridDim.y) * blockDim.y : int64_t(gridDim.x) * blockDim.x;
    for (int64_t j = across_items ? y : x; item < n && j < outputs; j += stride) {
        const int64_t i = j / post.rate;
        const Complex<Real> *const hop = products + item * g.segment + g.segment - g.hop - g.reach + post.before;
        make_output<Real>(g, post, hop + i, first + item, i, int(j - i * post.rate), plane, lost, losses);
    }
    report_losses(g.narrow, losses);
    if (lost)
        *post.out_of_range = 1;
}

cudaError_t lw_long_post(const struct lw_long_geometry *geometry, const struct lw_post_args *post, const void *products,
                         int64_t first, int n, void *plane, cudaStream_t stream)
{
    const lw_long_geometry &g = *geometry;
    const bool across_items = g.layout == LW_TIME_SLOW && g.n_groups > 1;
    const int64_t outputs = g.hop * post->rate;
    const dim3 block(across_items ? wide : wide * high, across_items ? high : 1);
    const dim3 grid = across_items ? dim3(blocks_for(n, wide, 1 << 30), blocks_for(outputs, high, 65535))
                                   : dim3(blocks_for(outputs, wide * high), static_cast<unsigned>(n));
    return with_real(g.precision, [&](auto real) {
        using Real = decltype(real);
        long_post<Real><<<grid, block, 0, stream>>>(g, *post, static_cast<const Complex<Real> *>(products), first, n, across_items,
                                                    plane);
        return cudaGetLastError();
    });
}
