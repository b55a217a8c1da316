/* bank.cuh - the kernel that processes the tiles of lone.cuh, with one convolution kernel or with a bank of them.
 *
 * With a bank a block loads and transforms a tile once. It keeps the spectrum, and for each kernel multiplies it by the kernel's
 * spectrum, transforms the product back and stores the outputs. Such tiles have 128 x 256 pixels, so that each of the 16 warps owns
 * one region. KEPT of a thread's 32 points of the spectrum stay in shared memory beside the regions, the others in registers. In
 * shared memory pairs of points lie side by side, those of the threads behind one another: 16-byte accesses, contiguous over the
 * warp. A block fills a multiprocessor: 227 KB.
 *
 * Each kernel takes two barriers. Before the first, a warp multiplies its region and transforms it back along the rows; before the
 * second it transforms columns. The places that these leave receive the spectrum of the next kernel, or the pixels of the next
 * tile: both arrive during computation. A search finds crossings among the outputs while they are in registers; a search for
 * crossings alone stores no image. */
#pragma once

#include "gpu/conv2d/lone.cuh"

template <class F> struct LoneBank {
    static constexpr int KEPT = 24, LEFT = 32 - KEPT;       /* points of a thread in shared memory, and in registers */
    static constexpr int SHARED_BYTES = F::SHARED_BYTES + KEPT * F::T * (int)sizeof(float2);
    static_assert(KEPT % 2 == 0 && F::SHARED_BYTES % 16 == 0, "16-byte accesses");

    float4 *kept;
    float2 left[LEFT];

    LW_DEVICE void put(const float2 (&v)[32])
    {
#pragma unroll
        for (int m = 0; m < KEPT; m += 2)
            kept[m / 2 * F::T] = make_float4(v[m].x, v[m].y, v[m + 1].x, v[m + 1].y);
#pragma unroll
        for (int m = 0; m < LEFT; ++m)
            left[m] = v[KEPT + m];
    }

    /* Points m and m + 1. */
    LW_DEVICE float4 two(int m) const
    {
        const int i = m < KEPT ? 0 : m - KEPT;
        return m < KEPT ? kept[m / 2 * F::T] : make_float4(left[i].x, left[i].y, left[i + 1].x, left[i + 1].y);
    }
};

/* Start to copy a warp's part of a kernel's spectrum to the places of its 32 tasks: 256 bytes of each region, two at once. */
template <class F> LW_DEVICE void fetch_spectrum(const float4 *spectrum, float2 *shared, int task)
{
    const int lane = task % 32, first = lane / 16 * F::REGION + task - lane + lane % 16 * 2;
    char *from = (char *)(spectrum + first / 2);
    int region = F::REGION;
    opaque(region);
#pragma unroll
    for (int i = 0; i < F::E / 2; ++i, from = advanced(from, (unsigned)region, sizeof(float4)))
        copy_async(shared + first + 2 * i * F::REGION, from);
}

/* Append the crossings among a task's outputs, as find.cu does. @param column  in the block */
template <int N>
LW_DEVICE void find_outputs(const LoneRows &rows, int a, const float (&y)[N], const lw_conv2d_search &s, int64_t channel,
                            int64_t column, int kernel)
{
    const float scale = ((const float *)s.scales)[(s.channel + channel) * s.n_kernels + kernel];
    float largest = 0;
#pragma unroll
    for (int j = 0; j < N; ++j)
        largest = largest_magnitude(largest, y[j]);
    if (scaled_square(largest, scale) < crossing_limit<float>())        /* seldom false */
        return;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        const int64_t row = rows.row + 4 * (a + 4 * j);
        if (rows.wanted >> (a + 4 * j) & 1 && row >= s.begin && row < s.end && crosses(y[j], scale) && has_sign(s.sign, y[j]))
            append_crossing(s, kernel, channel, row, column, y[j], 0);
    }
}

/* The work of a launch. */
struct LoneWork {
    unsigned n_tiles, late_cycles;      /* late_cycles: delay of the last block after the first */
    bool has_aligned_pixels;            /* pixels can be copied 16 bytes at a time */
};

/* A block takes tiles blockIdx.x, blockIdx.x + gridDim.x .. A kernel's bank holds the tables, then the spectrum. One function both
 * stores and searches: compilers may round differently in two, and a search must find the bits that are stored. */
template <class F, bool IS_BANK>
__global__ void __launch_bounds__(F::T, 1)
conv2d_lone(const lw_conv2d_block b, const lw_conv2d_grid g, const __grid_constant__ lw_conv2d_spectra spectra,
            const __grid_constant__ lw_conv2d_search search, const LoneWork work)
{
    static_assert(!IS_BANK || F::E == F::WARPS, "each warp owns one region");
    extern __shared__ __align__(128) unsigned char memory[];
    float2 *const shared = (float2 *)memory;
    const int t = threadIdx.x;
    const auto spectrum_of = [&](int k) { return (const float4 *)((const float2 *)spectra.bank[k] + F::TABLES); };
    unsigned tile = blockIdx.x;
    char *at = NULL;
    int k = 0;
    LoneScale scale = {0, false, false};
    LoneBank<F> bank = {(float4 *)(memory + F::SHARED_BYTES) + t};
    Piece piece = {}, next = piece_of(b, g, spot_of(g, tile), 0);
    if (t < F::TABLES)
        shared[F::POINTS + t] = __ldg((const float2 *)spectra.bank[0] + t);
    pass_cycles((unsigned)((uint64_t)work.late_cycles * blockIdx.x / gridDim.x));
#pragma unroll 1
    for (;;) {
        const bool has_more = IS_BANK && piece.n_rows > 0 && k + 1 < spectra.n;
        LoneSource source = {};
        if (!has_more)
            source = lone_source<F>(b, g, work.has_aligned_pixels, next, t);
        const auto fetch = [&](int task) {
            if (has_more)
                fetch_spectrum<F>(spectrum_of(k + 1), shared, task);
            else if (next.n_rows > 0)
                lone_fetch<F>(b, source, shared, task);
        };
        const auto keep = [&](const LoneRows &rows, int a, const float (&out)[F::E / 4]) {
            if (!IS_BANK || b.output)
                lone_store(rows, a, out);
            if (IS_BANK && search.rows)
                find_outputs(rows, a, out, search, piece.channel, piece.column + lone_column(b, g, t), search.kernel + k);
        };
        at = k == 0 ? lone_address(b, g, piece, t) : at + spectra.plane;
        if (IS_BANK)
            opaque(at);         /* is not computed again for each task */
        lone_turn<F>(b, g, piece, at, scale.exponent + spectra.exponent[k], shared, t, fetch, keep);
        if (has_more) {
            ++k;
            wait_for_copies();
            __syncthreads();
        } else {
            if (next.n_rows == 0)
                return;
            if (piece.n_rows > 0)
                scale = {0, false, false};
            const float largest = lone_begin<F>(scale, shared, t);
            if (!lone_is_fit(lone_exponent<F>(largest, (int *)(memory + F::REDUCE), t), &scale)) {
                if (scale.drops && t == 0)
                    *b.not_finite = 1;
                piece.n_rows = 0;           /* `piece` has been stored already; the tile `next` is loaded again */
                __syncthreads();
                continue;
            }
            k = 0;
        }
#pragma unroll 1
        for (int k1 = t / 32; k1 < F::E; k1 += F::WARPS) {
            float2 v[32];
            if (!has_more)
                lone_region_forward<F>(v, shared, spectrum_of(0), k1, t % 32);
            if (IS_BANK && !has_more)
                bank.put(v);
            multiply_region(v, shared + k1 * F::REGION, t % 32, [&](int m) {
                return IS_BANK ? bank.two(m) : make_float4(v[m].x, v[m].y, v[m + 1].x, v[m + 1].y);
            });
            lone_region_back<F>(v, shared, k1, t % 32);
        }
        __syncthreads();
        if (!has_more) {
            tile += gridDim.x;
            piece = next;
            next = tile < work.n_tiles ? piece_of(b, g, spot_of(g, tile), 0) : Piece{};
        }
    }
}
