/* piece.cuh - the pieces of a transform: where they lie, their magnitude, and powers of two to scale by.
 *
 * Pieces are brought to a magnitude near 1 before they are transformed and back afterwards, so that a faint one keeps
 * its digits beside a bright one in the same transform, and none leaves the range of numbers. */
#pragma once

#include "gpu/conv2d/window.cuh"

/* One piece; n_rows x n_columns outputs of a channel, 0 x 0 beyond the block. */
struct Piece {
    int64_t channel, row, column;       /* of its first output */
    int n_rows, n_columns;
};

LW_DEVICE int least(int64_t a, int64_t b) { return (int)(a < b ? a : b); }

/* Where a transform stands among those of a block; fewer than 2^31, as a division of 64 bits costs as much as 30
 * products. */
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

/* Of several numbers, the largest of these has the largest exponent. */
LW_DEVICE int magnitude_bits(float x) { return __float_as_int(x) & 0x7fffffff; }
LW_DEVICE int magnitude_bits(double x) { return (int)(__double_as_longlong(x) >> 32) & 0x7fffffff; }

/* The biased exponent of a number, that of the next power of two not above it; infinite_exponent of what is not
 * finite. */
template <class Real> LW_DEVICE int biased_exponent(int bits) { return bits >> (sizeof(Real) == 4 ? 23 : 20); }
template <class Real> constexpr int infinite_exponent = sizeof(Real) == 4 ? 0xff : 0x7ff;
template <class Real> constexpr int exponent_bias = sizeof(Real) == 4 ? 127 : 1023;

/* The largest biased exponent of a thread's points. */
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

/* The nearest exponent whose power, and the power's inverse, are normal numbers. */
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

/* 2^e for any e as the product of two factors, the second of which is 1 but for e that no normal number has. */
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

/* Undo the scaling. */
template <class C, int E> LW_DEVICE void scale_back(C (&v)[E], int exponent)
{
    const Power<decltype(C::x)> power(exponent);
    scale_points(v, power.first);
    if (power.second != 1)
        scale_points(v, power.second);
}

/* v = v K, with re and im swapped if SWAPS; load(i): 16 bytes of K, which are for two points or for one. */
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

/* Points are loaded 16 bytes at a time. */
template <class C> using SixteenBytes = typename std::conditional<sizeof(C) == 8, float4, double2>::type;

/* Numbers that are not finite become zeros: both parts of a complex one, or those of real pixels in pairs by themselves. */
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

/* Brings points to a magnitude near 1, without those that are not finite; returns the exponent that was taken out.
 * largest(is_again): the largest biased exponent of all threads that share them. */
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
