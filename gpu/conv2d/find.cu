/* find.cu - finds crossings in images, and the best kernel of each pixel. A warp takes 1024 neighbouring pixels of a row:
 * coalesced, one set of divisions per run. */
#include "gpu/conv2d/window.cuh"

static constexpr int block_threads = 256, warp = 32, run_columns = 1024;

__host__ __device__ static inline int64_t runs_of(const lw_conv2d_search &s)
{
    return (s.columns + run_columns - 1) / run_columns;
}

template <class Value, bool HAS_ERRORS>
LW_DEVICE void look_at(const lw_conv2d_search &s, int64_t channel, int64_t row, int64_t column, RealPart<Value> scale)
{
    const int64_t at = (channel * s.count + row) * s.columns + column;
    const Value y = static_cast<const Value *>(s.image)[at];
    if (!crosses(y, scale) || !has_sign(s.sign, real_of(y)))
        return;
    append_crossing(s, s.kernel, channel, row, column, real_of(y),
                    HAS_ERRORS ? static_cast<const RealPart<Value> *>(s.errors)[at] : imaginary_of(y));
}

/* Call `each(channel, row, column, scale)` for the pixels to search. */
template <class Value, class Each> LW_DEVICE void for_pixels(const lw_conv2d_search &s, Each each)
{
    const int64_t runs = runs_of(s), n_rows = s.end - s.begin, warps = int64_t(gridDim.x) * (block_threads / warp);
    for (int64_t i = (int64_t(blockIdx.x) * block_threads + threadIdx.x) / warp; i < s.n_channels * n_rows * runs; i += warps) {
        const int64_t line = i / runs, channel = line / n_rows, row = s.begin + line % n_rows, first = i % runs * run_columns;
        const int64_t end = first + run_columns < s.columns ? first + run_columns : s.columns;
        const RealPart<Value> scale =
            static_cast<const RealPart<Value> *>(s.scales)[(s.channel + channel) * s.n_kernels + s.kernel];
        for (int64_t column = first + threadIdx.x % warp; column < end; column += warp)
            each(channel, row, column, scale);
    }
}

template <class Value, bool HAS_ERRORS> __global__ void find_crossings(lw_conv2d_search s)
{
    for_pixels<Value>(s, [&](int64_t channel, int64_t row, int64_t column, RealPart<Value> scale) {
        look_at<Value, HAS_ERRORS>(s, channel, row, column, scale);
    });
}

template <class Value> __global__ void find_best(lw_conv2d_search s, int n, Value *values, int32_t *kernels)
{
    const int64_t plane = s.n_channels * s.count * s.columns;
    for_pixels<Value>(s, [&](int64_t channel, int64_t row, int64_t column, RealPart<Value>) {
        const RealPart<Value> *const scales = static_cast<const RealPart<Value> *>(s.scales) + (s.channel + channel) * s.n_kernels;
        const Value *const y = static_cast<const Value *>(s.image) + (channel * s.count + row) * s.columns + column;
        const int64_t at = (channel * (s.end - s.begin) + row - s.begin) * s.columns + column;
        keep_best(values + at, kernels + at, s.kernel > 0, y, plane, scales, s.kernel, n, s.sign);
    });
}

/* Call start(value, blocks), which launches: value has the type of the pixels. */
template <class Start> static cudaError_t launch(const lw_conv2d_search &s, Start start)
{
    const int64_t n = s.n_channels * (s.end - s.begin) * runs_of(s);
    const unsigned blocks = blocks_for(n, block_threads / warp);
    if (n <= 0)
        return cudaSuccess;
    if (s.precision == LW_SINGLE)
        s.is_complex ? start(float2{}, blocks) : start(float{}, blocks);
    else
        s.is_complex ? start(double2{}, blocks) : start(double{}, blocks);
    return cudaGetLastError();
}

cudaError_t lw_conv2d_find(const struct lw_conv2d_search *search, cudaStream_t stream)
{
    const lw_conv2d_search s = *search;
    return launch(s, [=](auto value, unsigned blocks) {
        using Value = decltype(value);
        if (s.errors)
            find_crossings<RealPart<Value>, true><<<blocks, block_threads, 0, stream>>>(s);
        else
            find_crossings<Value, false><<<blocks, block_threads, 0, stream>>>(s);
    });
}

cudaError_t lw_conv2d_keep_best(const struct lw_conv2d_search *search, int n, void *values, int32_t *kernels, cudaStream_t stream)
{
    const lw_conv2d_search s = *search;
    return launch(s, [=](auto value, unsigned blocks) {
        using Value = decltype(value);
        find_best<<<blocks, block_threads, 0, stream>>>(s, n, static_cast<Value *>(values), kernels);
    });
}
