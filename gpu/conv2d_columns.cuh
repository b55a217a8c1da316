/* conv2d_columns.cuh - the column pass of large tiles: a block takes WIDTH neighbouring columns of one transform, reads
 * them WIDTH values side by side (32 or 64 bytes, whole sectors), transforms, multiplies, transforms back and writes
 * them in place.
 *
 * T = E P threads hold a column as fft.cuh describes; here thread i of the block holds column i % WIDTH, so that
 * neighbours work on neighbouring columns, and the exchanges pass the block's barrier. Shared memory: value j of column
 * c stands at j WIDTH + c, rows of E values with a pitch of E + 1: free of bank conflicts for WIDTH values of 8 bytes
 * and up to half a warp. */
#ifndef LW_CONV2D_COLUMNS_CUH
#define LW_CONV2D_COLUMNS_CUH

#include "conv2d_bands.cuh"

template <class Real, int E, int P, int WIDTH_> struct ColumnPass : Transform<Real, E, P, Team<E * P, 1>> {
    using Base = Transform<Real, E, P, Team<E * P, 1>>;
    using C = typename Base::C;
    static constexpr int T = Base::T, Q = Base::Q, N = Base::N;
    static constexpr int WIDTH = WIDTH_, THREADS = T * WIDTH, WARPS = THREADS / 32;
    static constexpr int ROW = (E + 1) * WIDTH, GROUP = E * ROW;        /* of a group r = t / E */
    static constexpr int EXCHANGE_BYTES = P * GROUP * (int)sizeof(C);
    static constexpr int FACTOR_BYTES = N * (int)sizeof(Real);
    static constexpr int SHARED_BYTES_OF_BLOCK = EXCHANGE_BYTES + FACTOR_BYTES + WARPS * (int)sizeof(int);

    const C *table;

    /* Powers are loaded where they are used: kept, they take registers that the points need. */
    LW_DEVICE void begin(const C *table_, int t)
    {
        table = table_;
        opaque(table);
        this->load(table, t);
    }

    /* Radix-P part's exchange, there and back. */
    LW_DEVICE static C &natural(C *shared, int i) { return shared[i * WIDTH]; }

    /* E x E points of group r, of which this thread holds number `lane`. */
    LW_DEVICE void square_in(C (&v)[E], C *group, int lane) const
    {
        dft<E, false>(v, (const C *)nullptr);
#pragma unroll
        for (int j = 0; j < E; ++j)
            group[lane * ROW + j * WIDTH] = v[j];
        __syncthreads();
#pragma unroll
        for (int m = 0; m < E; ++m)
            v[m] = group[m * ROW + lane * WIDTH];
        dft<E, true>(v, this->inner.p);
    }

    LW_DEVICE void forward(C (&v)[E], C *shared, int t)
    {
        if constexpr (P > 1) {
            this->split(v);
#pragma unroll
            for (int m = 0; m < E; ++m)
                natural(shared, m / Q * E * E + t + T * (m % Q)) = v[m];
            __syncthreads();
#pragma unroll
            for (int m = 0; m < E; ++m)
                v[m] = natural(shared, t / E * E * E + t % E + E * m);
            __syncthreads();
            begin(table, t);
        }
        square_in(v, shared + t / E * GROUP, t % E);
    }

    LW_DEVICE void backward(C (&v)[E], C *shared, int t)
    {
        if constexpr (P > 1)
            begin(table, t);
        __syncthreads();            /* everyone has read what was there */
        square_in(v, shared + t / E * GROUP, t % E);
        if constexpr (P > 1) {
            begin(table, t);
            __syncthreads();
#pragma unroll
            for (int m = 0; m < E; ++m)
                natural(shared, t / E * E * E + t % E + E * m) = v[m];
            __syncthreads();
#pragma unroll
            for (int m = 0; m < E; ++m)
                v[m] = natural(shared, m / Q * E * E + t + T * (m % Q));
            this->join(v);
        }
    }
};

/* Sets factors[y] = 2^(exponent of row y - the largest), and returns the largest. A barrier. */
template <class F> LW_DEVICE int even_out(const int *exponents, int n_rows, typename F::Real *factors, int *reduce)
{
    using Real = typename F::Real;
    int e = -exponent_bias<Real>;
    for (int y = threadIdx.x; y < n_rows; y += F::THREADS)
        e = max(e, exponents[y]);
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        e = max(e, __shfl_xor_sync(0xffffffffu, e, other));
    if (threadIdx.x % 32 == 0)
        reduce[threadIdx.x / 32] = e;
    __syncthreads();
    for (int warp = 0; warp < F::WARPS; ++warp)
        e = max(e, reduce[warp]);
    for (int y = threadIdx.x; y < n_rows; y += F::THREADS)
        factors[y] = power_of_two<Real>(max(exponents[y] - e, 1 - exponent_bias<Real>));
    __syncthreads();
    return e;
}

/* The rows t + T m of a column; those from n_rows on are zero. */
template <class F, bool WHOLE>
LW_DEVICE void load_column(typename F::C (&v)[F::E], const typename F::C *at, int64_t pitch,
                           const typename F::Real *factors,
                           int n_rows)
{
#pragma unroll
    for (int m = 0; m < F::E; ++m, at += F::T * pitch) {
        v[m] = {0, 0};
        if (WHOLE || F::T * m < n_rows)
            v[m] = __ldcs(at);
    }
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const auto factor = WHOLE || F::T * m < n_rows ? factors[F::T * m] : 0;
        v[m] = {v[m].x * factor, v[m].y * factor};
    }
}

/* Block (x, y): transform x of the batch, columns WIDTH y on, so that blocks which run together share the spectrum. */
template <class F, int BLOCKS> __global__ void __launch_bounds__(F::THREADS, BLOCKS) conv2d_columns(const BandArgs a)
{
    using Real = typename F::Real;
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const shared = (C *)memory + threadIdx.x % F::WIDTH;
    Real *const factors = (Real *)(memory + F::EXCHANGE_BYTES);
    const int t = threadIdx.x / F::WIDTH, n_rows = pieces_of(a, blockIdx.x).needed_rows;
    if (n_rows == 0)
        return;
    const int e = even_out<F>(a.row_exponents + (int64_t)blockIdx.x * F::N, n_rows, factors,
                              (int *)(memory + F::EXCHANGE_BYTES + F::FACTOR_BYTES));
    if (blockIdx.y == 0 && threadIdx.x == 0)
        a.exponents[blockIdx.x] = e;

    const int64_t pitch = a.grid.columns;
    C *const points = (C *)a.points + (int64_t)blockIdx.x * F::N * pitch + (int64_t)blockIdx.y * F::WIDTH +
                      threadIdx.x % F::WIDTH;
    F fft;
    fft.begin((const C *)a.column_table, t);
    C v[F::E];
    if (n_rows == F::N)
        load_column<F, true>(v, points + t * pitch, pitch, factors + t, n_rows - t);
    else
        load_column<F, false>(v, points + t * pitch, pitch, factors + t, n_rows - t);
    fft.forward(v, shared, t);
    const C *const spectrum = (const C *)a.spectrum + (int64_t)blockIdx.y * F::E * F::THREADS + threadIdx.x;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const C z = product(v[m], __ldg(spectrum + m * F::THREADS));
        v[m] = {z.y, z.x};
    }
    fft.backward(v, shared, t);
    const int lead = (int)a.block.kernel_rows - 1, first = t - lead;
    C *at = points + t * pitch;
#pragma unroll
    for (int m = 0; m < F::E; ++m, at += F::T * pitch)
        if ((unsigned)(first + F::T * m) < (unsigned)(n_rows - lead))
            *at = v[m];
}

template <class F, int BLOCKS> constexpr BandKernel columns_kernel(enum lw_precision precision)
{
    return {precision, F::N, F::E, F::P, F::WIDTH, F::THREADS, F::SHARED_BYTES_OF_BLOCK, nullptr,
            conv2d_columns<F, BLOCKS>};
}

#endif
