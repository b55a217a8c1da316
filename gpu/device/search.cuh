/* search.cuh - device code for single outputs of a search, see signal/search.h.
 *
 * Outputs are multiplied by their `scale`, 1 / (threshold sigma), before they are squared: small squares could underflow. */
#pragma once

#include "gpu/device/fft.cuh"
#include "signal/search.h"

#include <math_constants.h>

LW_DEVICE double real_of(float y) { return y; }
LW_DEVICE double real_of(double y) { return y; }
LW_DEVICE double real_of(float2 y) { return y.x; }
LW_DEVICE double real_of(double2 y) { return y.x; }
LW_DEVICE double imaginary_of(float) { return 0; }
LW_DEVICE double imaginary_of(double) { return 0; }
LW_DEVICE double imaginary_of(float2 y) { return y.y; }
LW_DEVICE double imaginary_of(double2 y) { return y.y; }

template <class Value> LW_DEVICE Value value_of(double re, double im)
{
    using Real = RealPart<Value>;
    if constexpr (sizeof(Value) > sizeof(Real))
        return {(Real)re, (Real)im};
    else
        return (Real)re;
}

template <class Value> LW_DEVICE Value not_a_number() { return value_of<Value>(CUDART_NAN, CUDART_NAN); }

LW_DEVICE double absolute(double re, double im) { return im == 0 ? fabs(re) : hypot(re, im); }

/* Return the least scaled square of a crossing: 1 less 4e-6 (single) or 1.4e-14 (double), more than its rounding errors. */
template <class Real> LW_DEVICE Real crossing_limit() { return sizeof(Real) == 4 ? (Real)(1 - 0x1p-18) : (Real)(1 - 0x1p-46); }

/* Return (|y| scale)^2. */
template <class Real> LW_DEVICE Real scaled_square(Real y, Real scale)
{
    const Real x = y * scale;
    return x * x;
}
LW_DEVICE float scaled_square(float2 y, float scale)
{
    const float x = y.x * scale, z = y.y * scale;
    return fmaf(x, x, z * z);
}
LW_DEVICE double scaled_square(double2 y, double scale)
{
    const double x = y.x * scale, z = y.y * scale;
    return fma(x, x, z * z);
}

template <class Value, class Real> LW_DEVICE bool crosses(Value y, Real scale)
{
    return scaled_square(y, scale) >= crossing_limit<Real>();
}

/* Return the strength of y, by which outputs of filters are compared. NaN is weaker than all others; the strength is NaN, and not
 * stronger than any other, if the scale is. */
template <class Value> LW_DEVICE double strength_of(Value y, double scale, lw_sign sign)
{
    const double re = real_of(y);
    const double size = sign == LW_SIGN_BOTH ? absolute(re, imaginary_of(y)) : sign == LW_SIGN_POSITIVE ? re : -re;
    return isnan(re) || isnan(imaginary_of(y)) ? -CUDART_INF : size * scale;
}

/* Return the strength by which kernels that search their own outputs compare them: |y| scale, y scale or -y scale if a sign is
 * sought, and of complex outputs (|y| scale)^2. A power of two in `scale` changes no digit, so that outputs keep their order with
 * any other. Complex outputs: scales whose squares are safe are squared once; of others the power of two is taken to y first. */
template <class Real> LW_DEVICE int exponent_of(Real x) { return ilogb(max(x, sizeof(Real) == 4 ? (Real)1e-36 : (Real)1e-300)); }
LW_DEVICE float size_of(float x) { return fabsf(x); }
LW_DEVICE double size_of(double x) { return fabs(x); }
template <class Real> LW_DEVICE Real compared(Real y, Real scale, lw_sign sign)
{
    return (sign == LW_SIGN_BOTH ? size_of(y) : sign == LW_SIGN_POSITIVE ? y : -y) * scale;
}

template <class Real> struct SplitScale {
    Real power = 1, square;         /* scale = power sqrt(square) */

    LW_DEVICE explicit SplitScale(Real scale)
    {
        if (!(scale >= (Real)1e-12 && scale <= (Real)1e8)) {
            power = ldexp((Real)1, max(ilogb(scale), -140));
            scale /= power;
        }
        square = scale * scale;
    }
};

template <class C, class Real> LW_DEVICE Real compared(C y, SplitScale<Real> scale)
{
    const Real re = y.x * scale.power, im = y.y * scale.power;
    return fma(im, im, re * re) * scale.square;
}

/* Let outputs of filters first .. first + n - 1 of the bank compete at a place, whose best output counts if goes_on.
 * @param best, filter  output of the place's best filter, and its number in the bank; -1: none
 * @param y             outputs, `plane` apart
 * @param scales        scales of the bank */
template <class Value>
LW_DEVICE void keep_best(Value *best, int32_t *filter, bool goes_on, const Value *y, int64_t plane,
                         const RealPart<Value> *scales, int first, int n, lw_sign sign)
{
    int number = goes_on ? *filter : -1;
    Value value = number >= 0 ? *best : not_a_number<Value>();
    double strongest = number >= 0 ? strength_of(value, scales[number], sign) : -CUDART_INF;
    for (int f = first; f < first + n; ++f, y += plane) {
        const double strength = strength_of(*y, scales[f], sign);
        if (strength > strongest) {
            strongest = strength;
            value = *y;
            number = f;
        }
    }
    *best = value;
    *filter = number;
}

/* Return whether an output with real part `re` has the sign that is sought, as lw_sign_fits does on the host. */
LW_DEVICE bool has_sign(lw_sign sign, double re)
{
    return sign == LW_SIGN_BOTH || (sign == LW_SIGN_POSITIVE ? re > 0 : re < 0);
}

/* Append a crossing to the table, if it has room. *n_rows counts on beyond the table's end, to tell the host the room needed. */
template <class Value>
__device__ inline void append_crossing(lw_crossing *rows, int64_t most_rows, unsigned long long *n_rows, int64_t index,
                                       int64_t channel, int filter, Value y)
{
    const unsigned long long row = atomicAdd(n_rows, 1ull);
    if (row < (unsigned long long)most_rows)
        rows[row] = lw_crossing{index, (int32_t)channel, filter, 0, real_of(y), imaginary_of(y)};
}
