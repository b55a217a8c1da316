/* Columns: a block takes WIDTH adjacent columns of one item, a team of threads each. The tile goes through shared memory, so
 * that global memory is accessed WIDTH values at a time; its pitch of WIDTH + 1 values makes the column accesses free of bank
 * conflicts. The same memory serves the teams' exchanges, between barriers.
 *
 * Rows: a team of threads takes one row, as in gpu/ols/kernels/time_fast.cuh: the row's spectrum stays in registers while the filters go by.
 *
 * Numbers on the way back have re and im swapped from the product to the last step, see fft.cuh. */
#include "gpu/ols/long/split.h"

#include "gpu/ols/kernels/time_fast.cuh"
#include "gpu/ols/long/access.cuh"
#include "gpu/ols/long/fft.cuh"

template <int E, int P, int WIDTH_> struct Columns : Transform<float, E, P, Team<E * P, WIDTH_>> {
    using Base = Transform<float, E, P, Team<E * P, WIDTH_>>;
    static constexpr int WIDTH = WIDTH_, PITCH_OF_TILE = WIDTH + 1, THREADS = Base::T * WIDTH;
    static constexpr int TILE_BYTES = Base::N * PITCH_OF_TILE * 8;
    static constexpr int EXCHANGE_BYTES = WIDTH * Base::SHARED_BYTES;
    static constexpr int BLOCK_BYTES = TILE_BYTES > EXCHANGE_BYTES ? TILE_BYTES : EXCHANGE_BYTES;
};

template <int E, int P> struct Rows : Transform<float, E, P, Team<E * P, 1>> {};

/* One split: rows of the matrix = length of the column transforms, and the reverse. */
template <class ColumnT_, class RowT_> struct Split {
    using ColumnT = ColumnT_;
    using RowT = RowT_;
    static constexpr int ROWS = ColumnT::N, COLUMNS = RowT::N;
    static constexpr int64_t N = int64_t(ROWS) * COLUMNS;
    static constexpr int COLUMN_TABLE = powers_of(ColumnT::E, ColumnT::P), ROW_TABLE = powers_of(RowT::E, RowT::P);
};

using Split18 = Split<Columns<16, 1, 16>, Rows<32, 1>>;
using Split20 = Split<Columns<32, 1, 8>, Rows<32, 1>>;
using Split22 = Split<Columns<32, 1, 8>, Rows<32, 4>>;

/* v[m] *= w u^m for m in [first, first + 2^LEVELS): the powers of u by bits, each used by two halves, few alive at a time. */
template <int LEVELS, int E> LW_DEVICE void twist(float2 (&v)[E], int first, float2 w, const float2 *power)
{
    if constexpr (LEVELS == 0) {
        v[first] = product(v[first], w);
    } else {
        twist<LEVELS - 1>(v, first, w, power);
        twist<LEVELS - 1>(v, first + (1 << (LEVELS - 1)), product(w, power[LEVELS - 1]), power);
    }
}

/* exp(-2 pi i k / N), 0 <= k < N <= 2^24: the quotient is exact. */
template <int64_t N> LW_DEVICE float2 twiddle(int64_t k)
{
    float2 w;
    sincospif(float(k & (N - 1)) * (-2.0f / N), &w.y, &w.x);
    return w;
}

/* v[m] *= exp(-2 pi i a (b + T m) / N) */
template <int64_t N, int T, int E> LW_DEVICE void twiddle_all(float2 (&v)[E], int64_t a, int64_t b)
{
    float2 power[log2_of(E)];
#pragma unroll
    for (int l = 0; l < log2_of(E); ++l)
        power[l] = twiddle<N>(a * T << l);
    twist<log2_of(E)>(v, 0, twiddle<N>(a * b), power);
}

template <class F> LW_DEVICE int team_of() { return threadIdx.x / F::T; }
template <class F> LW_DEVICE float2 *exchange_of(float2 *tile)
{
    return tile + team_of<F>() * (F::SHARED_BYTES / int(sizeof(float2)));
}

/* Between global memory and tile thread i moves column i % WIDTH of rows i / WIDTH + T m, all of them under way at a
 * time. */
template <class F> LW_DEVICE int column_of() { return threadIdx.x % F::WIDTH; }
template <class F> LW_DEVICE int row_of() { return threadIdx.x / F::WIDTH; }
template <class F> LW_DEVICE float2 *tile_at(float2 *tile)
{
    return tile + row_of<F>() * F::PITCH_OF_TILE + column_of<F>();
}

template <class F> LW_DEVICE void to_tile(float2 *tile, const float2 (&v)[F::E])
{
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        tile_at<F>(tile)[F::T * m * F::PITCH_OF_TILE] = v[m];
}

template <class F> LW_DEVICE void from_tile(float2 (&v)[F::E], float2 *tile)
{
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        v[m] = tile_at<F>(tile)[F::T * m * F::PITCH_OF_TILE];
}

/* Positions in an item from one of a thread's rows to the next. */
template <class S> struct RowStep {
    LW_DEVICE constexpr int operator()(int m) const { return S::ColumnT::T * S::COLUMNS * m; }
};

template <class S> LW_DEVICE void load_tile(float2 (&v)[S::ColumnT::E], const float2 *from)
{
#pragma unroll
    for (int m = 0; m < S::ColumnT::E; ++m)
        v[m] = from[RowStep<S>{}(m)];
}

template <class S, bool SWAPPED> LW_DEVICE void store_tile(const float2 (&v)[S::ColumnT::E], float2 *to)
{
#pragma unroll
    for (int m = 0; m < S::ColumnT::E; ++m)
        to[RowStep<S>{}(m)] = SWAPPED ? float2{v[m].y, v[m].x} : v[m];
}

/* The block's columns of an item, natural order in, natural order out, times the twiddles. */
template <class S>
__global__ void __launch_bounds__(S::ColumnT::THREADS, 2)
gather(lw_long_geometry g, const float2 *table, const void *input, int64_t first, float2 *spectra, unsigned *flag)
{
    using F = typename S::ColumnT;
    extern __shared__ __align__(128) float2 tile[];
    const int tile_begin = blockIdx.x * F::WIDTH, t = threadIdx.x % F::T;
    const int begin = row_of<F>() * S::COLUMNS + tile_begin + column_of<F>();
    float2 *const item = spectra + blockIdx.y * S::N + begin;
    float2 v[F::E];
    if (!input)
        load_tile<S>(v, item);
    else if (load_item(v, g, input, item_place(g, first + blockIdx.y), begin, RowStep<S>{}))
        *flag = 1;
    to_tile<F>(tile, v);
    F fft;
    fft.load(table, t);
    __syncthreads();
    float2 *const column = tile + team_of<F>();
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        v[m] = column[(t + F::T * m) * F::PITCH_OF_TILE];
    __syncthreads();
    fft.forward(v, exchange_of<F>(tile), t);
    twiddle_all<S::N, F::T>(v, tile_begin + team_of<F>(), first_bin<F>(t));
    __syncthreads();
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        column[(first_bin<F>(t) + F::T * m) * F::PITCH_OF_TILE] = v[m];
    __syncthreads();
    from_tile<F>(v, tile);
    store_tile<S, false>(v, item);
}

/* One row of one item, with all filters. */
template <class S, int BLOCKS>
__global__ void __launch_bounds__(S::RowT::T, BLOCKS)
filter_rows(const float2 *table, const float2 *bank, const float2 *spectra, int n_filters, float2 *products)
{
    using F = typename S::RowT;
    extern __shared__ __align__(128) float2 exchange[];
    const int t = threadIdx.x, row = blockIdx.x;
    const int64_t at = blockIdx.y * S::N + int64_t(row) * S::COLUMNS;
    F fft;
    fft.load(table, t);
    float2 x[F::E], v[F::E];
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        x[m] = spectra[at + t + F::T * m];
    fft.forward(x, exchange, t);
    const int64_t plane = gridDim.y * S::N;
    bank += int64_t(row) * S::COLUMNS;
    products += at + t;
#pragma unroll 1
    for (int f = 0; f < n_filters; ++f, bank += S::N, products += plane) {
        fft.pin();
        multiply<F>(v, x, bank, t);
        fft.backward(v, exchange, t);
        twiddle_all<S::N, F::T>(v, row, t);
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            products[F::T * m] = v[m];
    }
}

/* The block's columns of one filter's product, back to outputs. */
template <class S>
__global__ void __launch_bounds__(S::ColumnT::THREADS, 2)
scatter(lw_long_geometry g, const float2 *table, int64_t first, float2 *products, float *plane)
{
    using F = typename S::ColumnT;
    extern __shared__ __align__(128) float2 tile[];
    const int tile_begin = blockIdx.x * F::WIDTH, t = threadIdx.x % F::T;
    const int begin = row_of<F>() * S::COLUMNS + tile_begin + column_of<F>();
    float2 *const item = products + blockIdx.y * S::N + begin;
    float2 v[F::E];
    load_tile<S>(v, item);
    to_tile<F>(tile, v);
    F fft;
    fft.load(table, t);
    __syncthreads();
    float2 *const column = tile + team_of<F>();
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        v[m] = column[(first_bin<F>(t) + F::T * m) * F::PITCH_OF_TILE];
#pragma unroll
    for (int m = 0; m < F::E / 2; ++m)
        butterfly(v[m], v[m + F::E / 2]);
    __syncthreads();
    fft.backward(v, exchange_of<F>(tile), t);
    __syncthreads();
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        column[(t + F::T * m) * F::PITCH_OF_TILE] = v[m];
    __syncthreads();
    from_tile<F>(v, tile);
    if (!plane)
        store_tile<S, true>(v, item);
    else if (g.output_complex)
        store_item<true>(v, plane, item_place(g, first + blockIdx.y), begin, RowStep<S>{});
    else
        store_item<false>(v, plane, item_place(g, first + blockIdx.y), begin, RowStep<S>{});
}

/* Value i of a row's spectrum, in the order multiply() of gpu/ols/kernels/time_fast.cuh reads: bins m, m + 1 of a thread side by side. */
template <class S> __global__ void order(const double2 *padded, float2 *spectrum)
{
    using F = typename S::RowT;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    const double2 h = padded[row + int64_t(S::ROWS) * bin_of<F>(i)];
    spectrum[int64_t(row) * S::COLUMNS + i] = {float(h.x / S::N), float(h.y / S::N)};
}

/* ---- launchers --------------------------------------------------------------------------------------------------- */

template <class With> static cudaError_t with_split(int64_t segment, With with)
{
    switch (segment) {
    case Split18::N: return with(Split18{});
    case Split20::N: return with(Split20{});
    case Split22::N: return with(Split22{});
    default: return cudaErrorInvalidValue;
    }
}

bool lw_split_exists(int64_t segment)
{
    return with_split(segment, [](auto) { return cudaSuccess; }) == cudaSuccess;
}

int64_t lw_split_table_bytes(int64_t segment)
{
    int64_t bytes = 0;
    with_split(segment, [&](auto split) {
        using S = decltype(split);
        bytes = int64_t(sizeof(float2)) * (S::COLUMN_TABLE + S::ROW_TABLE);
        return cudaSuccess;
    });
    return bytes;
}

/* Blocks an SM must hold: as in the overlap-save kernels of these lengths, twelve warps. */
template <class S> static constexpr int row_blocks() { return 12 * 32 / S::RowT::T; }

template <class Kernel> static cudaError_t allow_shared(Kernel kernel, int bytes)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

cudaError_t lw_split_prepare(int64_t segment, void *table, cudaStream_t stream)
{
    return with_split(segment, [=](auto split) {
        using S = decltype(split);
        const cudaError_t status[] = {
            allow_shared(gather<S>, S::ColumnT::BLOCK_BYTES),
            allow_shared(scatter<S>, S::ColumnT::BLOCK_BYTES),
            allow_shared(filter_rows<S, row_blocks<S>()>, S::RowT::SHARED_BYTES),
        };
        for (const cudaError_t one : status)
            if (one != cudaSuccess)
                return one;
        fill_powers(static_cast<float2 *>(table), S::ColumnT::E, S::ColumnT::P, stream);
        fill_powers(static_cast<float2 *>(table) + S::COLUMN_TABLE, S::RowT::E, S::RowT::P, stream);
        return cudaGetLastError();
    });
}

cudaError_t lw_split_order(int64_t segment, const void *padded, void *spectrum, cudaStream_t stream)
{
    return with_split(segment, [=](auto split) {
        using S = decltype(split);
        order<S><<<dim3(S::COLUMNS / 256, S::ROWS), 256, 0, stream>>>(static_cast<const double2 *>(padded),
                                                                      static_cast<float2 *>(spectrum));
        return cudaGetLastError();
    });
}

cudaError_t lw_split_gather(const struct lw_long_geometry *geometry, const void *table, const void *input,
                            int64_t first, int n, void *spectra, unsigned *not_finite, cudaStream_t stream)
{
    return with_split(geometry->segment, [=](auto split) {
        using S = decltype(split);
        using F = typename S::ColumnT;
        gather<S><<<dim3(S::COLUMNS / F::WIDTH, n), F::THREADS, F::BLOCK_BYTES, stream>>>(
            *geometry, static_cast<const float2 *>(table), input, first, static_cast<float2 *>(spectra), not_finite);
        return cudaGetLastError();
    });
}

cudaError_t lw_split_filter(int64_t segment, const void *table, const void *bank, const void *spectra, int n,
                            int n_filters, void *products, cudaStream_t stream)
{
    return with_split(segment, [=](auto split) {
        using S = decltype(split);
        using F = typename S::RowT;
        filter_rows<S, row_blocks<S>()><<<dim3(S::ROWS, n), F::T, F::SHARED_BYTES, stream>>>(
            static_cast<const float2 *>(table) + S::COLUMN_TABLE, static_cast<const float2 *>(bank),
            static_cast<const float2 *>(spectra), n_filters, static_cast<float2 *>(products));
        return cudaGetLastError();
    });
}

cudaError_t lw_split_scatter(const struct lw_long_geometry *geometry, const void *table, int64_t first, int n,
                             void *products, void *plane, cudaStream_t stream)
{
    return with_split(geometry->segment, [=](auto split) {
        using S = decltype(split);
        using F = typename S::ColumnT;
        scatter<S><<<dim3(S::COLUMNS / F::WIDTH, n), F::THREADS, F::BLOCK_BYTES, stream>>>(
            *geometry, static_cast<const float2 *>(table), first, static_cast<float2 *>(products),
            static_cast<float *>(plane));
        return cudaGetLastError();
    });
}
