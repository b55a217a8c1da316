/* rows.cuh - the row passes of large tiles. A team of threads takes one row, or two rows of real pieces as re and im, and
 * transforms it in registers and shared memory (gpu/device/fft.cuh). Lanes access neighbouring points of global memory
 * (coalesced).
 *
 * Each row is scaled to a magnitude near 1; the column pass evens out the scales of the rows. Pixels that are not finite show in
 * the row's largest exponent. */
#pragma once

#include "gpu/conv2d/bands.cuh"
#include "gpu/device/fft_24.cuh"

/* A transform of rows of N points; a block takes TEAMS rows. */
template <class Real, int E, int P, int TEAMS_> struct RowPass : Transform<Real, E, P, Team<E * P, TEAMS_>> {
    using Base = Transform<Real, E, P, Team<E * P, TEAMS_>>;
    static constexpr int TEAMS = TEAMS_, THREADS = TEAMS * Base::T, WARPS = Base::T / 32;
    static constexpr int SHARED_BYTES_OF_BLOCK = TEAMS * (Base::SHARED_BYTES + 16 * ((WARPS + 3) / 4));
    static_assert(Base::T % 32 == 0, "a warp works on one row");
};

/* A row of a piece's window. If `plain`, points [begin, end) are pixels [index + begin, index + end) of the input, and the other
 * points are `fill`. If not, the other points are pixels from elsewhere in the image's row, by the boundary. */
template <class Real> struct Line {
    int64_t index, row, column;     /* input index of point 0; input index of the row's first pixel; image column of point 0 */
    int begin, end;
    Real fill;
    bool plain;
};

template <class F> LW_DEVICE Line<typename F::Real> line_of(const BandArgs &a, const Piece &p, int y)
{
    const lw_conv2d_block &b = a.block;
    const int64_t r = p.row + y, position = b.first_row + r;
    const int64_t column = b.first_column + p.column - (a.before - ((int)b.kernel_columns - 1));
    const int64_t row = input_index(b, p.channel, r);
    Line<typename F::Real> line = {row + column, row, column, 0, 0, 0, true};
    if (p.n_rows == 0 || r >= input_rows(b))
        return line;
    line.fill = b.outside;
    if (b.boundary == LW_BOUNDARY_ZERO && (position < 0 || position >= b.rows))
        return line;
    line.begin = column < 0 ? least(-column, F::N) : 0;
    line.end = column < b.columns ? least(b.columns - column, F::N) : 0;
    line.plain = b.boundary == LW_BOUNDARY_ZERO || (line.begin == 0 && line.end == F::N);
    return line;
}

/* Load a plain line: its pixels are at constant distances from the first. */
template <class F, class Pixel, class Stored, class Put>
LW_DEVICE void load_plain(const lw_conv2d_block &b, const Line<typename F::Real> &line, int t, Put put)
{
    constexpr bool may_be_complex = is_complex_pixel<Pixel> && std::is_floating_point<Stored>::value;
    const Stored *from = (const Stored *)b.input + (line.index + t) * (may_be_complex && b.input_complex ? 2 : 1);
    opaque(from);                   /* else the compiler derives each address from the input's by several instructions */
    const int before = t - line.begin;
    const unsigned n = max(line.end - line.begin, 0);
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        Pixel value = pixel_of<Pixel>(line.fill);
        if ((unsigned)(before + F::T * m) < n)
            value = raw_pixel<Pixel>(b, from, F::T * m);
        put(m, value);
    }
}

/* Return point x of any line. */
template <class Pixel, class Stored>
LW_DEVICE Pixel line_pixel(const lw_conv2d_block &b, const Line<RealPart<Pixel>> &line, int x)
{
    if (line.plain && (x < line.begin || x >= line.end))
        return pixel_of<Pixel>(line.fill);
    const int64_t column = boundary_index(b.boundary, line.column + x, b.columns);
    return raw_pixel<Pixel>(b, (const Stored *)b.input, line.row + column);
}

/* Load any line. One that is not plain goes through shared memory point by point: such lines are few, and need short code. */
template <class F, bool PAIRED, class Stored>
LW_DEVICE void load_line(typename F::C (&v)[F::E], const lw_conv2d_block &b, const Line<typename F::Real> (&lines)[2],
                         typename F::C *shared, int t)
{
    using Real = typename F::Real;
    using C = typename F::C;
    if (lines[0].plain && lines[1].plain) {
        if constexpr (PAIRED) {
            load_plain<F, Real, Stored>(b, lines[0], t, [&](int m, Real x) { v[m].x = x; });
            load_plain<F, Real, Stored>(b, lines[1], t, [&](int m, Real x) { v[m].y = x; });
        } else
            load_plain<F, C, Stored>(b, lines[0], t, [&](int m, C x) { v[m] = x; });
        return;
    }
#pragma unroll 1
    for (int x = t; x < F::N; x += F::T)
        if constexpr (PAIRED)
            shared[x] = {line_pixel<Real, Stored>(b, lines[0], x), line_pixel<Real, Stored>(b, lines[1], x)};
        else
            shared[x] = line_pixel<C, Stored>(b, lines[0], x);
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        v[m] = shared[t + F::T * m];
}

/* Return the largest e of the team's threads. */
template <class F> LW_DEVICE int largest_of_team(int e, int *reduce, int t)
{
    e = largest_of_warp(e);
    if (F::WARPS == 1)
        return e;
    F::Team::sync();                /* all threads have read the previous contents */
    if (t % 32 == 0)
        reduce[t / 32] = e;
    F::Team::sync();
    for (int warp = 0; warp < F::WARPS; ++warp)
        e = max(e, reduce[warp]);
    return e;
}

/* Load and scale the points of a row; return the exponent taken out. */
template <class F, bool PAIRED>
LW_DEVICE int load_scaled_line(typename F::C (&v)[F::E], const lw_conv2d_block &b,
                               const Line<typename F::Real> (&lines)[2], typename F::C *shared, int t)
{
    int *const reduce = (int *)((unsigned char *)shared + F::SHARED_BYTES);
    with_stored(b.scalar, [&](auto stored) { load_line<F, PAIRED, decltype(stored)>(v, b, lines, shared, t); });
    return make_moderate<PAIRED>(v, b, t, [&](bool) { return largest_of_team<F>(largest_exponent(v), reduce, t); });
}

template <class F> LW_DEVICE typename F::C *team_memory(unsigned char *memory)
{
    return (typename F::C *)(memory + F::Team::number() * (F::SHARED_BYTES_OF_BLOCK / F::TEAMS));
}

/* A line of the batch: its transform, and its row in the windows of that transform's pieces. Where neighbours share lines, all
 * lines of a strip count as the window of the strip's first transform. */
struct BandLine {
    Spot spot;
    int row;
    bool is_needed;
};

LW_DEVICE BandLine band_line(const BandArgs &a, unsigned line)
{
    const unsigned each = (unsigned)(a.grid.transforms_down * a.step + a.lead);
    const unsigned number = a.first_down * (unsigned)a.step + line, strips = number / each, row = number - strips * each;
    const bool is_shared = a.grid.pair_rows == 1;
    const unsigned down = is_shared ? 0 : row / (unsigned)a.step;
    const Spot spot = strip_spot(a, a.first_strip + strips, down);
    const int y = (int)(row - down * (unsigned)a.step);
    return {spot, y, is_shared ? y < input_rows(a.block) : y < needed_rows(a, spot)};
}

template <class F, int BLOCKS, bool PAIRED>
__global__ void __launch_bounds__(F::THREADS, BLOCKS) conv2d_rows(const BandArgs a)
{
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const shared = team_memory<F>(memory);
    const int t = F::Team::thread();
    const unsigned number = blockIdx.x * F::TEAMS + F::Team::number();
    if (number >= (unsigned)a.n_lines)
        return;
    const BandLine line = band_line(a, number);
    if (!line.is_needed)
        return;
    const Piece first = piece_of(a.block, a.grid, line.spot, 0), second = piece_of(a.block, a.grid, line.spot, 1);
    const Line<typename F::Real> lines[2] = {line_of<F>(a, first, line.row), line_of<F>(a, second, line.row)};
    F fft;
    fft.load((const C *)a.row_table, t);
    wait_for_predecessor();
    C v[F::E];
    const int e = load_scaled_line<F, PAIRED>(v, a.block, lines, shared, t);
    if (t == 0)
        a.row_exponents[number] = e;
    fft.forward(v, shared, t);
    C *const to = (C *)a.lines + (int64_t)number * F::N + t;
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        to[F::T * m] = v[m];
}

/* Store one piece's outputs of a row; they are at constant distances from the first. */
template <class F, bool PAIRED, int PART>
LW_DEVICE void store_line(const typename F::C (&v)[F::E], const BandArgs &a, const Piece &p, int i, int t)
{
    const lw_conv2d_block &b = a.block;
    using Real = typename F::Real;
    using Out = typename std::conditional<PAIRED, Real, typename F::C>::type;
    if (i >= p.n_rows)
        return;
    const int first = t - a.before;
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

template <class F, int BLOCKS, bool PAIRED>
__global__ void __launch_bounds__(F::THREADS, BLOCKS) conv2d_back(const BandArgs a)
{
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    const int t = F::Team::thread();
    const unsigned line = blockIdx.x * F::TEAMS + F::Team::number(), item = line / (unsigned)a.grid.hop_rows;
    const int i = (int)(line - item * (unsigned)a.grid.hop_rows);
    if (item >= (unsigned)a.n)
        return;
    const Spot spot = band_spot(a, item).spot;
    const Piece first = piece_of(a.block, a.grid, spot, 0), second = piece_of(a.block, a.grid, spot, 1);
    if (i >= first.n_rows)          /* the other piece has no more rows */
        return;
    F fft;
    fft.load((const C *)a.row_table, t);
    const C *const points = (const C *)a.points + (int64_t)line * F::N + t;
    C v[F::E];
    wait_for_predecessor();
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        v[m] = __ldcs(points + F::T * m);
#pragma unroll
    for (int m = 0; m < F::E / 2; ++m)
        butterfly(v[m], v[m + F::E / 2]);
    fft.backward(v, team_memory<F>(memory), t);
    scale_back(v, a.exponents[item] + a.block.exponent);
    store_line<F, PAIRED, 0>(v, a, first, i, t);
    if (PAIRED)
        store_line<F, PAIRED, 1>(v, a, second, i, t);
}

template <class F, int BLOCKS> constexpr BandKernel rows_kernel()
{
    return {F::N, F::E, F::P, F::TEAMS, F::THREADS, F::SHARED_BYTES_OF_BLOCK, conv2d_rows<F, BLOCKS, true>,
            conv2d_rows<F, BLOCKS, false>};
}

template <class F, int BLOCKS> constexpr BandKernel back_kernel()
{
    return {F::N, F::E, F::P, F::TEAMS, F::THREADS, F::SHARED_BYTES_OF_BLOCK, conv2d_back<F, BLOCKS, true>,
            conv2d_back<F, BLOCKS, false>};
}
