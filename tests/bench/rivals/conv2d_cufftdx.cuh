/* conv2d_cufftdx.cuh - expert 2-D convolution with NVIDIA's device library cuFFTDx, in two ways. dx_tile: two neighbouring tiles
 * are one complex tile in the shared memory of a block, which transforms rows, then columns with the product, then rows back.
 * Three passes: real transforms of rows; columns forward and back with the product between; rows back. Thread t of a transform
 * holds points t + i T (i < POINTS, T = N / POINTS). */
#ifndef CONV2D_CUFFTDX_CUH
#define CONV2D_CUFFTDX_CUH

#define CUFFTDX_DISABLE_CUTLASS_DEPENDENCY
#include "conv2d_cufftdx.h"

#include <cufftdx.hpp>

template <int FFTS>
using DxImageBlock = decltype(cufftdx::Precision<float>() + cufftdx::SM<900>() + cufftdx::Block() + cufftdx::FFTsPerBlock<FFTS>());

template <int N, int POINTS, int FFTS, bool FORWARD> struct DxComplex {
    static constexpr auto direction = FORWARD ? cufftdx::fft_direction::forward : cufftdx::fft_direction::inverse;
    using type = decltype(DxImageBlock<FFTS>() + cufftdx::Size<N>() + cufftdx::Type<cufftdx::fft_type::c2c>() +
                          cufftdx::ElementsPerThread<POINTS>() + cufftdx::Direction<direction>());
};
/* Real transform of 2 N points with N + 1 bins; thread 0 holds the last bin as well. */
template <int N, int POINTS, int FFTS, bool FORWARD> struct DxReal {
    using type = decltype(DxImageBlock<FFTS>() + cufftdx::Size<2 * N>() +
                          cufftdx::Type<FORWARD ? cufftdx::fft_type::r2c : cufftdx::fft_type::c2r>() +
                          cufftdx::ElementsPerThread<2 * POINTS>() +
                          cufftdx::RealFFTOptions<cufftdx::complex_layout::natural, cufftdx::real_mode::folded>());
};

/* Multiply d by the spectrum of a column, two bins a load. */
template <int POINTS, int T> __device__ __forceinline__ void dx_multiply(float2 *d, const float4 *spectrum)
{
#pragma unroll
    for (int i = 0; i < POINTS; i += 2) {
        const float4 k = __ldg(spectrum + i / 2 * T);
        const float2 u = d[i], v = d[i + 1];
        d[i] = {u.x * k.x - u.y * k.y, u.x * k.y + u.y * k.x};
        d[i + 1] = {v.x * k.z - v.y * k.w, v.x * k.w + v.y * k.z};
    }
}

/* Row or column of a transform, chosen so that the two halves of a warp use different banks. */
template <int T> __device__ __forceinline__ int dx_order(int q) { return T == 8 ? (q & ~15) | (q & 1) << 3 | (q & 15) >> 1 : q; }

/* ---- tiles ----------------------------------------------------------------------------------------------------------------- */

/* Tile of N x N points, ROWS transforms at a time. EXCHANGE only distinguishes the kernels of different units. */
template <int N, int POINTS, int ROWS, int EXCHANGE, int BLOCKS, int DISCARD>
__global__ void __launch_bounds__(N / POINTS *ROWS, BLOCKS) dx_tile(const DxImage a)
{
    using Forward = typename DxComplex<N, POINTS, ROWS, true>::type;
    using Inverse = typename DxComplex<N, POINTS, ROWS, false>::type;
    constexpr int T = N / POINTS, HOP = N - DISCARD, PITCH = N + 1;
    static_assert(Forward::storage_size == POINTS && Forward::stride == T && Inverse::stride == T && DISCARD % T == 0, "layout");
    extern __shared__ __align__(16) unsigned char space[];
    float2 *const tile = (float2 *)(space + Forward::shared_memory_size);
    const int t = threadIdx.x, w = threadIdx.y;
    const int left = 2 * blockIdx.x * HOP - DISCARD / 2, top = blockIdx.y * HOP - DISCARD / 2;
    const bool inside = left >= 0 && top >= 0 && left + N + HOP <= a.columns && top + N <= a.rows;
    float2 d[POINTS];
#pragma unroll 1
    for (int first = 0; first < N; first += ROWS) {
        const int row = dx_order<T>(first + w), y = top + row;
        const float *const from = a.image + (int64_t)y * a.columns + left + t;
        const bool is_row = y >= 0 && y < a.rows;
#pragma unroll
        for (int i = 0; i < POINTS; ++i) {
            const int x = left + t + i * T;
            d[i].x = inside || (is_row && x >= 0 && x < a.columns) ? __ldg(from + i * T) : 0;
            d[i].y = inside || (is_row && x + HOP >= 0 && x + HOP < a.columns) ? __ldg(from + HOP + i * T) : 0;
        }
        Forward().execute(d, space);
#pragma unroll
        for (int i = 0; i < POINTS; ++i)
            tile[row * PITCH + t + i * T] = d[i];
    }
    __syncthreads();
#pragma unroll 1
    for (int first = 0; first < N; first += ROWS) {
        const int column = dx_order<T>(first + w);
#pragma unroll
        for (int i = 0; i < POINTS; ++i)
            d[i] = tile[(t + i * T) * PITCH + column];
        Forward().execute(d, space);
        dx_multiply<POINTS, T>(d, a.spectrum + column * (N / 2) + t);
        Inverse().execute(d, space);
#pragma unroll
        for (int i = DISCARD / T; i < POINTS; ++i)
            tile[(t + i * T) * PITCH + column] = d[i];
    }
    __syncthreads();
#pragma unroll 1
    for (int first = 0; first < HOP; first += ROWS) {
        const int q = dx_order<T>(first + w), row = q < HOP ? DISCARD + q : DISCARD;
#pragma unroll
        for (int i = 0; i < POINTS; ++i)
            d[i] = tile[row * PITCH + t + i * T];
        Inverse().execute(d, space);
        const int y = blockIdx.y * HOP + q, x = 2 * blockIdx.x * HOP + t - DISCARD;
        if (q >= HOP || y >= a.rows)
            continue;
        float *const to = a.output + (int64_t)y * a.columns + x;
#pragma unroll
        for (int i = DISCARD / T; i < POINTS; ++i) {
            if (inside || x + i * T < a.columns)
                __stcs(to + i * T, d[i].x);
            if (inside || x + HOP + i * T < a.columns)
                __stcs(to + HOP + i * T, d[i].y);
        }
    }
}

/* ---- three passes ---------------------------------------------------------------------------------------------------------- */

template <int N, int POINTS, int FFTS, int EXCHANGE>
__global__ void __launch_bounds__(N / POINTS *FFTS) dx_rows_forward(const DxImage a)
{
    using Forward = typename DxReal<N, POINTS, FFTS, true>::type;
    constexpr int T = N / POINTS;
    static_assert(Forward::stride == T && Forward::input_ept == POINTS && Forward::output_ept == POINTS + 1, "layout");
    extern __shared__ __align__(16) unsigned char space[];
    const int t = threadIdx.x, y = blockIdx.y * FFTS + threadIdx.y, left = blockIdx.x * (2 * N - a.discard) - a.discard / 2;
    const float2 *const from = (const float2 *)(a.image + (int64_t)y * a.columns + left) + t;
    const bool inside = left >= 0 && left + 2 * N <= a.columns;
    float2 d[POINTS + 1];
#pragma unroll
    for (int i = 0; i < POINTS; ++i) {
        const int x = left + 2 * (t + i * T);
        d[i] = y < a.rows && (inside || (x >= 0 && x < a.columns)) ? __ldg(from + i * T) : float2{0, 0};
    }
    Forward().execute(d, space);
    if (y >= a.rows)
        return;
    float2 *const to = a.forward + ((int64_t)y * a.across + blockIdx.x) * (N + DX_PADDING) + t;
#pragma unroll
    for (int i = 0; i < POINTS; ++i)
        to[i * T] = d[i];
    if (t == 0)
        to[N] = d[POINTS];
}

template <int N, int POINTS, int FFTS, int EXCHANGE>
__global__ void __launch_bounds__(N / POINTS *FFTS) dx_rows_back(const DxImage a)
{
    using Inverse = typename DxReal<N, POINTS, FFTS, false>::type;
    constexpr int T = N / POINTS;
    static_assert(Inverse::stride == T && Inverse::output_ept == POINTS && Inverse::input_ept == POINTS + 1, "layout");
    extern __shared__ __align__(16) unsigned char space[];
    const int t = threadIdx.x, y = blockIdx.y * FFTS + threadIdx.y, left = blockIdx.x * (2 * N - a.discard) - a.discard;
    const float2 *const from = a.back + ((int64_t)min(y, a.rows - 1) * a.across + blockIdx.x) * (N + DX_PADDING) + t;
    float2 d[POINTS + 1];
#pragma unroll
    for (int i = 0; i < POINTS; ++i)
        d[i] = __ldg(from + i * T);
    d[POINTS] = t == 0 ? __ldg(from + N) : float2{0, 0};
    Inverse().execute(d, space);
    if (y >= a.rows)
        return;
    float2 *const to = (float2 *)(a.output + (int64_t)y * a.columns + left) + t;
#pragma unroll
    for (int i = 0; i < POINTS; ++i)
        if (2 * (t + i * T) >= a.discard && left + 2 * (t + i * T) < a.columns)
            __stcs(to + i * T, d[i]);
}

/* Transform COLUMNS columns at a time, transposed through shared memory. n_bins: bins of a row; columns beyond are padding. */
template <int N, int POINTS, int COLUMNS, int EXCHANGE, int BLOCKS>
__global__ void __launch_bounds__(N / POINTS *COLUMNS, BLOCKS) dx_columns(const DxImage a, int n_bins)
{
    using Forward = typename DxComplex<N, POINTS, COLUMNS, true>::type;
    using Inverse = typename DxComplex<N, POINTS, COLUMNS, false>::type;
    constexpr int T = N / POINTS, PITCH = N + (COLUMNS == 8 ? 2 : 4);
    static_assert(Forward::storage_size == POINTS && Forward::stride == T && Inverse::stride == T, "layout");
    extern __shared__ __align__(16) unsigned char space[];
    float2 *const turned = (float2 *)space;
    const int t = threadIdx.x, w = threadIdx.y, id = w * T + t, row = id / COLUMNS, column = id % COLUMNS;
    const int width = a.across * (n_bins - 1 + DX_PADDING), left = blockIdx.x * COLUMNS;
    const int below = blockIdx.y * (N - a.discard), top = below - a.discard / 2;
    const float2 *const from = a.forward + ((int64_t)top + row) * width + left + column;
    float2 d[POINTS];
#pragma unroll
    for (int i = 0; i < POINTS; ++i) {
        const int y = top + row + i * T;
        d[i] = y >= 0 && y < a.rows ? __ldg(from + (int64_t)i * T * width) : float2{0, 0};
    }
#pragma unroll
    for (int i = 0; i < POINTS; ++i)
        turned[column * PITCH + row + i * T] = d[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < POINTS; ++i)
        d[i] = turned[w * PITCH + t + i * T];
    __syncthreads();
    Forward().execute(d, space);
    dx_multiply<POINTS, T>(d, a.spectrum + (int64_t)min((left + w) % (n_bins - 1 + DX_PADDING), n_bins - 1) * (N / 2) + t);
    Inverse().execute(d, space);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < POINTS; ++i)
        turned[w * PITCH + t + i * T] = d[i];
    __syncthreads();
    float2 *const to = a.back + ((int64_t)below - a.discard + row) * width + left + column;
#pragma unroll
    for (int i = 0; i < POINTS; ++i) {
        const int r = row + i * T;
        if (r >= a.discard && below - a.discard + r < a.rows)
            to[(int64_t)i * T * width] = turned[column * PITCH + r];
    }
}

#endif
