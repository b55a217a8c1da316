/* stored.cuh - stored samples to registers: the loaders of the convolution kernels. */
#ifndef LW_GPU_OLS_KERNELS_STORED_CUH
#define LW_GPU_OLS_KERNELS_STORED_CUH

#include "gpu/device/fft.cuh"
#include "gpu/ols/kernels/kernels.h"

#include <cstdint>
#include <cstring>

/* Call `expression` with `Stored` standing for the C type of `scalar`. */
#define LW_WITH_STORED(scalar, expression)                                              \
    switch (scalar) {                                                                   \
    case LW_INT8:    { using Stored = int8_t;   expression; break; }                    \
    case LW_UINT8:   { using Stored = uint8_t;  expression; break; }                    \
    case LW_INT16:   { using Stored = int16_t;  expression; break; }                    \
    case LW_UINT16:  { using Stored = uint16_t; expression; break; }                    \
    case LW_INT32:   { using Stored = int32_t;  expression; break; }                    \
    case LW_FLOAT64: { using Stored = double;   expression; break; }                    \
    default:         { using Stored = float;    expression; break; }                    \
    }

/* 0 for NaN and infinity, of which it tells */
template <class Real> LW_DEVICE Real finite_or_zero(Real x, bool &met)
{
    if (isfinite(x))
        return x;
    met = true;
    return 0;
}

/* A stored value in the computing precision. Short integers are widened first: the conversion of a whole register is several
 * times as fast as that of a part of one. */
template <class Real, class Stored> LW_DEVICE Real converted(Stored x)
{
    if constexpr (sizeof(Stored) < 4) {
        int wide = x;
        opaque(wide);
        return (Real)wide;
    } else
        return (Real)x;
}

/* The bytes of one vector as another type of the same size. */
template <class To, class From> LW_DEVICE To repacked(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bytes");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

/* A sample as two reals: two neighbours of a complex or paired row, or one real sample and 0. */
template <class Real, class Stored, bool COMPLEX> LW_DEVICE Complex<Real> stored_pair(const Stored *x, int64_t i)
{
    if constexpr (!COMPLEX)
        return {converted<Real>(__ldg(x + i)), 0};
    else if constexpr (sizeof(Stored) == 4) {
        const float2 s = __ldg((const float2 *)x + i);
        return {(Real)s.x, (Real)s.y};
    } else {
        const double2 s = __ldg((const double2 *)x + i);
        return {(Real)s.x, (Real)s.y};
    }
}

#endif
