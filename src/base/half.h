/* half.h - IEEE 754 binary16: one sign bit, five bits of exponent, ten of fraction.
 *
 * The conversions are integer arithmetic on the bits: all instruction sets give the same result, and loops become vector code. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LW_HALF_BEYOND 65520.0f         /* magnitudes from this one on round to infinity */
#define LW_HALF_LEAST_NORMAL 0x1p-14f   /* smaller halves are subnormal: multiples of 2^-24 */

#define LW_HALF_SIGN 0x8000
#define LW_HALF_INFINITY 0x7c00
#define LW_HALF_NAN 0x7e00

static inline uint32_t lw_bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/** Return the half nearest to x, ties to even; subnormal halves are rounded the same way. */
static inline uint16_t lw_half_of_float(float x)
{
    const uint32_t bits = lw_bits_of_float(x), magnitude = bits & INT32_MAX;
    const float size = fabsf(x);
    /* Normal half: the exponent's bias changes from 127 to 15. Adding 2^12 - 1 and the last kept bit rounds
     * away the lower 13 of the 23 fraction bits, ties to even; a carry out of the fraction raises the exponent. */
    const uint32_t normal = (magnitude - (UINT32_C(112) << 23) + (UINT32_C(1) << 12) - 1 + (magnitude >> 13 & 1)) >> 13;
    /* Subnormal halves are multiples of 2^-24, like floats from 1/2 to 1: adding 1/2 rounds |x| to a multiple of 2^-24. */
    const uint32_t subnormal = lw_bits_of_float(size + 0.5f) - lw_bits_of_float(0.5f);
    const uint32_t finite = size < LW_HALF_LEAST_NORMAL ? subnormal : normal;
    const uint32_t number = size >= LW_HALF_BEYOND ? LW_HALF_INFINITY : finite;
    return (uint16_t)((size != size ? LW_HALF_NAN : number) | (bits >> 16 & LW_HALF_SIGN));
}

/** Return the half nearest to a double, with a single rounding. First x becomes a float by rounding to odd: if 24 bits cannot hold
 * x, the last one is set to 1. The float and x then round alike, since no half and no midpoint of halves lies between them
 * (Boldo and Melquiond, IEEE Transactions on Computers 57 (2008), 462). */
static inline uint16_t lw_half_of_double(double x)
{
    const uint64_t low = (UINT64_C(1) << 29) - 1;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits | ((bits & low) + low)) & ~low;
    memcpy(&x, &bits, sizeof x);
    return lw_half_of_float((float)x);
}

/** Return the largest finite half with the sign of `half`. */
static inline uint16_t lw_half_largest(uint16_t half) { return (uint16_t)((half & LW_HALF_SIGN) | (LW_HALF_INFINITY - 1)); }

static inline double lw_half_value(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return half & LW_HALF_SIGN ? -size : size;
}
