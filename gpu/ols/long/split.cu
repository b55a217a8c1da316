/* split.cu - the method of three kernels. A transform of N = rows x columns points takes two steps. The second step also multiplies
 * by the filters and starts the way back, so that data passes through global memory three times instead of six.
 *
 *     n = columns n1 + n2, k = k1 + rows k2
 *     gather   samples -> transforms of the columns (over n1) -> twiddles -> spectra[k1][n2]
 *     filter   transforms of the rows (over n2) -> times H[f] -> rows back -> twiddles -> products[f][k1][n2]
 *     scatter  columns back (over k1) -> valid outputs
 *
 * Work space: spectra [item][rows][columns], products [filter][item][rows][columns], complex; steps.h defines the items.
 *
 * Columns: a block takes WIDTH adjacent columns of one item (a tile), with a team of threads for each column. The tile goes through
 * shared memory, so that each access to global memory is WIDTH contiguous values; a pitch of WIDTH + 1 values avoids bank conflicts
 * along columns. The teams' exchanges use the same memory, between barriers. Two blocks an SM hide each other's loads.
 *
 * Rows: a block is one team and takes one row as in time_fast.cuh: accesses are coalesced, and the row's spectrum stays in
 * registers during the loop over filters. Twelve warps an SM (double: eight) hide the loads.
 *
 * On the way back re and im are swapped from the product to the last step, see gpu/device/fft.cuh. */
#include "gpu/host/error.h"
#include "gpu/ols/kernels/time_fast.cuh"
#include "gpu/ols/long/access.cuh"
#include "gpu/ols/long/method.h"

template <class Real, int E, int P, int WIDTH_> struct Columns : Transform<Real, E, P, Team<E * P, WIDTH_>> {
    using Base = Transform<Real, E, P, Team<E * P, WIDTH_>>;
    static constexpr int WIDTH = WIDTH_, PITCH_OF_TILE = WIDTH + 1, THREADS = Base::T * WIDTH;
    static constexpr int TILE_BYTES = Base::N * PITCH_OF_TILE * (int)sizeof(Complex<Real>);
    static constexpr int EXCHANGE_BYTES = WIDTH * Base::SHARED_BYTES;
    static constexpr int BLOCK_BYTES = TILE_BYTES > EXCHANGE_BYTES ? TILE_BYTES : EXCHANGE_BYTES;
};

template <class Real, int E, int P> struct Rows : Transform<Real, E, P, Team<E * P, 1>> {};

/* The two transforms that N is split into: of columns, ROWS points each, and of rows, COLUMNS points each. */
template <class ColumnT_, class RowT_> struct Split {
    using ColumnT = ColumnT_;
    using RowT = RowT_;
    using C = typename RowT::C;
    using Real = decltype(C::x);
    static constexpr int ROWS = ColumnT::N, COLUMNS = RowT::N;
    static constexpr int64_t N = int64_t(ROWS) * COLUMNS;
    static constexpr int COLUMN_TABLE = powers_of(ColumnT::E, ColumnT::P), ROW_TABLE = powers_of(RowT::E, RowT::P);
};

using Single18 = Split<Columns<float, 16, 1, 16>, Rows<float, 32, 1>>;
using Single20 = Split<Columns<float, 32, 1, 8>, Rows<float, 32, 1>>;
using Single22 = Split<Columns<float, 32, 1, 8>, Rows<float, 32, 4>>;
using Double18 = Split<Columns<double, 16, 1, 8>, Rows<double, 16, 4>>;
using Double20 = Split<Columns<double, 16, 2, 8>, Rows<double, 16, 8>>;
using Double22 = Split<Columns<double, 16, 4, 4>, Rows<double, 16, 16>>;

/* v[m] *= w u^(m - first), first <= m < first + 2^LEVELS; power[l] = u^(2^l). Halving the range keeps few powers in registers. */
template <int LEVELS, class C, int E> LW_DEVICE void twist(C (&v)[E], int first, C w, const C *power)
{
    if constexpr (LEVELS == 0) {
        v[first] = product(v[first], w);
    } else {
        twist<LEVELS - 1>(v, first, w, power);
        twist<LEVELS - 1>(v, first + (1 << (LEVELS - 1)), product(w, power[LEVELS - 1]), power);
    }
}

/* Return exp(pi i x). */
LW_DEVICE float2 half_turns(float x)
{
    float2 w;
    sincospif(x, &w.y, &w.x);
    return w;
}

LW_DEVICE double2 half_turns(double x)
{
    double2 w;
    sincospi(x, &w.y, &w.x);
    return w;
}

/* Return exp(-2 pi i k / N), k >= 0, N <= 2^24 a power of two: the quotient is exact. */
template <int64_t N, class Real> LW_DEVICE Complex<Real> twiddle(int64_t k)
{
    return half_turns(Real(k & (N - 1)) * (Real(-2) / N));
}

/* Multiply by twiddles: v[m] *= exp(-2 pi i a (b + T m) / N). */
template <int64_t N, int T, class C, int E> LW_DEVICE void twiddle_all(C (&v)[E], int64_t a, int64_t b)
{
    using Real = decltype(C::x);
    C power[log2_of(E)];
#pragma unroll
    for (int l = 0; l < log2_of(E); ++l)
        power[l] = twiddle<N, Real>(a * T << l);
    twist<log2_of(E)>(v, 0, twiddle<N, Real>(a * b), power);
}

template <class F> LW_DEVICE int team_of() { return threadIdx.x / F::T; }
template <class F> LW_DEVICE typename F::C *exchange_of(typename F::C *tile)
{
    return tile + team_of<F>() * (F::SHARED_BYTES / int(sizeof *tile));
}

/* Access to the tile from global memory: thread i moves column i % WIDTH of rows i / WIDTH + T m, all loads in flight at a time. */
template <class F> LW_DEVICE int column_of() { return threadIdx.x % F::WIDTH; }
template <class F> LW_DEVICE int row_of() { return threadIdx.x / F::WIDTH; }
template <class F> LW_DEVICE typename F::C *tile_at(typename F::C *tile)
{
    return tile + row_of<F>() * F::PITCH_OF_TILE + column_of<F>();
}

template <class F> LW_DEVICE void to_tile(typename F::C *tile, const typename F::C (&v)[F::E])
{
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        tile_at<F>(tile)[F::T * m * F::PITCH_OF_TILE] = v[m];
}

template <class F> LW_DEVICE void from_tile(typename F::C (&v)[F::E], typename F::C *tile)
{
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        v[m] = tile_at<F>(tile)[F::T * m * F::PITCH_OF_TILE];
}

/* Distance, in points of an item, from a thread's first row to its row m. */
template <class S> struct RowStep {
    LW_DEVICE constexpr int operator()(int m) const { return S::ColumnT::T * S::COLUMNS * m; }
};

template <class S> LW_DEVICE void load_tile(typename S::C (&v)[S::ColumnT::E], const typename S::C *from)
{
#pragma unroll
    for (int m = 0; m < S::ColumnT::E; ++m)
        v[m] = from[RowStep<S>{}(m)];
}

template <class S, bool SWAPPED> LW_DEVICE void store_tile(const typename S::C (&v)[S::ColumnT::E], typename S::C *to)
{
#pragma unroll
    for (int m = 0; m < S::ColumnT::E; ++m)
        to[RowStep<S>{}(m)] = SWAPPED ? typename S::C{v[m].y, v[m].x} : v[m];
}

/* gather: transform a tile of columns, natural order in and out, and multiply by twiddles. input NULL: `spectra` has segments. */
template <class S>
__global__ void __launch_bounds__(S::ColumnT::THREADS, 2)
split_gather(lw_long_geometry g, const typename S::C *table, const void *input, int64_t first, typename S::C *spectra,
             unsigned *flag)
{
    using F = typename S::ColumnT;
    using C = typename S::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const tile = reinterpret_cast<C *>(memory);
    const int tile_begin = blockIdx.x * F::WIDTH, t = threadIdx.x % F::T;
    const int begin = row_of<F>() * S::COLUMNS + tile_begin + column_of<F>();
    C *const item = spectra + blockIdx.y * S::N + begin;
    C v[F::E];
    if (!input)
        load_tile<S>(v, item);
    else if (load_item(v, g, input, item_place(g, first + blockIdx.y), begin, RowStep<S>{}))
        *flag = 1;
    to_tile<F>(tile, v);
    F fft;
    fft.load(table, t);
    __syncthreads();
    C *const column = tile + team_of<F>();
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

/* filter: transform one row of one item; for each filter multiply, transform back and multiply by twiddles. */
template <class S, int BLOCKS>
__global__ void __launch_bounds__(S::RowT::T, BLOCKS)
split_filter(const typename S::C *table, const typename S::C *bank, const typename S::C *spectra, int n_filters,
            typename S::C *products)
{
    using F = typename S::RowT;
    using C = typename S::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const exchange = reinterpret_cast<C *>(memory);
    const int t = threadIdx.x, row = blockIdx.x;
    const int64_t at = blockIdx.y * S::N + int64_t(row) * S::COLUMNS;
    F fft;
    fft.load(table, t);
    C x[F::E], v[F::E];
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

/* scatter: transform a tile of columns of one filter's products back, to outputs in `plane`; NULL: in place. NARROW: the outputs
 * are of a narrow type. */
template <class S, bool NARROW>
__global__ void __launch_bounds__(S::ColumnT::THREADS, 2)
split_scatter(lw_long_geometry g, const typename S::C *table, int64_t first, typename S::C *products, void *plane)
{
    using F = typename S::ColumnT;
    using C = typename S::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const tile = reinterpret_cast<C *>(memory);
    const int tile_begin = blockIdx.x * F::WIDTH, t = threadIdx.x % F::T;
    const int begin = row_of<F>() * S::COLUMNS + tile_begin + column_of<F>();
    C *const item = products + blockIdx.y * S::N + begin;
    C v[F::E];
    load_tile<S>(v, item);
    to_tile<F>(tile, v);
    F fft;
    fft.load(table, t);
    __syncthreads();
    C *const column = tile + team_of<F>();
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
    else
        store_outputs<NARROW>(v, g, plane, 0, item_place(g, first + blockIdx.y), begin, RowStep<S>{});
}

/* Write spectra[filter][row][i] in the order that multiply() of time_fast.cuh reads, divided by N; one thread per value. */
template <class S> __global__ void split_order(const double2 *bins, typename S::C *spectra)
{
    using F = typename S::RowT;
    using Real = typename S::Real;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    const int64_t filter = blockIdx.z * S::N;
    const double2 h = bins[filter + row + int64_t(S::ROWS) * bin_of<F>(i)];
    spectra[filter + int64_t(row) * S::COLUMNS + i] = {Real(h.x / S::N), Real(h.y / S::N)};
}

/* ---- the method ---------------------------------------------------------------------------------------------------- */

template <class With> static cudaError_t with_split(enum lw_precision precision, int64_t segment, With with)
{
    const bool single = precision == LW_SINGLE;
    switch (segment) {
    case Single18::N: return single ? with(Single18{}) : with(Double18{});
    case Single20::N: return single ? with(Single20{}) : with(Double20{});
    case Single22::N: return single ? with(Single22{}) : with(Double22{});
    default: return cudaErrorInvalidValue;
    }
}

static bool exists(const struct lw_cuda_arch *, enum lw_precision precision, int64_t segment)
{
    return with_split(precision, segment, [](auto) { return cudaSuccess; }) == cudaSuccess;
}

static double point_seconds(enum lw_precision precision, int64_t segment)
{
    if (precision == LW_DOUBLE)
        return segment <= 262144 ? 18.7e-12 : segment <= 1048576 ? 22.8e-12 : 25.5e-12;
    return segment <= 262144 ? 11.4e-12 : segment <= 1048576 ? 13.8e-12 : 12.4e-12;
}

static int64_t memory_bytes(const struct lw_long_ols_plan *plan)
{
    int64_t bytes = 0;
    with_split(plan->spec.precision, plan->segment, [&](auto split) {
        using S = decltype(split);
        bytes = int64_t(sizeof(typename S::C)) * (S::COLUMN_TABLE + S::ROW_TABLE);
        return cudaSuccess;
    });
    return bytes;
}

/* Return the blocks that an SM must hold, for twelve warps (double: eight) as in the overlap-save kernels of these lengths. */
template <class S> static constexpr int row_blocks()
{
    return (sizeof(typename S::Real) == sizeof(float) ? 12 : 8) * 32 / S::RowT::T;
}

/* The kernel that stores outputs of a narrow type; double precision has none. */
template <class S> static constexpr auto *narrow_scatter = split_scatter<S, sizeof(typename S::Real) == 4>;

template <class Kernel> static cudaError_t allow_shared(Kernel kernel, int bytes)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

static int prepare(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    const cudaError_t status = with_split(ols->plan.spec.precision, ols->plan.segment, [=](auto split) {
        using S = decltype(split);
        cudaError_t failed;
        if ((failed = allow_shared(split_gather<S>, S::ColumnT::BLOCK_BYTES)) ||
            (failed = allow_shared(split_scatter<S, false>, S::ColumnT::BLOCK_BYTES)) ||
            (failed = allow_shared(narrow_scatter<S>, S::ColumnT::BLOCK_BYTES)) ||
            (failed = allow_shared(split_filter<S, row_blocks<S>()>, S::RowT::SHARED_BYTES)))
            return failed;
        typename S::C *const table = static_cast<typename S::C *>(ols->method_memory);
        fill_powers(table, S::ColumnT::E, S::ColumnT::P, stream);
        fill_powers(table + S::COLUMN_TABLE, S::RowT::E, S::RowT::P, stream);
        return cudaGetLastError();
    });
    return lw_cuda_check(status, "preparing long segments", err);
}

static cudaError_t order(const struct lw_long_ols_plan *plan, const void *bins, int n, void *spectra, cudaStream_t stream)
{
    return with_split(plan->spec.precision, plan->segment, [=](auto split) {
        using S = decltype(split);
        split_order<S><<<dim3(S::COLUMNS / 256, S::ROWS, n), 256, 0, stream>>>(static_cast<const double2 *>(bins),
                                                                               static_cast<typename S::C *>(spectra));
        return cudaGetLastError();
    });
}

/* Return whether data is [axis][channel]: kernels of steps.h then cut segments and store outputs, and transforms are in place. */
static bool is_transposed(const struct lw_long_geometry *geometry)
{
    return geometry->layout == LW_TIME_SLOW && geometry->n_channels > 1;
}

static int gather(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err)
{
    const bool transposed = is_transposed(b->geometry);
    const int rc = transposed ? lw_long_cut(ols, b, b->n, err) : LW_OK;
    if (rc)
        return rc;
    const cudaError_t status = with_split(b->geometry->precision, b->geometry->segment, [=](auto split) {
        using S = decltype(split);
        using F = typename S::ColumnT;
        using C = typename S::C;
        split_gather<S><<<dim3(S::COLUMNS / F::WIDTH, b->n), F::THREADS, F::BLOCK_BYTES, b->stream>>>(
            *b->geometry, static_cast<const C *>(ols->method_memory), transposed ? nullptr : b->block->input, b->first,
            static_cast<C *>(ols->segments), b->block->not_finite);
        return cudaGetLastError();
    });
    return lw_cuda_check(status, "transforming a batch of segments", err);
}

static int filter(struct lw_long_ols *ols, const struct lw_long_batch *b, int first_filter, int n_filters, struct lw_error *err)
{
    const cudaError_t status = with_split(b->geometry->precision, ols->plan.segment, [=](auto split) {
        using S = decltype(split);
        using F = typename S::RowT;
        using C = typename S::C;
        split_filter<S, row_blocks<S>()><<<dim3(S::ROWS, b->n), F::T, F::SHARED_BYTES, b->stream>>>(
            static_cast<const C *>(ols->method_memory) + S::COLUMN_TABLE, (const C *)lw_long_spectrum(ols, first_filter),
            static_cast<const C *>(ols->segments), n_filters, (C *)ols->products);
        return cudaGetLastError();
    });
    return lw_cuda_check(status, "filtering a batch of segments", err);
}

static int scatter(struct lw_long_ols *ols, const struct lw_long_batch *b, void *products, int filter, struct lw_error *err)
{
    const bool in_place = is_transposed(b->geometry) || b->block->post;
    void *const plane = in_place ? nullptr : lw_long_plane(b, filter);
    const cudaError_t status = with_split(b->geometry->precision, b->geometry->segment, [=](auto split) {
        using S = decltype(split);
        using F = typename S::ColumnT;
        using C = typename S::C;
        const auto kernel = b->geometry->narrow.bytes > 0 && !in_place ? narrow_scatter<S> : split_scatter<S, false>;
        kernel<<<dim3(S::COLUMNS / F::WIDTH, b->n), F::THREADS, F::BLOCK_BYTES, b->stream>>>(
            *b->geometry, static_cast<const C *>(ols->method_memory), b->first, static_cast<C *>(products), plane);
        return cudaGetLastError();
    });
    const int rc = lw_cuda_check(status, "storing a batch of segments", err);
    return rc || !in_place ? rc : lw_long_scatter(ols, b, products, filter, err);
}

const struct lw_long_method lw_long_split = {
    .name = "split",
    .text = "in three passes",
    .most_group = 2,
    .gather_seconds = 5e-12,
    .exists = exists,
    .point_seconds = point_seconds,
    .memory_bytes = memory_bytes,
    .prepare = prepare,
    .order = order,
    .gather = gather,
    .filter = filter,
    .scatter = scatter,
};
