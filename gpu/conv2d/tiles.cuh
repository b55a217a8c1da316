/* tiles.cuh - overlap-save on tiles of S x S complex points. One block loads a tile, transforms it, multiplies it by the kernel's
 * spectrum, transforms it back and stores the outputs.
 *
 *     y = IFFT(X K)[kernel_rows - 1 ..][kernel_columns - 1 ..]
 *
 * A tile of complex pixels has S x S of them, and uses the usual transform. A tile of real pixels has 2 S x S, and uses the
 * right-angle transform: point (y, x) is p[y][x] + i p[y + S][x], and the frequencies of the columns are ky + 3/4. Since
 * exp(-2 pi i S (ky + 3/4) / S) = i, the spectrum at these frequencies is that of the 2 S real rows. A product of two such spectra
 * belongs to a convolution whose rows beyond 2 S wrap to the first ones, negated; overlap-save drops wrapped rows anyway. So a
 * real tile needs no unpacking of a half spectrum, only a weight exp(-2 pi i (3/4) y / S) for each row. Before the transform the
 * weight is part of the twiddles, after it one multiplication. Right-angle convolution is the product of polynomials modulo
 * z^S - i (Arndt, Matters Computational, 2011, on weighted convolutions).
 *
 * S = 4 E, with E = 16 or 32 points in each of T = 16 E threads. With rows y = y0 + 4 y1, ky = k1 + E k0 and columns x = x0 + 16
 * x1, kx = l1 + X l0 (X = E / 4), a thread's points are
 *
 *     step   thread            points              what is done
 *     1      y0, x             y1 = 0 .. E - 1     radix E over y1 -> k1 (weighted for real pixels)
 *            -- exchange within the block --
 *     2      k1, x0            y0, x1              weighted radix 4 over y0 -> k0, radix X over x1 -> l1
 *            -- exchange within the 16 threads of k1 --
 *     3      k1, (k0, l1)      x0 = 0 .. 15        weighted radix 16 over x0 -> l0, E / 16 of them; times K; and back
 *
 * and the same steps in reverse. So a tile passes the block's barrier twice. Global memory is accessed in step 1 and its reverse,
 * by lanes along a row (coalesced). On the way back re and im are swapped, see gpu/device/fft.cuh.
 *
 * Shared memory: E regions, one per k1, of 17 E complex values. In the exchange of the block a region holds S x 4 values in
 * natural order; in that of the group, E rows of 16 with a pitch of 17. All accesses are free of bank conflicts: a half-warp takes
 * 16 neighbours, or places 17 apart. Float: 34 KB for S = 64, 136 KB for 128. The roots exp(-2 pi i k / S) and the weights follow.
 *
 * Pixels that are not finite show in the tile's largest exponent; only then are they replaced by zeros. */
#pragma once

#include "gpu/conv2d/piece.cuh"
#include "gpu/conv2d/spectrum.cuh"

template <class Real_, int E_> struct Tile {
    using Real = Real_;
    using C = Complex<Real>;
    static constexpr int E = E_, S = 4 * E, T = 16 * E, X = E / 4, J = E / 16;
    static constexpr int PITCH = 17, REGION = E * PITCH;
    static constexpr int ROOTS = E * REGION;            /* index where the roots begin */
    static constexpr int WEIGHTS = ROOTS + S, TABLES = 2 * S;   /* row y0 + 4 y1 has weight E y0 + y1 */
    static constexpr int EXCHANGE_BYTES = (ROOTS + TABLES) * (int)sizeof(C), REDUCE_INTS = T / 32;
    static constexpr int SHARED_BYTES = EXCHANGE_BYTES + REDUCE_INTS * (int)sizeof(int);
    static constexpr int PER_LOAD = 16 / (int)sizeof(C);

    /* Bin of value i of the spectrum. In float, values m and m + 1 of a thread lie side by side: one 16-byte load. */
    __host__ __device__ static Bin2d bin(int64_t i)
    {
        const int m = (int)(i / (T * PER_LOAD)) * PER_LOAD + (int)(i % PER_LOAD), t = (int)(i / PER_LOAD % T);
        const int q = t % 16 + m / 16 * 16;
        return {t / 16 + E * (q / X), q % X + X * (m % 16)};
    }

    /* Value i of the tables: the roots, then the weights. */
    __device__ static double2 table(const KernelSpectrum &s, int i)
    {
        return i < S ? s.column_roots[i] : s.row_roots[3 * ((i - S) / E + (i - S) % E * 4)];
    }
};

/* The powers w, w^2, w^4 .. of w = exp(-2 pi i k / S). */
template <class F, int R>
LW_DEVICE void tile_powers(const typename F::C *roots, int k, typename F::C (&power)[log2_of(R)])
{
#pragma unroll
    for (int l = 0; l < log2_of(R); ++l)
        power[l] = roots[(k << l) & (F::S - 1)];
}

/* exp(-2 pi i (3/4) 2^l / n), n = 16, 32, 64 or 128; a constant once loops are unrolled */
template <class C> LW_DEVICE C right_angle_root(int l, int n)
{
    constexpr double cosine[7] = {
        0.99932238458834954375, 0.99729045667869020697, 0.98917650996478101444, 0.95694033573220882438,
        0.83146961230254523567, 0.38268343236508983729, -0.70710678118654746172,
    };
    constexpr double sine[7] = {
        0.03680722294135883171, 0.07356456359966742631, 0.14673047445536174793, 0.29028467725446233105,
        0.55557023301960217765, 0.92387953251128673848, 0.70710678118654757274,
    };
    const int at = l + 7 - log2_of(n);
    using Real = decltype(C::x);
    return {(Real)cosine[at], (Real)-sine[at]};
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

template <class F, bool REAL> LW_DEVICE void tile_forward(typename F::C (&v)[F::E], typename F::C *shared, int t)
{
    using C = typename F::C;
    constexpr int E = F::E, X = F::X;
    const C *const roots = shared + F::ROOTS;
    C *const region = shared + t / 16 * F::REGION;
    const int lane = t % 16;
    if constexpr (REAL) {
        C weights[log2_of(E)];
#pragma unroll
        for (int l = 0; l < log2_of(E); ++l)
            weights[l] = right_angle_root<C>(l, E);
        dft<E, true>(v, weights);
    } else
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
    if (REAL) {
        down[0] = product(down[0], right_angle_root<C>(0, F::S));
        down[1] = product(down[1], right_angle_root<C>(1, F::S));
    }
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

/* Reverse steps; re and im of the input are swapped. */
template <class F, bool REAL> LW_DEVICE void tile_backward(typename F::C (&v)[F::E], typename F::C *shared, int t)
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
    if (REAL) {
        const auto *const weights = (const SixteenBytes<C> *)(shared + F::WEIGHTS + t / F::S * E);
        multiply_points<false>(v, [&](int i) { return weights[i]; });
    }
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

/* A thread's column of a tile's window, ROWS high. Rows [begin, end) are pixels of the image, stored `pitch` apart from `index`
 * on; other rows below `rows` lie beyond the image. Where the column lies beyond the image, begin = end. */
struct Strand {
    int64_t index, pitch;
    int begin, end, rows;
};

template <int ROWS> LW_DEVICE Strand strand_of(const lw_conv2d_block &b, const Piece &p, int x)
{
    Strand s = {0, b.columns, 0, 0, 0};
    const int64_t column = boundary_index(b.boundary, b.first_column + p.column + x, b.columns);
    const int64_t above = b.boundary == LW_BOUNDARY_ZERO ? -(b.first_row + p.row) : 0;
    const int64_t below = b.boundary == LW_BOUNDARY_ZERO ? b.rows - b.first_row - p.row : ROWS;
    s.rows = least(ROWS, input_rows(b) - p.row);
    s.begin = column < 0 ? ROWS : (int)(above < 0 ? 0 : least(above, ROWS));
    s.end = column < 0 ? ROWS : (int)(below < 0 ? 0 : least(below, s.rows));
    s.index = input_index(b, p.channel, p.row) + (column < 0 ? 0 : column);
    return s;
}

/* Return row y of the strand, as stored. */
template <class Pixel, class Stored, bool INNER>
LW_DEVICE Pixel strand_pixel(const lw_conv2d_block &b, const Strand &s, int y)
{
    using Real = RealPart<Pixel>;
    if (!INNER && (y < s.begin || y >= s.end))
        return pixel_of<Pixel>(y < s.rows ? (Real)b.outside : 0);
    return raw_pixel<Pixel>(b, (const Stored *)b.input, s.index + y * s.pitch);
}

/* Load the points of step 1 into v. */
template <class F, bool REAL, class Stored, bool INNER>
LW_DEVICE void load_points(typename F::C (&v)[F::E], const lw_conv2d_block &b, const Strand &s, int y0)
{
    using Real = typename F::Real;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const int y = y0 + 4 * m;
        if constexpr (REAL)
            v[m] = {strand_pixel<Real, Stored, INNER>(b, s, y), strand_pixel<Real, Stored, INNER>(b, s, y + F::S)};
        else
            v[m] = strand_pixel<typename F::C, Stored, INNER>(b, s, y);
    }
}

/* Load the points of step 1. INNER if all columns of the warp lie in the image. */
template <class F, bool REAL, class Stored>
LW_DEVICE void load_points(typename F::C (&v)[F::E], const lw_conv2d_block &b, const Strand &s, int y0)
{
    const bool inner = s.begin == 0 && s.end == (REAL ? 2 : 1) * F::S;
    if (__any_sync(0xffffffffu, !inner))
        load_points<F, REAL, Stored, false>(v, b, s, y0);
    else
        load_points<F, REAL, Stored, true>(v, b, s, y0);
}

/* Return the largest e of a block of WARPS warps. It is a barrier, too. */
template <int WARPS> LW_DEVICE int largest_of_block(int e, int *reduce, int t)
{
    e = largest_of_warp(e);
    if (t % 32 == 0)
        reduce[t / 32] = e;
    __syncthreads();
#pragma unroll
    for (int warp = 0; warp < WARPS; ++warp)
        e = max(e, reduce[warp]);
    return e;
}

/* Load the points and scale them; return the exponent taken out. It is a barrier, too. */
template <class F, bool REAL>
LW_DEVICE int load_scaled(typename F::C (&v)[F::E], const lw_conv2d_block &b, const Strand &s, int *reduce, int t)
{
    with_stored(b.scalar, [&](auto stored) { load_points<F, REAL, decltype(stored)>(v, b, s, t / F::S); });
    return make_moderate<REAL>(v, b, t, [&](bool is_again) {
        if (is_again)
            __syncthreads();
        return largest_of_block<F::T / 32>(largest_exponent(v), reduce, t);
    });
}

/* The set {0 .. n - 1} as a bit mask, restricted to numbers below 32. */
LW_DEVICE unsigned numbers_below(int n) { return n >= 32 ? ~0u : (1u << max(n, 0)) - 1; }

/* Store the outputs of a complex tile, or those of the upper or lower half of a real one, which are im and re of v (swapped). */
template <class F, bool REAL, int HALF>
LW_DEVICE void store_points(const typename F::C (&v)[F::E], const lw_conv2d_block &b, const Piece &p, int t)
{
    using Real = typename F::Real;
    using Out = typename std::conditional<REAL, Real, typename F::C>::type;
    const int x = t % F::S - ((int)b.kernel_columns - 1), first = t / F::S + HALF * F::S - ((int)b.kernel_rows - 1);
    if (x < 0 || x >= p.n_columns)
        return;
    const int64_t pitch = 4 * b.output_columns;
    Out *at = (Out *)b.output + (p.channel * b.count + p.row + first) * b.output_columns + p.column + x;
#pragma unroll
    for (int m = 0; m < F::E; ++m, at += pitch) {
        if ((unsigned)(first + 4 * m) >= (unsigned)p.n_rows)
            continue;
        if constexpr (REAL)
            __stcs(at, HALF == 0 ? v[m].y : v[m].x);
        else
            __stcs(at, Out{v[m].y, v[m].x});
    }
}

/* One block makes one tile. `bank` holds the roots and weights, then the spectrum. */
template <class F, int BLOCKS, bool REAL>
__global__ void __launch_bounds__(F::T, BLOCKS)
conv2d_tile(const lw_conv2d_block b, const lw_conv2d_grid g, const typename F::C *bank)
{
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const shared = (C *)memory;
    const int t = threadIdx.x;
    if (t < F::TABLES)
        shared[F::ROOTS + t] = __ldg(bank + t);
    const Piece piece = piece_of(b, g, spot_of(g, blockIdx.x), 0);
    const Strand strand = strand_of<REAL ? 2 * F::S : F::S>(b, piece, t % F::S);
    C v[F::E];
    const int exponent = load_scaled<F, REAL>(v, b, strand, (int *)(memory + F::EXCHANGE_BYTES), t);
    tile_forward<F, REAL>(v, shared, t);
    const auto *const k = (const SixteenBytes<C> *)(bank + F::TABLES) + t;
    multiply_points<true>(v, [&](int i) { return __ldg(k + i * F::T); });
    tile_backward<F, REAL>(v, shared, t);
    scale_back(v, exponent + b.exponent);
    store_points<F, REAL, 0>(v, b, piece, t);
    if (REAL)
        store_points<F, REAL, 1>(v, b, piece, t);
}
