/* cluster.cu - the method that spreads a long segment over the shared memory of a cluster of blocks: load, transform, then for each
 * filter multiply, transform back, store. Only samples, filters and outputs are in global memory.
 *
 *     N = WIDTH L points, n = n0 + L n1, k = r + WIDTH k'; a cluster has WIDTH blocks, and each transforms L points
 *     forward    block b loads all n1 of its share of n0, L / WIDTH values of n0: radix WIDTH over n1, twiddles, exchange. Block r
 *                then has all n0 for the bins r (mod WIDTH), and transforms over n0
 *     backward   the mirror image, with re and im swapped as in gpu/device/fft.cuh
 *
 * Thread t of a block holds the n0 = t + T m, m < E, in the transform over n0. Of these, block m / Q loads value m, Q = E / WIDTH:
 * loads and stores are coalesced. In an exchange, thread t of block a sends its values m = b Q + q to thread t of block b, which
 * keeps them as m = a Q + q. They travel as 16-byte stores, contiguous over the warp, to the other block's inbox. One barrier per
 * warp counts the arriving bytes: a warp waits only for the warps of its number. Before the next exchange all blocks must have read
 * their inboxes; the cluster's barrier ensures this. A transform lies between the barrier's two halves, so that waits are short.
 *
 * Shared memory: the transform's regions, the inbox (L values), the warps' barriers: 66 KB for L = 4096 in float (three blocks an
 * SM, which hide each other's exchanges), else 132 KB (one block). */
#include "gpu/device/launch.cuh"
#include "gpu/host/error.h"
#include "gpu/ols/kernels/time_fast.cuh"
#include "gpu/ols/long/access.cuh"
#include "gpu/ols/long/method.h"

#include <cinttypes>

/* Arguments. The kernel loads samples and stores outputs that are contiguous on the axis. For other data, and with --post, kernels
 * of steps.h first cut `segments`, and finally store the outputs from `products`. */
struct ClusterArgs {
    lw_long_geometry geometry;
    const void *table, *bank;           /* twiddle powers; spectra of the filters, [n_filters][N] */
    const void *input;                  /* the block's stored samples; NULL: the kernel loads `segments` */
    const void *segments;               /* [n][N], cut by lw_long_load */
    void *output;                       /* the block's output; NULL: the kernel stores to `products` */
    void *products;                     /* [n_filters][n][N], for lw_long_store or lw_long_post */
    int64_t plane;                      /* numbers from filter to filter in `output` or `products` */
    int64_t first;                      /* number of the first item (steps.h) in the block */
    unsigned *not_finite;
    int n, n_filters;                   /* number of items, and of filters; their product fits an int */
};

/* Sizes and offsets (bytes) if WIDTH blocks, each with a transform F, share a segment, and an SM holds RESIDENT blocks. */
template <class F_, int WIDTH_, int RESIDENT_> struct Cluster {
    using F = F_;
    using C = typename F::C;
    static constexpr int WIDTH = WIDTH_, RESIDENT = RESIDENT_, L = F::N, N = WIDTH * L, Q = F::E / WIDTH;
    static constexpr int EACH = 16 / (int)sizeof(C);            /* values of a 16-byte store */
    static constexpr int INBOX = F::SHARED_BYTES, BARRIERS = INBOX + L * (int)sizeof(C);
    static constexpr int SHARED_BYTES = BARRIERS + 8 * (F::T / 32);
    static constexpr int LEVELS = log2_of(WIDTH);
    static constexpr int LOCAL_TABLE = powers_of(F::E, F::P);  /* values before those of the radix-WIDTH stage */
    static constexpr int TABLE = LOCAL_TABLE + LEVELS * L;
    static_assert(Q >= EACH && Q % EACH == 0, "whole stores");
};

#ifdef LW_HAS_CLUSTERS

/* The exchange between the blocks of a cluster, as one thread sees it. */
template <class S> struct Exchange {
    using C = typename S::C;
    unsigned char *memory;
    int rank, t, parity;

    LW_DEVICE void *barrier() const { return memory + S::BARRIERS + t / 32 * 8; }

    LW_DEVICE void begin()
    {
        parity = 0;
        if (t % 32 == 0)
            begin_arrivals(barrier());
        __syncwarp();
        cluster_barrier();
        cluster_arrive();
    }

    LW_DEVICE void end()
    {
        __syncwarp();
        cluster_wait();
    }

    LW_DEVICE static float4 packed(const float2 *v) { return make_float4(v[0].x, v[0].y, v[1].x, v[1].y); }
    LW_DEVICE static double2 packed(const double2 *v) { return v[0]; }
    LW_DEVICE static unsigned word_of(float2 v) { return (unsigned)__float_as_int(v.x); }
    LW_DEVICE static unsigned word_of(double2 v) { return (unsigned)__double_as_longlong(v.x); }
    LW_DEVICE static void unpack(float4 p, float2 *v) { v[0] = {p.x, p.y}; v[1] = {p.z, p.w}; }
    LW_DEVICE static void unpack(double2 p, double2 *v) { v[0] = p; }

    /* Send v[b Q + q] to block b, where it becomes v[rank Q + q]. */
    LW_DEVICE void send_all(const C (&v)[S::F::E])
    {
        constexpr int EACH_BLOCK = S::Q / S::EACH;
        const int from = S::INBOX + (rank * EACH_BLOCK * S::F::T + t) * 16, counter = S::BARRIERS + t / 32 * 8;
        __syncwarp();
        cluster_wait();
#pragma unroll
        for (int b = 0; b < S::WIDTH; ++b) {
            const PeerMemory peer = peer_memory(memory, b);
#pragma unroll
            for (int i = 0; i < EACH_BLOCK; ++i)
                send(peer, from + i * S::F::T * 16, counter, packed(v + (b * EACH_BLOCK + i) * S::EACH));
        }
        if (t % 32 == 0)
            expect_arrivals(barrier(), 32 * S::F::E * (int)sizeof(C));
    }

    LW_DEVICE void receive(C (&v)[S::F::E])
    {
        wait_for_arrivals(barrier(), parity);
        parity ^= 1;
        using Packed = decltype(packed(v));
        const Packed *const inbox = (const Packed *)(memory + S::INBOX) + t;
#pragma unroll
        for (int i = 0; i < S::F::E / S::EACH; ++i)
            unpack(inbox[i * S::F::T], v + i * S::EACH);
        unsigned mix = 0;
#pragma unroll
        for (int i = 0; i < S::F::E; i += S::EACH)
            mix ^= word_of(v[i]);
        need(mix);
        __syncwarp();
        cluster_arrive();
    }
};

/* The powers w, w^2, w^4 .. of w = exp(-2 pi i n0 / N) for each n0 that this thread loads. */
template <class S> struct WidePowers {
    Powers<typename S::C, S::WIDTH> of[S::Q];

    LW_DEVICE void load(const typename S::C *table)
    {
#pragma unroll
        for (int q = 0; q < S::Q; ++q)
            of[q].load(table, S::F::T * q, S::L);
    }
};

/* Radix-WIDTH butterflies over v[q + Q j], then the twiddles w^r. */
template <class S> LW_DEVICE void split_wide(typename S::C (&v)[S::F::E], const WidePowers<S> &w)
{
    using C = typename S::C;
#pragma unroll
    for (int q = 0; q < S::Q; ++q) {
        C b[S::WIDTH], u[S::WIDTH];
#pragma unroll
        for (int j = 0; j < S::WIDTH; ++j)
            b[j] = v[q + j * S::Q];
        dft<S::WIDTH, false>(b, (const C *)nullptr);
        v[q] = b[0];
#pragma unroll
        for (int r = 1; r < S::WIDTH; ++r) {
            const int l = log2_of(r), rest = r - (1 << l);
            u[r] = rest == 0 ? w.of[q].p[l] : product(u[rest], w.of[q].p[l]);
            v[q + r * S::Q] = product(b[r], u[r]);
        }
    }
}

/* Radix-WIDTH butterflies over v[q + Q j] with weights w^j. */
template <class S> LW_DEVICE void join_wide(typename S::C (&v)[S::F::E], const WidePowers<S> &w)
{
    using C = typename S::C;
#pragma unroll
    for (int q = 0; q < S::Q; ++q) {
        C b[S::WIDTH];
#pragma unroll
        for (int j = 0; j < S::WIDTH; ++j)
            b[j] = v[q + j * S::Q];
        dft<S::WIDTH, true>(b, w.of[q].p);
#pragma unroll
        for (int j = 0; j < S::WIDTH; ++j)
            v[q + j * S::Q] = b[j];
    }
}

/* Return the place of an item in the arrays that the kernel loads from and stores to: the block's, or the work space. */
LW_DEVICE ItemPlace where(const ClusterArgs &a, int item)
{
    const int n = (int)a.geometry.segment;
    ItemPlace p = item_place(a.geometry, a.first + item);
    if (!a.input) {
        p.input[0] = (int64_t)item * n;
        p.have[0] = n;
    }
    if (!a.output) {
        p.output[0] = (int64_t)item * n;
        p.want[0] = n;
        p.want[1] = p.discard = 0;
    }
    return p;
}

/* Distance, in points of the segment, from a thread's value 0 to its value m when it loads and stores. */
template <class S> struct Spread {
    LW_DEVICE constexpr int operator()(int m) const { return S::F::T * (m % S::Q) + S::L * (m / S::Q); }
};

template <class S>
LW_DEVICE bool load_spread(typename S::C (&v)[S::F::E], const ClusterArgs &a, const ItemPlace &p, int n0)
{
    if (!a.input)
        return load_item<typename S::F::Real, true>(v, a.segments, p, n0, Spread<S>{});
    return load_item(v, a.geometry, a.input, p, n0, Spread<S>{});
}

template <class S, bool NARROW>
LW_DEVICE void store_spread(typename S::C (&v)[S::F::E], const ClusterArgs &a, const ItemPlace &p, int filter, int n0)
{
    if (a.output)
        store_outputs<NARROW>(v, a.geometry, a.output, filter * a.plane, p, n0, Spread<S>{});
    else
        store_item<true>(v, (typename S::F::Real *)a.products + filter * a.plane, p, n0, Spread<S>{});
}

#endif

/* Filter items. Clusters take even shares of (item, filter) pairs, to end together; an item in two shares is transformed twice.
 * NARROW: outputs are of a narrow type. Registers do not suffice for both. */
template <class S, bool NARROW> __global__ void __launch_bounds__(S::F::T, S::RESIDENT) cluster_segments(const ClusterArgs a)
{
#ifdef LW_HAS_CLUSTERS
    using F = typename S::F;
    using C = typename S::C;
    extern __shared__ __align__(128) unsigned char memory[];
    const int t = threadIdx.x, rank = blockIdx.x % S::WIDTH, cluster = blockIdx.x / S::WIDTH;
    const int n0 = rank * (S::L / S::WIDTH) + t;
    C *const shared = (C *)memory;
    const C *const wide = (const C *)a.table + S::LOCAL_TABLE + n0;
    F fft;
    fft.load((const C *)a.table, t);
    Exchange<S> exchange = {memory, rank, t, 0};
    exchange.begin();
    C v[F::E], kept[F::E];
    const int n_pairs = a.n * a.n_filters, n_clusters = gridDim.x / S::WIDTH;
    int pair = (int)((int64_t)n_pairs * cluster / n_clusters);
    const int pair_end = (int)((int64_t)n_pairs * (cluster + 1) / n_clusters);
    while (pair < pair_end) {
        const int item = pair / a.n_filters, begin = pair - item * a.n_filters;
        const int end = min(a.n_filters, begin + pair_end - pair);
        const ItemPlace p = where(a, item);
        if (load_spread<S>(v, a, p, n0))
            *a.not_finite = 1;
        WidePowers<S> w;
        w.load(wide);
        split_wide<S>(v, w);
        exchange.send_all(v);
        exchange.receive(v);
        fft.forward(v, shared, t);
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            kept[m] = v[m];
#pragma unroll 1
        for (int f = begin; f < end; ++f) {
            fft.pin();
            multiply<F>(v, kept, (const C *)a.bank + (int64_t)f * S::N + rank * S::L, t);
            fft.backward(v, shared, t);
            exchange.send_all(v);
            w.load(wide);           /* here, because registers are free during the transfer */
            exchange.receive(v);
            join_wide<S>(v, w);
            store_spread<S, NARROW>(v, a, p, f, n0);
        }
        pair += end - begin;
    }
    exchange.end();
#endif
}

/* Fill table[level][n0], n0 < `local`, with exp(-2 pi i n0 / n) to the power 2^level; one thread each. */
template <class C> static __global__ void cluster_powers(C *table, int local, int levels, int64_t n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < levels * local)
        table[i] = exact_root<C>((int64_t)(i % local) << i / local, n);
}

/* Write a filter's spectrum in the order that the kernel reads, divided by N; one thread per bin. */
template <class S> static __global__ void cluster_order(const double2 *bins, typename S::C *spectra)
{
    using Real = typename S::F::Real;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, rank = i / S::L;
    const int64_t row = blockIdx.y * int64_t(S::N);
    const double2 h = bins[row + rank + S::WIDTH * bin_of<typename S::F>(i % S::L)];
    spectra[row + i] = {(Real)(h.x / S::N), (Real)(h.y / S::N)};
}

/* ---- the method ---------------------------------------------------------------------------------------------------- */

using F4096 = Transform<float, 32, 4, Team<128, 1>>;
using F8192 = Transform<float, 32, 8, Team<256, 1>>;
using D4096 = Transform<double, 16, 16, Team<256, 1>>;

/* Call `with` for the cluster of a segment length. In single precision an SM holds three blocks of 4096 points: while one waits for
 * an exchange, others work. Per point this is faster than half as many blocks of twice the length. */
template <class With> static cudaError_t with_cluster(enum lw_precision precision, int64_t segment, With with)
{
    const bool single = precision == LW_SINGLE;
    switch (segment) {
    case 32768: return single ? with(Cluster<F4096, 8, 3>{}) : with(Cluster<D4096, 8, 1>{});
    case 65536: return single ? with(Cluster<F4096, 16, 3>{}) : with(Cluster<D4096, 16, 1>{});
    case 131072: return single ? with(Cluster<F8192, 16, 1>{}) : cudaErrorInvalidValue;
    default: return cudaErrorInvalidValue;
    }
}

static bool exists(const struct lw_cuda_arch *arch, enum lw_precision precision, int64_t segment)
{
    const int reserved = 1024;      /* bytes of a block for the driver; a multiprocessor has 1024 bytes more than a block may use */
    return arch->major >= 9 && with_cluster(precision, segment, [=](auto cluster) {
        using S = decltype(cluster);
        const bool fits = S::RESIDENT * (S::SHARED_BYTES + reserved) <= arch->shared_bytes + reserved;
        return fits ? cudaSuccess : cudaErrorInvalidValue;
    }) == cudaSuccess;
}

static double point_seconds(enum lw_precision precision, int64_t segment)
{
    if (precision == LW_DOUBLE)
        return segment <= 32768 ? 9.9e-12 : 12.3e-12;
    return segment <= 32768 ? 4.5e-12 : segment <= 65536 ? 4.9e-12 : 7.6e-12;
}

static int64_t memory_bytes(const struct lw_long_ols_plan *plan)
{
    int64_t bytes = 0;
    with_cluster(plan->spec.precision, plan->segment, [&](auto cluster) {
        using S = decltype(cluster);
        bytes = (int64_t)sizeof(typename S::C) * S::TABLE;
        return cudaSuccess;
    });
    return bytes;
}

template <class S> static Launch launch_of(int n_clusters, cudaStream_t stream)
{
    return {dim3((unsigned)(n_clusters * S::WIDTH)), S::F::T, S::SHARED_BYTES, stream, S::WIDTH};
}

/* The kernel that stores outputs of a narrow type; double precision has none. */
template <class S> static constexpr auto *narrow_segments = cluster_segments<S, sizeof(typename S::C) == 8>;

/* Allow a kernel its shared memory, and clusters of 16 blocks (not on every device). *resident: clusters that run at a time. */
template <class S, class Kernel> static cudaError_t allow(Kernel *kernel, int *resident)
{
    cudaLaunchAttribute attributes[3];
    const cudaLaunchConfig_t where = config_of(launch_of<S>(1, 0), attributes);
    cudaError_t failed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED_BYTES);
    if (!failed && S::WIDTH > 8)
        failed = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (!failed)
        failed = cudaOccupancyMaxActiveClusters(resident, kernel, &where);
    return failed;
}

static int prepare(struct lw_long_ols *ols, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_long_ols_plan *const plan = &ols->plan;
    const int without_clusters = 1 << 20;
    const cudaError_t status = with_cluster(plan->spec.precision, plan->segment, [=](auto cluster) {
        using S = decltype(cluster);
        using C = typename S::C;
        const int threads = 128, values = S::LEVELS * S::L;
        cudaError_t failed = allow<S>(narrow_segments<S>, &ols->resident);
        if (!failed)
            failed = allow<S>(cluster_segments<S, false>, &ols->resident);
        if (failed)
            return failed;
        C *const table = static_cast<C *>(ols->method_memory);
        fill_powers(table, S::F::E, S::F::P, stream);
        cluster_powers<<<values / threads, threads, 0, stream>>>(table + S::LOCAL_TABLE, S::L, S::LEVELS, S::N);
        return cudaGetLastError();
    });
    if (status == cudaSuccess && ols->resident == 0)
        return lw_fail(err, LW_ECONFIG, "a segment of %" PRId64 " samples does not fit into the shared memory of this device, or "
                       "of the part that this program may use: give --segment %d, which does not need it", plan->segment,
                       without_clusters);
    return lw_cuda_check(status, "preparing long segments", err);
}

static cudaError_t order(const struct lw_long_ols_plan *plan, const void *bins, int n, void *spectra, cudaStream_t stream)
{
    return with_cluster(plan->spec.precision, plan->segment, [=](auto cluster) {
        using S = decltype(cluster);
        const int threads = 128;
        cluster_order<S><<<dim3(S::N / threads, n), threads, 0, stream>>>(static_cast<const double2 *>(bins),
                                                                          static_cast<typename S::C *>(spectra));
        return cudaGetLastError();
    });
}

static int gather(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err)
{
    return lw_long_cut(ols, b, b->n, err);
}

/* Return the arguments common to `filter` and `run`. The caller adds the arrays of samples and outputs, and `plane`. */
static ClusterArgs args_of(const struct lw_long_ols *ols, const struct lw_long_batch *b, int first_filter, int n_filters)
{
    ClusterArgs a = {};
    a.geometry = *b->geometry;
    a.table = ols->method_memory;
    a.bank = lw_long_spectrum(ols, first_filter);
    a.first = b->first;
    a.not_finite = b->block->not_finite;
    a.n = b->n;
    a.n_filters = n_filters;
    return a;
}

static cudaError_t launch(const ClusterArgs &a, int resident, cudaStream_t stream)
{
    if (a.n <= 0)
        return cudaSuccess;
    const int n_pairs = a.n * a.n_filters, n_clusters = resident < n_pairs ? resident : n_pairs;
    return with_cluster(a.geometry.precision, a.geometry.segment, [&](auto cluster) {
        using S = decltype(cluster);
        const auto kernel = a.output && a.geometry.narrow.bytes > 0 ? narrow_segments<S> : cluster_segments<S, false>;
        const cudaError_t failed = launch_kernel(launch_of<S>(n_clusters, stream), kernel, a);
        return failed ? failed : cudaGetLastError();
    });
}

static int filter(struct lw_long_ols *ols, const struct lw_long_batch *b, int first_filter, int n_filters, struct lw_error *err)
{
    ClusterArgs a = args_of(ols, b, first_filter, n_filters);
    a.segments = ols->segments;
    a.products = ols->products;
    a.plane = 2 * a.n * a.geometry.segment;
    return lw_cuda_check(launch(a, ols->resident, b->stream), "filtering a batch of segments", err);
}

static int run(struct lw_long_ols *ols, const struct lw_long_batch *b, struct lw_error *err)
{
    ClusterArgs a = args_of(ols, b, 0, ols->plan.spec.n_filters);
    a.input = b->block->input;
    a.output = b->block->output;
    a.plane = a.geometry.count * a.geometry.n_channels * (a.geometry.output_complex ? 2 : 1);
    return lw_cuda_check(launch(a, ols->resident, b->stream), "filtering long segments", err);
}

const struct lw_long_method lw_long_cluster = {
    .name = "cluster",
    .text = "in the shared memory of several multiprocessors",
    .most_group = 2,
    .gather_seconds = 5e-12,
    .exists = exists,
    .point_seconds = point_seconds,
    .memory_bytes = memory_bytes,
    .prepare = prepare,
    .order = order,
    .gather = gather,
    .filter = filter,
    .scatter = lw_long_scatter,
    .run = run,
};
