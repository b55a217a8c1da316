/* piece.cuh - the pieces of a transform: their positions, their magnitudes, and powers of two to scale them by.
 *
 * Pieces are scaled to a magnitude near 1 before a transform, and back afterwards. A faint piece then keeps its digits beside a
 * bright one in the same transform, and no number leaves the range. */
#pragma once

#include "gpu/conv2d/window.cuh"

/* One piece: n_rows x n_columns outputs of a channel; 0 x 0 beyond the block. */
struct Piece {
    int64_t channel, row, column;       /* position of its first output */
    int n_rows, n_columns;
};

LW_DEVICE int least(int64_t a, int64_t b) { return (int)(a < b ? a : b); }

/* Position of a transform in a block. A block has fewer than 2^31 transforms, so 32-bit divisions suffice: one of 64 bits costs as
 * much as 30 products. */
struct Spot {
    unsigned channel, down, across;
};

LW_DEVICE Spot spot_of(const lw_conv2d_grid &g, unsigned transform)
{
    const unsigned line = transform / (unsigned)g.transforms_across, channel = line / (unsigned)g.transforms_down;
    return {channel, line - channel * (unsigned)g.transforms_down, transform - line * (unsigned)g.transforms_across};
}

/* Piece `which` of a transform. */
LW_DEVICE Piece piece_of(const lw_conv2d_block &b, const lw_conv2d_grid &g, const Spot &spot, int which)
{
    const int below = g.pair_rows == 2 ? which : 0, beside = g.pair_columns == 2 ? which : 0;
    Piece p = {spot.channel, ((int64_t)spot.down * g.pair_rows + below) * g.hop_rows,
               ((int64_t)spot.across * g.pair_columns + beside) * g.hop_columns, 0, 0};
    const bool exists = which == below + beside && spot.channel < b.n_channels && p.row < b.count && p.column < b.output_columns;
    if (exists) {
        p.n_rows = least(g.hop_rows, b.count - p.row);
        p.n_columns = least(g.hop_columns, b.output_columns - p.column);
    }
    return p;
}

/* The bits of |x| that order numbers by magnitude; the largest of several has the largest exponent. */
LW_DEVICE int magnitude_bits(float x) { return __float_as_int(x) & 0x7fffffff; }
LW_DEVICE int magnitude_bits(double x) { return (int)(__double_as_longlong(x) >> 32) & 0x7fffffff; }

/* The biased exponent of a number with these magnitude_bits, that is, of the largest power of two not above it. A number that is
 * not finite has infinite_exponent. */
template <class Real> LW_DEVICE int biased_exponent(int bits) { return bits >> (sizeof(Real) == 4 ? 23 : 20); }
template <class Real> constexpr int infinite_exponent = sizeof(Real) == 4 ? 0xff : 0x7ff;
template <class Real> constexpr int exponent_bias = sizeof(Real) == 4 ? 127 : 1023;

/* The largest biased exponent among a thread's points. */
template <class C, int E> LW_DEVICE int largest_exponent(const C (&v)[E])
{
    int e = 0;
#pragma unroll
    for (int m = 0; m < E; ++m)
        e = max(e, max(magnitude_bits(v[m].x), magnitude_bits(v[m].y)));
    return biased_exponent<decltype(C::x)>(e);
}

LW_DEVICE int largest_of_warp(int e)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        e = max(e, __shfl_xor_sync(0xffffffffu, e, other));
    return e;
}

/* The nearest exponent for which both the power of two and its inverse are normal numbers. */
template <class Real> LW_DEVICE int usable_exponent(int biased)
{
    return min(max(biased, 1), infinite_exponent<Real> - 2) - exponent_bias<Real>;
}

template <class Real> LW_DEVICE Real power_of_two(int exponent)
{
    if constexpr (sizeof(Real) == 4)
        return __int_as_float((exponent + 127) << 23);
    else
        return __longlong_as_double((long long)(exponent + 1023) << 52);
}

/* 2^e for any e, as a product of two factors. The second is 1 unless no normal number has the exponent e. */
template <class Real> struct Power {
    Real first, second;

    LW_DEVICE explicit Power(int e)
    {
        const int most = exponent_bias<Real> - 1, one = min(max(e, -most), most), rest = min(max(e - one, -most), most);
        first = power_of_two<Real>(one);
        second = power_of_two<Real>(rest);
    }
};

template <class C, int E> LW_DEVICE void scale_points(C (&v)[E], decltype(C::x) factor)
{
#pragma unroll
    for (int m = 0; m < E; ++m)
        v[m] = {v[m].x * factor, v[m].y * factor};
}

/* Undo the scaling by 2^-exponent. */
template <class C, int E> LW_DEVICE void scale_back(C (&v)[E], int exponent)
{
    const Power<decltype(C::x)> power(exponent);
    scale_points(v, power.first);
    if (power.second != 1)
        scale_points(v, power.second);
}

/* v = v K, with re and im swapped if SWAPS. load(i) returns 16 bytes of K: two points in float, one in double. */
template <bool SWAPS, int E, class Load> LW_DEVICE void multiply_points(float2 (&v)[E], Load load)
{
#pragma unroll
    for (int m = 0; m < E; m += 2) {
        const float4 two = load(m / 2);
        const float2 a = product(v[m], float2{two.x, two.y}), b = product(v[m + 1], float2{two.z, two.w});
        v[m] = SWAPS ? float2{a.y, a.x} : a;
        v[m + 1] = SWAPS ? float2{b.y, b.x} : b;
    }
}

template <bool SWAPS, int E, class Load> LW_DEVICE void multiply_points(double2 (&v)[E], Load load)
{
#pragma unroll
    for (int m = 0; m < E; ++m) {
        const double2 a = product(v[m], load(m));
        v[m] = SWAPS ? double2{a.y, a.x} : a;
    }
}

/* The 16-byte type by which points are loaded. */
template <class C> using SixteenBytes = typename std::conditional<sizeof(C) == 8, float4, double2>::type;

/* Replace numbers that are not finite by zeros. REAL: a point is two separate pixels; else one, zeroed as a whole. */
template <bool REAL, class C, int E> LW_DEVICE void drop_not_finite(C (&v)[E])
{
    bool unused = false;
#pragma unroll
    for (int m = 0; m < E; ++m) {
        const bool whole = !REAL && !(isfinite(v[m].x) && isfinite(v[m].y));
        v[m].x = whole ? 0 : finite_or_zero(v[m].x, unused);
        v[m].y = whole ? 0 : finite_or_zero(v[m].y, unused);
    }
}

/* Scale points to a magnitude near 1, and replace those that are not finite by zeros. Return the exponent taken out.
 * largest(is_again): the largest biased exponent over all threads that share the points. */
template <bool REAL, class C, int E, class Largest>
LW_DEVICE int make_moderate(C (&v)[E], const lw_conv2d_block &b, int t, Largest largest)
{
    using Real = decltype(C::x);
    int e = largest(false);
    if (e == infinite_exponent<Real>) {
        if (t == 0)
            *b.not_finite = 1;
        drop_not_finite<REAL>(v);
        e = largest(true);
    }
    e = usable_exponent<Real>(e);
    scale_points(v, power_of_two<Real>(-e));
    return e;
}
