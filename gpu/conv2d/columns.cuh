/* columns.cuh - the column pass of large tiles. A block takes WIDTH neighbouring columns of one transform and reads WIDTH values
 * side by side (32 or 64 bytes, whole sectors). It transforms the columns, multiplies by the kernel's spectrum, transforms back
 * and writes the rows of outputs. It writes to another array, as windows share the rows that it reads.
 *
 * T = E P threads hold a column as gpu/device/fft.cuh describes. Thread i of the block holds column i % WIDTH, so that neighbours
 * access neighbouring columns, and the exchanges use the block's barrier. Shared memory: value j of column c is at j WIDTH + c; a
 * row of E values has a pitch of E + 1. With 8-byte values and WIDTH up to half a warp this is free of bank conflicts. The
 * spectrum arrives in shared memory by asynchronous copies while the points are transformed. */
#pragma once

#include "gpu/conv2d/bands.cuh"

template <class Real, int E, int P, int WIDTH_> struct ColumnPass : Transform<Real, E, P, Team<E * P, 1>> {
    using Base = Transform<Real, E, P, Team<E * P, 1>>;
    using C = typename Base::C;
    static constexpr int T = Base::T, N = Base::N;
    static constexpr int WIDTH = WIDTH_, THREADS = T * WIDTH, WARPS = THREADS / 32;
    static constexpr int ROW = (E + 1) * WIDTH, GROUP = E * ROW;        /* region of a group r = t / E */
    static constexpr int EXCHANGE_BYTES = P * GROUP * (int)sizeof(C);
    static constexpr int PER_LOAD = 16 / (int)sizeof(C);                /* values per load of the spectrum */
    static constexpr int FACTOR_BYTES = N * (int)sizeof(Real);
    static constexpr int SHARED_BYTES_OF_BLOCK = EXCHANGE_BYTES + FACTOR_BYTES + WARPS * (int)sizeof(int);

    const C *table;

    /* Load the powers again at each use: kept in registers, they would displace points. */
    LW_DEVICE void begin(const C *table_, int t)
    {
        table = table_;
        opaque(table);
        this->load(table, t);
    }

    /* Offset of this thread's point 0 in the radix-P exchange, before and after it. Hidden from the optimizer: it would else
     * compute each point's place by several instructions, and keep it for the way back. */
    LW_DEVICE static int split_place(int t)
    {
        int place = t * WIDTH;
        opaque(place);
        return place;
    }

    LW_DEVICE static int group_place(int t)
    {
        int place = (t / E * E * E + t % E) * WIDTH;
        opaque(place);
        return place;
    }

    LW_DEVICE static constexpr int split_step(int m) { return (m % P * E * E + T * (m / P)) * WIDTH; }
    LW_DEVICE static constexpr int group_step(int m) { return E * m * WIDTH; }

    /* Transform the E x E points of group r as its thread `lane`. `then` is called after this thread's last shared-memory read. */
    template <class Then> LW_DEVICE void square_in(C (&v)[E], C *group, int lane, Then then) const
    {
        dft<E, false>(v, (const C *)nullptr);
#pragma unroll
        for (int j = 0; j < E; ++j)
            group[lane * ROW + j * WIDTH] = v[j];
        __syncthreads();
#pragma unroll
        for (int m = 0; m < E; ++m)
            v[m] = group[m * ROW + lane * WIDTH];
        then();
        dft<E, true>(v, this->inner.p);
    }

    /* Forward transform; `then` is called when no thread needs the shared memory any longer. */
    template <class Then> LW_DEVICE void forward(C (&v)[E], C *shared, int t, Then then)
    {
        if constexpr (P > 1) {
            this->split(v);
            const int own = split_place(t), group = group_place(t);
#pragma unroll
            for (int m = 0; m < E; ++m)
                shared[own + split_step(m)] = v[m];
            __syncthreads();
#pragma unroll
            for (int m = 0; m < E; ++m)
                v[m] = shared[group + group_step(m)];
            __syncthreads();
            begin(table, t);
        }
        square_in(v, shared + t / E * GROUP, t % E, [&] {
            __syncthreads();
            then();
        });
    }

    LW_DEVICE void backward(C (&v)[E], C *shared, int t)
    {
        if constexpr (P > 1)
            begin(table, t);
        __syncthreads();            /* all threads have read the previous contents */
        square_in(v, shared + t / E * GROUP, t % E, [] {});
        if constexpr (P > 1) {
            begin(table, t);
            __syncthreads();
            const int own = split_place(t), group = group_place(t);
#pragma unroll
            for (int m = 0; m < E; ++m)
                shared[group + group_step(m)] = v[m];
            __syncthreads();
#pragma unroll
            for (int m = 0; m < E; ++m)
                v[m] = shared[own + split_step(m)];
            this->join(v);
        }
    }
};

/* Set factors[y] = 2^(exponent of row y - the largest), and return the largest. It is a barrier, too. */
template <class F> LW_DEVICE int even_out(const int *exponents, int n_rows, typename F::Real *factors, int *reduce)
{
    using Real = typename F::Real;
    constexpr int OWN = F::N / F::THREADS;
    int own[OWN], e = -exponent_bias<Real>;
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
        const int y = threadIdx.x + i * F::THREADS;
        own[i] = y < n_rows ? exponents[y] : -exponent_bias<Real>;
        e = max(e, own[i]);
    }
    e = largest_of_warp(e);
    if (threadIdx.x % 32 == 0)
        reduce[threadIdx.x / 32] = e;
    __syncthreads();
    for (int warp = 0; warp < F::WARPS; ++warp)
        e = max(e, reduce[warp]);
#pragma unroll
    for (int i = 0; i < OWN; ++i)
        factors[threadIdx.x + i * F::THREADS] = power_of_two<Real>(max(own[i] - e, 1 - exponent_bias<Real>));
    __syncthreads();
    return e;
}

/* Load the rows t + T m of a column; rows from n_rows on are zero. */
template <class F>
LW_DEVICE void load_column(typename F::C (&v)[F::E], const typename F::C *at, int64_t pitch, int n_rows)
{
#pragma unroll
    for (int m = 0; m < F::E; ++m, at += F::T * pitch) {
        opaque(at);                 /* else the compiler derives each address from the first one by several instructions */
        v[m] = {0, 0};
        if (F::T * m < n_rows)
            v[m] = __ldcs(at);
    }
}

/* Start to copy the spectrum to shared memory during a transform. A thread copies the 16-byte words that it reads later. */
template <class F> LW_DEVICE void fetch_spectrum(const typename F::C *spectrum, unsigned char *memory)
{
    const float4 *const from = (const float4 *)spectrum + threadIdx.x;
    float4 *const to = (float4 *)memory + threadIdx.x;
#pragma unroll
    for (int i = 0; i < F::E / F::PER_LOAD; ++i)
        copy_async(to + i * F::THREADS, from + i * F::THREADS);
}

/* Block (x, y) takes transform x and the columns from WIDTH y on: blocks that run together share the spectrum in L2. */
template <class F, int BLOCKS> __global__ void __launch_bounds__(F::THREADS, BLOCKS) conv2d_columns(const BandArgs a)
{
    using Real = typename F::Real;
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const shared = (C *)memory + threadIdx.x % F::WIDTH;
    Real *const factors = (Real *)(memory + F::EXCHANGE_BYTES);
    const int t = threadIdx.x / F::WIDTH;
    const BandSpot at = band_spot(a, blockIdx.x);
    const int n_rows = needed_rows(a, at.spot);
    wait_for_predecessor();
    const int64_t pitch = a.grid.columns, column = (int64_t)blockIdx.y * F::WIDTH + threadIdx.x % F::WIDTH;
    C v[F::E];
    load_column<F>(v, (const C *)a.lines + (at.line + t) * pitch + column, pitch, n_rows - t);
    __syncwarp();                   /* else the compiler waits for the exponents before it issues the loads of the points */
    const int e = even_out<F>(a.row_exponents + at.line, n_rows, factors, (int *)(memory + F::EXCHANGE_BYTES + F::FACTOR_BYTES));
    if (blockIdx.y == 0 && threadIdx.x == 0)
        a.exponents[blockIdx.x] = e;
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        v[m] = {v[m].x * factors[t + F::T * m], v[m].y * factors[t + F::T * m]};
    F fft;
    fft.begin((const C *)a.column_table, t);
    fft.forward(v, shared, t, [&] {
        fetch_spectrum<F>((const C *)a.spectrum + (int64_t)blockIdx.y * F::N * F::WIDTH, memory);
    });
    wait_for_copies();
    const auto *const k = (const SixteenBytes<C> *)memory + threadIdx.x;
    multiply_points<true>(v, [&](int i) { return k[i * F::THREADS]; });
    fft.backward(v, shared, t);
    const int first = t - ((int)a.block.kernel_rows - 1);
    const unsigned n_outputs = (unsigned)(n_rows - t + first);
    C *to = (C *)a.points + ((int64_t)blockIdx.x * a.grid.hop_rows + first) * pitch + column;
#pragma unroll
    for (int m = 0; m < F::E; ++m, to += F::T * pitch) {
        opaque(to);
        if ((unsigned)(first + F::T * m) < n_outputs)
            __stcg(to, v[m]);
    }
}

template <class F, int BLOCKS> constexpr BandKernel columns_kernel()
{
    return {F::N, F::E, F::P, F::WIDTH, F::THREADS, F::SHARED_BYTES_OF_BLOCK, nullptr, conv2d_columns<F, BLOCKS>};
}
