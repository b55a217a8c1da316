/* Columns: a block takes WIDTH adjacent columns of one item, a team of threads each. The tile goes through shared memory, so
 * that global memory is accessed WIDTH values at a time; its pitch of WIDTH + 1 values makes the column accesses free of bank
 * conflicts. The same memory serves the teams' exchanges, between barriers.
 *
 * Rows: a team of threads takes one row, as in ols_segments.cuh: the row's spectrum stays in registers while the filters go by.
 *
 * Numbers on the way back have re and im swapped from the product to the last step, see fft.cuh. */
#include "split_kernels.h"

#include "long_place.cuh"
#include "ols_segments.cuh"

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
    static constexpr int COLUMN_TABLE = log2_of(ColumnT::N) * ColumnT::T, ROW_TABLE = log2_of(RowT::N) * RowT::T;
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

/* Bin of thread t's first spectral value, see fft.cuh. */
template <class F> LW_DEVICE int first_bin(int t) { return F::P * (t % F::E) + t / F::E; }

template <class F> LW_DEVICE int team_of() { return threadIdx.x / F::T; }
template <class F> LW_DEVICE float2 *exchange_of(float2 *tile)
{
    return tile + team_of<F>() * (F::SHARED_BYTES / int(sizeof(float2)));
}

/* Global memory to tile and back, by `access(row, column, value)`: thread i takes column i % WIDTH of rows i / WIDTH + T m. */
template <class F, class Access> LW_DEVICE void for_tile(float2 *tile, Access access)
{
    const int column = threadIdx.x % F::WIDTH, row = threadIdx.x / F::WIDTH;
#pragma unroll 8
    for (int m = 0; m < F::E; ++m)
        access(row + F::T * m, column, tile[(row + F::T * m) * F::PITCH_OF_TILE + column]);
}

template <class S, typename Stored>
LW_DEVICE bool gather_samples(const lw_long_geometry &g, const void *input, int64_t item, int tile_begin, float2 *tile)
{
    const placement p = place(g, item);
    bool not_finite = false;
    for_tile<typename S::ColumnT>(tile, [&](int row, int column, float2 &value) {
        const int64_t position = int64_t(row) * S::COLUMNS + tile_begin + column;
        value = fetch<float>(g, p, static_cast<const Stored *>(input), position, not_finite);
    });
    return not_finite;
}

/* The block's columns of an item, natural order in, natural order out, times the twiddles. */
template <class S>
__global__ void __launch_bounds__(S::ColumnT::THREADS, 2)
gather(lw_long_geometry g, const float2 *table, const void *input, int64_t first, float2 *spectra, unsigned *flag)
{
    using F = typename S::ColumnT;
    extern __shared__ __align__(128) float2 tile[];
    const int tile_begin = blockIdx.x * F::WIDTH, t = threadIdx.x % F::T;
    float2 *const item = spectra + blockIdx.y * S::N + tile_begin;
    if (input) {
        bool not_finite = false;
        const int64_t number = first + blockIdx.y;
        LW_WITH_STORED(g.input, (not_finite = gather_samples<S, Stored>(g, input, number, tile_begin, tile)))
        if (not_finite)
            *flag = 1;
    } else {
        for_tile<F>(tile, [&](int row, int column, float2 &value) { value = item[row * S::COLUMNS + column]; });
    }
    F fft;
    fft.load(table, t);
    __syncthreads();
    float2 *const column = tile + team_of<F>();
    float2 v[F::E];
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
    for_tile<F>(tile, [&](int row, int column, float2 &value) { item[row * S::COLUMNS + column] = value; });
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
    float2 *const item = products + blockIdx.y * S::N + tile_begin;
    for_tile<F>(tile, [&](int row, int column, float2 &value) { value = item[row * S::COLUMNS + column]; });
    F fft;
    fft.load(table, t);
    __syncthreads();
    float2 *const column = tile + team_of<F>();
    float2 v[F::E];
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
        column[(t + F::T * m) * F::PITCH_OF_TILE] = {v[m].y, v[m].x};
    __syncthreads();
    if (!plane) {
        for_tile<F>(tile, [&](int row, int column, float2 &value) { item[row * S::COLUMNS + column] = value; });
        return;
    }
    const placement p = place(g, first + blockIdx.y);
    for_tile<F>(tile, [&](int row, int column, float2 &value) {
        const int64_t o = int64_t(row) * S::COLUMNS + tile_begin + column - (g.segment - g.hop);
        if (o >= 0)
            put(g, p, value, o, plane);
    });
}

/* Rows of Transform's table for one transform length, in double; one thread each. */
static __global__ void powers(float2 *table, int side, int groups)
{
    const int threads = side * groups, n = side * threads, inner_rows = log2_of(side);
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / threads, t = i % threads;
    if (row >= inner_rows + log2_of(groups))
        return;
    const int k = row < inner_rows ? t % side * groups << row : t << (row - inner_rows);
    double s, c;
    sincospi(-2.0 * (k & (n - 1)) / n, &s, &c);
    table[i] = {float(c), float(s)};
}

/* Value i of a row's spectrum, in the order multiply() of ols_segments.cuh reads: bins m, m + 1 of a thread side by side. */
template <class S> __global__ void order(const double2 *padded, float2 *spectrum)
{
    using F = typename S::RowT;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    const int m = i / (2 * F::T) * 2 + i % 2, t = i / 2 % F::T;
    const double2 h = padded[row + int64_t(S::ROWS) * (first_bin<F>(t) + F::T * m)];
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

template <class F> static void fill_powers(void *table, cudaStream_t stream)
{
    const int values = log2_of(F::N) * F::T, threads = 128;
    powers<<<(values + threads - 1) / threads, threads, 0, stream>>>(static_cast<float2 *>(table), F::E, F::P);
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
        fill_powers<typename S::ColumnT>(table, stream);
        fill_powers<typename S::RowT>(static_cast<float2 *>(table) + S::COLUMN_TABLE, stream);
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
