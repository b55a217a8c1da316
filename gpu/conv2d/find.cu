/* find.cu - finds crossings in images. A warp takes 1024 neighbouring pixels of a row: coalesced, one set of divisions per run. */
#include "gpu/conv2d/launch.h"
#include "gpu/device/search.cuh"

static constexpr int block_threads = 256, warp = 32, run_columns = 1024;
static constexpr int64_t most_blocks = 1 << 20;

__host__ __device__ static inline int64_t runs_of(const lw_conv2d_search &s)
{
    return (s.columns + run_columns - 1) / run_columns;
}

template <class Value>
LW_DEVICE void look_at(const lw_conv2d_search &s, int64_t channel, int64_t row, int64_t column, RealPart<Value> scale)
{
    const Value y = static_cast<const Value *>(s.image)[(channel * s.count + row) * s.columns + column];
    if (!crosses(y, scale) || !has_sign(s.sign, real_of(y)))
        return;
    const unsigned long long place = atomicAdd(s.n_rows, 1ull);
    const int32_t image = static_cast<int32_t>(s.channel + channel);
    if (place < static_cast<unsigned long long>(s.most_rows))
        s.rows[place] = lw_crossing{s.first_row + row, image, 0, column, real_of(y), imaginary_of(y)};
}

template <class Value> __global__ void find_crossings(lw_conv2d_search s)
{
    const int64_t runs = runs_of(s), n_rows = s.end - s.begin, warps = int64_t(gridDim.x) * (block_threads / warp);
    for (int64_t i = (int64_t(blockIdx.x) * block_threads + threadIdx.x) / warp; i < s.n_channels * n_rows * runs; i += warps) {
        const int64_t line = i / runs, channel = line / n_rows, row = s.begin + line % n_rows, first = i % runs * run_columns;
        const int64_t end = first + run_columns < s.columns ? first + run_columns : s.columns;
        const RealPart<Value> scale = static_cast<const RealPart<Value> *>(s.scales)[s.channel + channel];
        for (int64_t column = first + threadIdx.x % warp; column < end; column += warp)
            look_at<Value>(s, channel, row, column, scale);
    }
}

template <class Value> static cudaError_t find(const lw_conv2d_search &s, cudaStream_t stream)
{
    const int64_t n = s.n_channels * (s.end - s.begin) * runs_of(s);
    const int64_t blocks = (n + block_threads / warp - 1) / (block_threads / warp);
    if (n > 0)
        find_crossings<Value><<<static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), block_threads, 0, stream>>>(s);
    return cudaGetLastError();
}

cudaError_t lw_conv2d_find(const struct lw_conv2d_search *search, cudaStream_t stream)
{
    if (search->precision == LW_SINGLE)
        return search->is_complex ? find<float2>(*search, stream) : find<float>(*search, stream);
    return search->is_complex ? find<double2>(*search, stream) : find<double>(*search, stream);
}
