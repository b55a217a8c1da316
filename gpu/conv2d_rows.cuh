/* conv2d_rows.cuh - the row passes of large tiles: a team of threads takes a row (two, as re and im, of real pieces),
 * transforms it in registers and shared memory (see fft.cuh), and reads and writes global memory with lanes side by
 * side.
 *
 * Each row is brought to a magnitude near 1; the column pass evens that out between rows. Pixels that are not finite
 * show in the row's largest exponent. */
#ifndef LW_CONV2D_ROWS_CUH
#define LW_CONV2D_ROWS_CUH

#include "conv2d_bands.cuh"

/* Rows of N points; TEAMS of them in a block. */
template <class Real, int E, int P, int TEAMS_> struct RowPass : Transform<Real, E, P, Team<E * P, TEAMS_>> {
    using Base = Transform<Real, E, P, Team<E * P, TEAMS_>>;
    static constexpr int TEAMS = TEAMS_, THREADS = TEAMS * Base::T, WARPS = Base::T / 32;
    static constexpr int SHARED_BYTES_OF_BLOCK = TEAMS * (Base::SHARED_BYTES + 16 * ((WARPS + 3) / 4));
    static_assert(Base::T % 32 == 0, "a warp works on one row");
};

/* A row of a piece's window: where its pixels are stored, or that there are none. */
struct Line {
    int64_t index, column;          /* of the pixel that stands in column 0 of the image; position of point 0 */
    bool exists, open;              /* open: beyond the image, all of it */
};

LW_DEVICE Line line_of(const lw_conv2d_block &b, const Piece &p, int y)
{
    const int64_t r = p.row + y, position = b.first_row + r;
    Line line = {(p.channel * input_rows(b) + r) * b.columns, b.first_column + p.column, false, false};
    line.exists = p.n_rows > 0 && r < input_rows(b);
    line.open = b.boundary == LW_ZERO && (position < 0 || position >= b.rows);
    return line;
}

/* Pixel i of the input, as the number stored. */
template <class Pixel, class Stored>
LW_DEVICE Pixel raw_pixel(const lw_conv2d_block &b, const Stored *stored, int64_t i)
{
    using Real = RealPartOf<Pixel>;
    if constexpr (!is_complex_pixel<Pixel>)
        return converted<Real>(__ldg(stored + i));
    else if constexpr (std::is_floating_point<Stored>::value) {
        if (b.input_complex)
            return stored_pair<Real, Stored, true>(stored, i);
        return stored_pair<Real, Stored, false>(stored, i);
    } else
        return stored_pair<Real, Stored, false>(stored, i);
}

/* A line's point x. */
template <class Pixel, class Stored> LW_DEVICE Pixel line_pixel(const lw_conv2d_block &b, const Line &line, int x)
{
    int64_t column = line.column + x;
    if (!line.exists)
        return pixel_of<Pixel>(0);
    if (column < 0 || column >= b.columns)
        column = boundary_index(b.boundary, column, b.columns);
    if (line.open || column < 0)
        return pixel_of<Pixel>((RealPartOf<Pixel>)b.outside);
    return raw_pixel<Pixel>(b, (const Stored *)b.input, line.index + column);
}

/* Whether all points from 0 to n are stored pixels. */
LW_DEVICE bool is_inner(const lw_conv2d_block &b, const Line &line, int n)
{
    return line.exists && !line.open && line.column >= 0 && line.column + n <= b.columns;
}

/* A thread's points of an inner line are at constant distances from the first. */
template <class F, class Pixel, class Stored, class Put>
LW_DEVICE void load_part(const lw_conv2d_block &b, const Line &line, int t, Put put)
{
    if (is_inner(b, line, F::N)) {
        const Stored *const x = (const Stored *)b.input;
        const int64_t first = line.index + line.column + t;
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            put(m, raw_pixel<Pixel>(b, x, first + F::T * m));
    } else {
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            put(m, line_pixel<Pixel, Stored>(b, line, t + F::T * m));
    }
}

template <class F, bool PAIRED, class Stored>
LW_DEVICE void load_line(typename F::C (&v)[F::E], const lw_conv2d_block &b, const Line (&lines)[2], int t)
{
    using Real = typename F::Real;
    using C = typename F::C;
    if constexpr (PAIRED) {
        load_part<F, Real, Stored>(b, lines[0], t, [&](int m, Real x) { v[m].x = x; });
        load_part<F, Real, Stored>(b, lines[1], t, [&](int m, Real x) { v[m].y = x; });
    } else
        load_part<F, C, Stored>(b, lines[0], t, [&](int m, C x) { v[m] = x; });
}

/* Over the team. */
template <class F> LW_DEVICE int largest_exponent(const typename F::C (&v)[F::E], int *reduce, int t)
{
    int e = 0;
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        e = max(e, max(biased_exponent(v[m].x), biased_exponent(v[m].y)));
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        e = max(e, __shfl_xor_sync(0xffffffffu, e, other));
    if (F::WARPS == 1)
        return e;
    F::Team::sync();                /* everyone has read what was there */
    if (t % 32 == 0)
        reduce[t / 32] = e;
    F::Team::sync();
    for (int warp = 0; warp < F::WARPS; ++warp)
        e = max(e, reduce[warp]);
    return e;
}

template <class F, bool PAIRED> LW_DEVICE void drop_from_line(typename F::C (&v)[F::E])
{
    bool unused = false;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const bool whole = !PAIRED && !(isfinite(v[m].x) && isfinite(v[m].y));
        v[m].x = whole ? 0 : finite_or_zero(v[m].x, unused);
        v[m].y = whole ? 0 : finite_or_zero(v[m].y, unused);
    }
}

/* Points of a row, scaled; returns the exponent that was taken out. */
template <class F, bool PAIRED>
LW_DEVICE int load_scaled_line(typename F::C (&v)[F::E], const lw_conv2d_block &b, const Line (&lines)[2], int *reduce,
                               int t)
{
    using Real = typename F::Real;
    LW_WITH_STORED(b.scalar, (load_line<F, PAIRED, Stored>(v, b, lines, t)))
    int e = largest_exponent<F>(v, reduce, t);
    if (e == infinite_exponent<Real>) {
        if (t == 0)
            *b.not_finite = 1;
        drop_from_line<F, PAIRED>(v);
        e = largest_exponent<F>(v, reduce, t);
    }
    e = usable_exponent<Real>(e);
    const Real scale = power_of_two<Real>(-e);
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        v[m] = {v[m].x * scale, v[m].y * scale};
    return e;
}

template <class F> LW_DEVICE typename F::C *team_memory(unsigned char *memory)
{
    return (typename F::C *)(memory + F::Team::number() * (F::SHARED_BYTES_OF_BLOCK / F::TEAMS));
}

template <class F, int BLOCKS, bool PAIRED>
__global__ void __launch_bounds__(F::THREADS, BLOCKS) conv2d_rows(const BandArgs a)
{
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const shared = team_memory<F>(memory);
    const int t = F::Team::thread();
    const unsigned line = blockIdx.x * F::TEAMS + F::Team::number(), item = line / (unsigned)a.grid.rows;
    const int y = (int)(line - item * (unsigned)a.grid.rows);
    if (item >= (unsigned)a.n)
        return;
    const Pieces p = pieces_of(a, item);
    if (y >= p.needed_rows)
        return;
    const Line lines[2] = {line_of(a.block, p.piece[0], y), line_of(a.block, p.piece[1], y)};
    F fft;
    fft.load((const C *)a.row_table, t);
    C v[F::E];
    const int e = load_scaled_line<F, PAIRED>(v, a.block, lines, (int *)((unsigned char *)shared + F::SHARED_BYTES), t);
    if (t == 0)
        a.row_exponents[line] = e;
    fft.forward(v, shared, t);
    C *const points = (C *)a.points + (int64_t)line * F::N + t;
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        points[F::T * m] = v[m];
}

/* One piece's outputs of a row, at constant distances from the first. */
template <class F, bool PAIRED, int PART>
LW_DEVICE void store_line(const typename F::C (&v)[F::E], const lw_conv2d_block &b, const Piece &p, int i, int t)
{
    using Real = typename F::Real;
    using Out = typename std::conditional<PAIRED, Real, typename F::C>::type;
    if (i >= p.n_rows)
        return;
    const int first = t - ((int)b.kernel_columns - 1);
    Out *at = (Out *)b.output + (p.channel * b.count + p.row + i) * b.output_columns + p.column + first;
    opaque(at);
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        if ((unsigned)(first + F::T * m) >= (unsigned)p.n_columns)
            continue;
        if constexpr (PAIRED)
            __stcs(at + F::T * m, PART == 0 ? v[m].y : v[m].x);
        else
            __stcs(at + F::T * m, Out{v[m].y, v[m].x});
    }
}

/* Row i of the outputs stands in row kernel_rows - 1 + i of the tile. */
template <class F, int BLOCKS, bool PAIRED>
__global__ void __launch_bounds__(F::THREADS, BLOCKS) conv2d_back(const BandArgs a)
{
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    const int t = F::Team::thread();
    const unsigned line = blockIdx.x * F::TEAMS + F::Team::number(), item = line / (unsigned)a.grid.hop_rows;
    const int i = (int)(line - item * (unsigned)a.grid.hop_rows), lead = (int)a.block.kernel_rows - 1;
    if (item >= (unsigned)a.n)
        return;
    const Pieces p = pieces_of(a, item);
    if (lead + i >= p.needed_rows)
        return;
    F fft;
    fft.load((const C *)a.row_table, t);
    const C *const points = (const C *)a.points + ((int64_t)item * a.grid.rows + lead + i) * F::N + t;
    C v[F::E];
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        v[m] = __ldcs(points + F::T * m);
#pragma unroll
    for (int m = 0; m < F::E / 2; ++m)
        butterfly(v[m], v[m + F::E / 2]);
    fft.backward(v, team_memory<F>(memory), t);
    const int exponent = a.exponents[item] + a.block.exponent;
    scale_back(v, exponent, exponent);
    store_line<F, PAIRED, 0>(v, a.block, p.piece[0], i, t);
    if (PAIRED)
        store_line<F, PAIRED, 1>(v, a.block, p.piece[1], i, t);
}

template <class F, int BLOCKS> constexpr BandKernel rows_kernel(enum lw_precision precision)
{
    return {precision, F::N, F::E, F::P, F::TEAMS, F::THREADS, F::SHARED_BYTES_OF_BLOCK, conv2d_rows<F, BLOCKS, true>,
            conv2d_rows<F, BLOCKS, false>};
}

template <class F, int BLOCKS> constexpr BandKernel back_kernel(enum lw_precision precision)
{
    return {precision, F::N, F::E, F::P, F::TEAMS, F::THREADS, F::SHARED_BYTES_OF_BLOCK, conv2d_back<F, BLOCKS, true>,
            conv2d_back<F, BLOCKS, false>};
}

#endif
