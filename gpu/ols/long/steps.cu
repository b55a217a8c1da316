/* steps.cu - kernels around transforms: cut, multiply, store; scale filters.
 *
 * A thread handles line_rows points of an item, block_threads apart; adjacent threads take adjacent points, which is coalesced for
 * [channel][axis]. Data [axis][channel] of several channels goes through a 32 x 32 tile of shared memory (8 or 16 KB, a column of
 * padding against bank conflicts). Adjacent threads take adjacent groups on the data's side, adjacent points on the other side. */
#include "gpu/ols/long/steps.h"

#include "gpu/ols/long/segments.cuh"

static constexpr int block_threads = 256;
static constexpr int line_rows = 4;             /* points of a thread, block_threads apart */
static constexpr int tile = 32, tile_rows = 8;
static const dim3 tile_block(tile, tile_rows);

template <typename Real, typename Stored>
__global__ void load(lw_long_geometry g, const Stored *input, int64_t first, Complex<Real> *segments, unsigned *flag)
{
    const placement p = place(g, first + blockIdx.y);
    Complex<Real> *const segment = segments + blockIdx.y * g.segment;
    bool not_finite = false;
    for (int row = 0; row < line_rows; row++) {
        const int64_t position = (int64_t(blockIdx.x) * line_rows + row) * block_threads + threadIdx.x;
        if (position < g.segment)
            segment[position] = fetch<Real>(g, p, input, position, not_finite);
    }
    if (not_finite)
        *flag = 1;
}

template <typename Real, typename Stored>
__global__ void load_tiled(lw_long_geometry g, const Stored *input, int64_t first, int n, Complex<Real> *segments, unsigned *flag)
{
    __shared__ Complex<Real> values[tile][tile + 1];
    const int64_t position0 = int64_t(blockIdx.x) * tile;
    const int item0 = blockIdx.y * tile, item = item0 + threadIdx.x;
    bool not_finite = false;
    if (item < n) {
        const placement p = place(g, first + item);
        for (int row = threadIdx.y; row < tile; row += tile_rows)
            values[row][threadIdx.x] = fetch<Real>(g, p, input, position0 + row, not_finite);
    }
    __syncthreads();
    for (int row = threadIdx.y; row < tile && item0 + row < n; row += tile_rows)
        if (position0 + threadIdx.x < g.segment)
            segments[(item0 + row) * g.segment + position0 + threadIdx.x] = values[threadIdx.x][row];
    if (not_finite)
        *flag = 1;
}

static bool is_tiled(const lw_long_geometry &g)
{
    return g.layout == LW_TIME_SLOW && g.n_groups > 1;
}

static dim3 line_grid(int64_t length, int n)
{
    const int64_t per_block = block_threads * line_rows;
    return dim3(static_cast<unsigned>((length + per_block - 1) / per_block), n);
}

static dim3 tile_grid(int64_t length, int n)
{
    return dim3(static_cast<unsigned>((length + tile - 1) / tile), (n + tile - 1) / tile);
}

cudaError_t lw_long_load(const struct lw_long_geometry *geometry, const void *input, int64_t first, int n,
                         void *segments, unsigned *not_finite, cudaStream_t stream)
{
    const lw_long_geometry g = *geometry;
    return with_real(g.precision, [=](auto real) {
        using Real = decltype(real);
        return with_stored(g.input, [=](auto stored) {
            const auto from = static_cast<const decltype(stored) *>(input);
            const auto to = static_cast<Complex<Real> *>(segments);
            if (is_tiled(g))
                load_tiled<Real><<<tile_grid(g.segment, n), tile_block, 0, stream>>>(g, from, first, n, to, not_finite);
            else
                load<Real><<<line_grid(g.segment, n), block_threads, 0, stream>>>(g, from, first, to, not_finite);
            return cudaGetLastError();
        });
    });
}

template <typename Number>
__global__ void multiply(const Number *segments, const Number *spectrum, int64_t segment, Number *products)
{
    for (int row = 0; row < line_rows; row++) {
        const int64_t position = (int64_t(blockIdx.x) * line_rows + row) * block_threads + threadIdx.x;
        if (position >= segment)
            return;
        const int64_t at = blockIdx.y * segment + position;
        products[at] = product(segments[at], spectrum[position]);
    }
}

cudaError_t lw_long_multiply(enum lw_precision precision, const void *segments, const void *spectrum, int64_t segment,
                             int n, void *products, cudaStream_t stream)
{
    return with_real(precision, [=](auto real) {
        using Number = Complex<decltype(real)>;
        multiply<<<line_grid(segment, n), block_threads, 0, stream>>>(
            static_cast<const Number *>(segments), static_cast<const Number *>(spectrum), segment, static_cast<Number *>(products));
        return cudaGetLastError();
    });
}

template <typename Real>
__global__ void store(lw_long_geometry g, const Complex<Real> *products, int64_t first, void *plane)
{
    Losses losses = {};
    const placement p = place(g, first + blockIdx.y);
    const Complex<Real> *const valid = products + blockIdx.y * g.segment + g.segment - g.hop;
    for (int row = 0; row < line_rows; row++) {
        const int64_t o = (int64_t(blockIdx.x) * line_rows + row) * block_threads + threadIdx.x;
        if (o < g.hop)
            put_value(g, p, valid[o], o, plane, losses);
    }
    report_losses(g.narrow, losses);
}

template <typename Real>
__global__ void store_tiled(lw_long_geometry g, const Complex<Real> *products, int64_t first, int n, void *plane)
{
    __shared__ Complex<Real> values[tile][tile + 1];
    const int64_t o0 = int64_t(blockIdx.x) * tile;
    const int item0 = blockIdx.y * tile, item = item0 + threadIdx.x;
    for (int row = threadIdx.y; row < tile && item0 + row < n; row += tile_rows)
        if (o0 + threadIdx.x < g.hop)
            values[threadIdx.x][row] = products[(item0 + row) * g.segment + g.segment - g.hop + o0 + threadIdx.x];
    __syncthreads();
    if (item >= n)
        return;
    Losses losses = {};
    const placement p = place(g, first + item);
    for (int row = threadIdx.y; row < tile && o0 + row < g.hop; row += tile_rows)
        put_value(g, p, values[row][threadIdx.x], o0 + row, plane, losses);
    report_losses(g.narrow, losses);
}

cudaError_t lw_long_store(const struct lw_long_geometry *geometry, const void *products, int64_t first, int n,
                          void *plane, cudaStream_t stream)
{
    const lw_long_geometry g = *geometry;
    return with_real(g.precision, [=](auto real) {
        const auto from = static_cast<const Complex<decltype(real)> *>(products);
        if (is_tiled(g))
            store_tiled<decltype(real)><<<tile_grid(g.hop, n), tile_block, 0, stream>>>(g, from, first, n, plane);
        else
            store<decltype(real)><<<line_grid(g.hop, n), block_threads, 0, stream>>>(g, from, first, plane);
        return cudaGetLastError();
    });
}

template <typename Real>
__global__ void scale(const double2 *bins, int64_t segment, Complex<Real> *spectra)
{
    const int64_t item = blockIdx.y * segment;
    for (int row = 0; row < line_rows; row++) {
        const int64_t i = (int64_t(blockIdx.x) * line_rows + row) * block_threads + threadIdx.x;
        if (i < segment)
            spectra[item + i] = {Real(bins[item + i].x / segment), Real(bins[item + i].y / segment)};
    }
}

cudaError_t lw_long_scale(enum lw_precision precision, const void *bins, int64_t segment, int n, void *spectra,
                          cudaStream_t stream)
{
    return with_real(precision, [=](auto real) {
        using Real = decltype(real);
        scale<Real><<<line_grid(segment, n), block_threads, 0, stream>>>(static_cast<const double2 *>(bins), segment,
                                                                         static_cast<Complex<Real> *>(spectra));
        return cudaGetLastError();
    });
}
