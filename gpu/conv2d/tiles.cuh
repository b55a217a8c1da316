/* tiles.cuh - overlap-save on tiles of S x S points: load, transform, multiply, transform back, store, by one
 * block.
 *
 *     y = IFFT(X K)[kernel_rows - 1 ..][kernel_columns - 1 ..]
 *
 * S = 4 E, with E = 16 or 32 points in each of T = 16 E threads. Two real pieces are one transform (the kernel is real:
 * re and im of the result are the two), a complex one is one by itself. With rows y = y0 + 4 y1, ky = k1 + E k0 and
 * columns x = x0 + 16 x1, kx = l1 + X l0 (X = E / 4), a thread's points are
 *
 *     step   thread            points              what is done
 *     1      y0, x             y1 = 0 .. E - 1     radix E over y1 -> k1
 *            -- exchange within the block --
 *     2      k1, x0            y0, x1              weighted radix 4 over y0 -> k0, radix X over x1 -> l1
 *            -- exchange within the 16 threads of k1 --
 *     3      k1, (k0, l1)      x0 = 0 .. 15        weighted radix 16 over x0 -> l0, E / 16 of them; times K; and back
 *
 * and the same steps in reverse. So a tile passes the block's barrier twice, and global memory is read and written in
 * step 1 by lanes along a row. Numbers on the way back have re and im swapped, see fft.cuh.
 *
 * Shared memory: E regions (one for each k1) of 17 E complex values: S x 4 in natural order in the exchange of the
 * block, E rows of 16 with a pitch of 17 in that of the group; all accesses are free of bank conflicts (half-warps of
 * 16 neighbours, or of stride 17). Float: 34 KB for 64 x 64, 136 KB for 128 x 128. Then the roots exp(-2 pi i k / S).
 *
 * Pixels that are not finite show in the largest exponent of the tile; only then they are made zeros. */
#ifndef LW_GPU_CONV2D_TILES_CUH
#define LW_GPU_CONV2D_TILES_CUH

#include "gpu/conv2d/piece.cuh"
#include "gpu/conv2d/spectrum.cuh"

template <class Real_, int E_> struct Tile {
    using Real = Real_;
    using C = Complex<Real>;
    static constexpr int E = E_, S = 4 * E, T = 16 * E, X = E / 4, J = E / 16;
    static constexpr int PITCH = 17, REGION = E * PITCH;
    static constexpr int ROOTS = E * REGION;            /* where they begin */
    static constexpr int EXCHANGE_BYTES = (ROOTS + S) * (int)sizeof(C), REDUCE_INTS = 2 * T / 32;
    static constexpr int SHARED_BYTES = EXCHANGE_BYTES + REDUCE_INTS * (int)sizeof(int);
    static constexpr int PER_LOAD = 16 / (int)sizeof(C);

    /* Bin of value i of the spectrum: values m, m + 1 of a thread lie side by side in float (one 16-byte load). */
    __host__ __device__ static Bin2d bin(int64_t i)
    {
        const int m = (int)(i / (T * PER_LOAD)) * PER_LOAD + (int)(i % PER_LOAD), t = (int)(i / PER_LOAD % T);
        const int q = t % 16 + m / 16 * 16;
        return {t / 16 + E * (q / X), q % X + X * (m % 16)};
    }
};

/* w, w^2, w^4 .. for w = exp(-2 pi i k / S) */
template <class F, int R>
LW_DEVICE void tile_powers(const typename F::C *roots, int k, typename F::C (&power)[log2_of(R)])
{
#pragma unroll
    for (int l = 0; l < log2_of(R); ++l)
        power[l] = roots[(k << l) & (F::S - 1)];
}

/* COUNT transforms of R points: point j of transform i is v[i * STEP + j * STRIDE]. */
template <int R, int STRIDE, int COUNT, int STEP, bool WEIGHTED, class C, int E>
LW_DEVICE void dft_each(C (&v)[E], const C *power)
{
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        C b[R];
#pragma unroll
        for (int j = 0; j < R; ++j)
            b[j] = v[i * STEP + j * STRIDE];
        dft<R, WEIGHTED>(b, power);
#pragma unroll
        for (int j = 0; j < R; ++j)
            v[i * STEP + j * STRIDE] = b[j];
    }
}

template <class F> LW_DEVICE void tile_forward(typename F::C (&v)[F::E], typename F::C *shared, int t)
{
    using C = typename F::C;
    constexpr int E = F::E, X = F::X;
    const C *const roots = shared + F::ROOTS;
    C *const region = shared + t / 16 * F::REGION;
    const int lane = t % 16;
    dft<E, false>(v, (const C *)nullptr);
#pragma unroll
    for (int k = 0; k < E; ++k)
        shared[k * F::REGION + t] = v[k];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < E; ++i)
        v[i] = region[i / X * F::S + lane + 16 * (i % X)];
    C down[2];
    tile_powers<F, 4>(roots, t / 16, down);
    dft_each<4, X, X, 1, true>(v, down);
    dft_each<X, 1, 4, X, false>(v, (const C *)nullptr);
    __syncwarp();
#pragma unroll
    for (int q = 0; q < E; ++q)
        region[q * F::PITCH + lane] = v[q];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < E; ++i)
        v[i] = region[(lane + i / 16 * 16) * F::PITCH + i % 16];
    C across[4];
    tile_powers<F, 16>(roots, lane % X, across);
    dft_each<16, 1, F::J, 16, true>(v, across);
}

/* In: swapped. */
template <class F> LW_DEVICE void tile_backward(typename F::C (&v)[F::E], typename F::C *shared, int t)
{
    using C = typename F::C;
    constexpr int E = F::E, X = F::X;
    const C *const roots = shared + F::ROOTS;
    C *const region = shared + t / 16 * F::REGION;
    const int lane = t % 16;
    dft_each<16, 1, F::J, 16, false>(v, (const C *)nullptr);
#pragma unroll
    for (int i = 0; i < E; ++i)
        region[(lane + i / 16 * 16) * F::PITCH + i % 16] = v[i];
    __syncwarp();
#pragma unroll
    for (int q = 0; q < E; ++q)
        v[q] = region[q * F::PITCH + lane];
    C across[log2_of(X)];
    tile_powers<F, X>(roots, lane, across);
    dft_each<X, 1, 4, X, true>(v, across);
    dft_each<4, X, X, 1, false>(v, (const C *)nullptr);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < E; ++i)
        region[i / X * F::S + lane + 16 * (i % X)] = v[i];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < E; ++k)
        v[k] = shared[k * F::REGION + t];
    C down[log2_of(E)];
    tile_powers<F, E>(roots, t / F::S, down);
    dft<E, true>(v, down);
}

/* v = v K, swapped */
template <class F> LW_DEVICE void tile_multiply(float2 (&v)[F::E], const float2 *spectrum, int t)
{
    const float4 *const k = (const float4 *)spectrum + t;
#pragma unroll
    for (int m = 0; m < F::E; m += 2) {
        const float4 two = __ldg(k + m / 2 * F::T);
        const float2 a = product(v[m], float2{two.x, two.y}), b = product(v[m + 1], float2{two.z, two.w});
        v[m] = {a.y, a.x};
        v[m + 1] = {b.y, b.x};
    }
}

template <class F> LW_DEVICE void tile_multiply(double2 (&v)[F::E], const double2 *spectrum, int t)
{
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const double2 a = product(v[m], __ldg(spectrum + t + m * F::T));
        v[m] = {a.y, a.x};
    }
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

/* A thread's column of a piece's window: pixels of rows [begin, end) of the tile are stored `pitch` apart from `index`
 * on; rows from there to `rows` are beyond the image. Without a column, begin = end. */
struct Strand {
    int64_t index, pitch;
    int begin, end, rows;
};

template <int S> LW_DEVICE Strand strand_of(const lw_conv2d_block &b, const Piece &p, int x)
{
    Strand s = {0, b.columns, 0, 0, 0};
    if (p.n_rows == 0)
        return s;
    const int64_t column = boundary_index(b.boundary, b.first_column + p.column + x, b.columns);
    const int64_t above = b.boundary == LW_BOUNDARY_ZERO ? -(b.first_row + p.row) : 0;
    const int64_t below = b.boundary == LW_BOUNDARY_ZERO ? b.rows - b.first_row - p.row : S;
    s.rows = least(S, input_rows(b) - p.row);
    s.begin = column < 0 ? S : (int)(above < 0 ? 0 : least(above, S));
    s.end = column < 0 ? S : (int)(below < 0 ? 0 : least(below, s.rows));
    s.index = input_index(b, p.channel, p.row) + (column < 0 ? 0 : column);
    return s;
}

/* Row y of it, as the number stored. */
template <class Pixel, class Stored, bool INNER>
LW_DEVICE Pixel strand_pixel(const lw_conv2d_block &b, const Strand &s, int y)
{
    using Real = RealPartOf<Pixel>;
    if (!INNER && (y < s.begin || y >= s.end))
        return pixel_of<Pixel>(y < s.rows ? (Real)b.outside : 0);
    return raw_pixel<Pixel>(b, (const Stored *)b.input, s.index + y * s.pitch);
}

/* v = the points of step 1. PAIRED: of two real pieces. */
template <class F, bool PAIRED, class Stored, bool INNER>
LW_DEVICE void load_points(typename F::C (&v)[F::E], const lw_conv2d_block &b, const Strand (&s)[2], int y0)
{
    using Real = typename F::Real;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const int y = y0 + 4 * m;
        if constexpr (PAIRED)
            v[m] = {strand_pixel<Real, Stored, INNER>(b, s[0], y), strand_pixel<Real, Stored, INNER>(b, s[1], y)};
        else
            v[m] = strand_pixel<typename F::C, Stored, INNER>(b, s[0], y);
    }
}

/* INNER where the whole warp's columns lie in the image. */
template <class F, bool PAIRED, class Stored>
LW_DEVICE void load_points(typename F::C (&v)[F::E], const lw_conv2d_block &b, const Strand (&s)[2], int y0)
{
    bool inner = s[0].begin == 0 && s[0].end == F::S;
    if (PAIRED)
        inner = inner && s[1].begin == 0 && s[1].end == F::S;
    if (__any_sync(0xffffffffu, !inner))
        load_points<F, PAIRED, Stored, false>(v, b, s, y0);
    else
        load_points<F, PAIRED, Stored, true>(v, b, s, y0);
}

/* The largest biased exponents of re and im over the block (PAIRED), or of both together in both. */
template <class F, bool PAIRED> LW_DEVICE int2 largest_exponents(const typename F::C (&v)[F::E], int *reduce, int t)
{
    int2 e = {0, 0};
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        e = {max(e.x, magnitude_bits(v[m].x)), max(e.y, magnitude_bits(v[m].y))};
    using Real = typename F::Real;
    e = {biased_exponent<Real>(e.x), biased_exponent<Real>(e.y)};
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        e = {max(e.x, __shfl_xor_sync(0xffffffffu, e.x, other)), max(e.y, __shfl_xor_sync(0xffffffffu, e.y, other))};
    if (t % 32 == 0) {
        reduce[2 * (t / 32)] = e.x;
        reduce[2 * (t / 32) + 1] = e.y;
    }
    __syncthreads();
    for (int warp = 0; warp < F::T / 32; ++warp)
        e = {max(e.x, reduce[2 * warp]), max(e.y, reduce[2 * warp + 1])};
    if (!PAIRED)
        e.x = e.y = max(e.x, e.y);
    return e;
}

template <bool PAIRED, class C, int E> LW_DEVICE void drop_not_finite(C (&v)[E])
{
    bool unused = false;
#pragma unroll
    for (int m = 0; m < E; ++m) {
        const bool whole = !PAIRED && !(isfinite(v[m].x) && isfinite(v[m].y));
        v[m].x = whole ? 0 : finite_or_zero(v[m].x, unused);
        v[m].y = whole ? 0 : finite_or_zero(v[m].y, unused);
    }
}

/* Load the points and scale them; returns the exponents that were taken out. A barrier. */
template <class F, bool PAIRED>
LW_DEVICE int2 load_scaled(typename F::C (&v)[F::E], const lw_conv2d_block &b, const Strand (&s)[2], int *reduce, int t)
{
    using Real = typename F::Real;
    with_stored(b.scalar, [&](auto stored) { load_points<F, PAIRED, decltype(stored)>(v, b, s, t / F::S); });
    int2 e = largest_exponents<F, PAIRED>(v, reduce, t);
    if (max(e.x, e.y) == infinite_exponent<Real>) {
        if (t == 0)
            *b.not_finite = 1;
        drop_not_finite<PAIRED>(v);
        __syncthreads();
        e = largest_exponents<F, PAIRED>(v, reduce, t);
    }
    e = {usable_exponent<Real>(e.x), usable_exponent<Real>(e.y)};
    const typename F::C scale = {power_of_two<Real>(-e.x), power_of_two<Real>(-e.y)};
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        v[m] = {v[m].x * scale.x, v[m].y * scale.y};
    return e;
}

/* The outputs of one piece, which stand in re or im of v (swapped) as PART says; both for complex ones. */
template <class F, bool PAIRED, int PART>
LW_DEVICE void store_piece(const typename F::C (&v)[F::E], const lw_conv2d_block &b, const Piece &p, int t)
{
    using Real = typename F::Real;
    using Out = typename std::conditional<PAIRED, Real, typename F::C>::type;
    const int lead = (int)b.kernel_rows - 1, x = t % F::S - ((int)b.kernel_columns - 1), first = t / F::S - lead;
    if (x < 0 || x >= p.n_columns)
        return;
    const int64_t pitch = 4 * b.output_columns;
    Out *at = (Out *)b.output + (p.channel * b.count + p.row + first) * b.output_columns + p.column + x;
#pragma unroll
    for (int m = 0; m < F::E; ++m, at += pitch) {
        if ((unsigned)(first + 4 * m) >= (unsigned)p.n_rows)
            continue;
        if constexpr (PAIRED)
            __stcs(at, PART == 0 ? v[m].y : v[m].x);
        else
            __stcs(at, Out{v[m].y, v[m].x});
    }
}

/* One block per transform. bank: the roots, then the spectrum. */
template <class F, int BLOCKS, bool PAIRED>
__global__ void __launch_bounds__(F::T, BLOCKS)
conv2d_tile(const lw_conv2d_block b, const lw_conv2d_grid g, const typename F::C *bank)
{
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const shared = (C *)memory;
    const int t = threadIdx.x;
    if (t < F::S)
        shared[F::ROOTS + t] = __ldg(bank + t);
    const Spot spot = spot_of(g, blockIdx.x);
    const Strand strands[2] = {strand_of<F::S>(b, piece_of(b, g, spot, 0), t % F::S),
                               strand_of<F::S>(b, piece_of(b, g, spot, 1), t % F::S)};
    C v[F::E];
    const int2 exponents = load_scaled<F, PAIRED>(v, b, strands, (int *)(memory + F::EXCHANGE_BYTES), t);
    tile_forward<F>(v, shared, t);
    tile_multiply<F>(v, bank + F::S, t);
    tile_backward<F>(v, shared, t);
    scale_back(v, exponents.x + b.exponent, exponents.y + b.exponent);
    store_piece<F, PAIRED, 0>(v, b, piece_of(b, g, spot, 0), t);
    if (PAIRED)
        store_piece<F, PAIRED, 1>(v, b, piece_of(b, g, spot, 1), t);
}

#endif
