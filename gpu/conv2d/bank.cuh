/* bank.cuh - overlap-save on tiles with several kernels. A block loads and transforms a tile once. It keeps the spectrum, and for
 * each kernel multiplies it by the kernel's spectrum, transforms the product back and stores the outputs, as tiles.cuh does.
 *
 * Tiles have 256 x 128 real pixels, 16384 points in 512 threads: with 31 x 31 taps two thirds of the pixels become outputs, against
 * a third with 128 x 64. Of a thread's 32 points of the spectrum KEPT stay in shared memory, which the exchanges leave free, and
 * the others in registers. In shared memory the points of a pair lie side by side, and the pairs of the threads behind one another:
 * 16-byte accesses, contiguous over the warp. A block fills a multiprocessor: 226 KB.
 *
 * A search for crossings alone needs no image: the outputs are searched while they are in registers. */
#pragma once

#include "gpu/conv2d/tiles.cuh"

template <class F_> struct TileBank {
    using F = F_;
    using C = typename F::C;
    static constexpr int KEPT = 22, LEFT = F::E - KEPT;     /* points of a thread in shared memory, and in registers */
    static constexpr int KEPT_BYTES = F::SHARED_BYTES, SHARED_BYTES = KEPT_BYTES + KEPT * F::T * (int)sizeof(C);
    static_assert(sizeof(C) == 8 && KEPT % 2 == 0 && KEPT_BYTES % 16 == 0 && SHARED_BYTES <= 232448, "16-byte accesses");
};

/* Append the crossings among the outputs of the upper or lower half of a tile, as find.cu does. They are few: a loop that is not
 * unrolled picks them out of the registers. */
template <class F, int HALF>
LW_DEVICE void find_points(const float2 (&v)[F::E], const lw_conv2d_block &b, const Piece &p, int t, const lw_conv2d_search &s,
                           int kernel)
{
    const int x = t % F::S - ((int)b.kernel_columns - 1), first = t / F::S + HALF * F::S - ((int)b.kernel_rows - 1);
    const float scale = ((const float *)s.scales)[(s.channel + p.channel) * s.n_kernels + kernel];
    const int begin = (int)max(s.begin - p.row, (int64_t)0), end = (int)min(s.end - p.row, (int64_t)p.n_rows);
    unsigned found = 0;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const float y = HALF == 0 ? v[m].y : v[m].x;
        found |= crosses(y, scale) ? 1u << m : 0;
    }
    if (x < 0 || x >= p.n_columns)
        return;
    found &= numbers_below((end - first + 3) / 4) & ~numbers_below((begin - first + 3) / 4);
#pragma unroll 1
    for (; found; found &= found - 1) {
        const int chosen = __ffs((int)found) - 1;
        float y = 0;
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            y = m != chosen ? y : HALF == 0 ? v[m].y : v[m].x;
        if (!has_sign(s.sign, y))
            continue;
        const unsigned long long place = atomicAdd(s.n_rows, 1ull);
        if (place < (unsigned long long)s.most_rows)
            s.rows[place] = lw_crossing{s.first_row + p.row + first + 4 * chosen, (int32_t)(s.channel + p.channel), kernel,
                                        p.column + x, y, 0};
    }
}

template <class B, bool SEARCHES>
__global__ void __launch_bounds__(B::F::T, 1)
conv2d_bank(const lw_conv2d_block b, const lw_conv2d_grid g, const __grid_constant__ lw_conv2d_spectra spectra,
            const __grid_constant__ lw_conv2d_search search)
{
    using F = typename B::F;
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const shared = (C *)memory;
    const int t = threadIdx.x;
    float4 *const kept = (float4 *)(memory + B::KEPT_BYTES) + t;
    const C *const tables = (const C *)spectra.bank[0];
    if (t < F::TABLES)
        shared[F::ROOTS + t] = __ldg(tables + t);
    const Piece piece = piece_of(b, g, spot_of(g, blockIdx.x), 0);
    const Strand strand = strand_of<2 * F::S>(b, piece, t % F::S);
    C v[F::E], left[B::LEFT];
    const int exponent = load_scaled<F, true>(v, b, strand, (int *)(memory + F::EXCHANGE_BYTES), t);
    tile_forward<F, true>(v, shared, t);
#pragma unroll
    for (int m = 0; m < B::KEPT; m += 2)
        kept[m / 2 * F::T] = make_float4(v[m].x, v[m].y, v[m + 1].x, v[m + 1].y);
#pragma unroll
    for (int m = 0; m < B::LEFT; ++m)
        left[m] = v[B::KEPT + m];
    lw_conv2d_block own = b;
#pragma unroll 1
    for (int k = 0; k < spectra.n; ++k) {
        const float4 *const factors = (const float4 *)((const C *)spectra.bank[k] + F::TABLES) + t;
#pragma unroll
        for (int m = 0; m < F::E; m += 2) {
            const float4 two = m < B::KEPT ? kept[m / 2 * F::T]
                                           : make_float4(left[m - B::KEPT].x, left[m - B::KEPT].y, left[m + 1 - B::KEPT].x,
                                                         left[m + 1 - B::KEPT].y);
            v[m] = {two.x, two.y};
            v[m + 1] = {two.z, two.w};
        }
        multiply_points<true>(v, [&](int i) { return __ldg(factors + i * F::T); });
        if (k > 0)
            __syncthreads();        /* all threads have read the previous outputs */
        tile_backward<F, true>(v, shared, t);
        scale_back(v, exponent + spectra.exponent[k]);
        if constexpr (SEARCHES) {
            find_points<F, 0>(v, b, piece, t, search, search.kernel + k);
            find_points<F, 1>(v, b, piece, t, search, search.kernel + k);
        } else {
            store_points<F, true, 0>(v, own, piece, t);
            store_points<F, true, 1>(v, own, piece, t);
            own.output = (char *)own.output + spectra.plane;
        }
    }
}
