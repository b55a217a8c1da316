/* stored.cuh - stored samples in device code: the one place of the CUDA engine that knows what a stored type looks like.
 *
 * with_stored and with_sample choose a template by the type, in kernels and launchers alike; the loaders below make numbers
 * of the computing precision from what is stored. A new type is a line of LW_SCALARS (base/type.h); where its C type does
 * not convert to a number by itself, it also is an overload of `converted` here. */
#pragma once

#include "base/type.h"
#include "gpu/device/fft.cuh"

#include <cstdint>
#include <cstring>
#include <type_traits>

/* ---- the choice of a template ------------------------------------------------------------------------------------ */

/* Calls `with` with a value of the C type of `scalar`, and with `more`. Kernels pass device lambdas, launchers host lambdas. */
#pragma nv_exec_check_disable
template <class With, class... More>
__host__ __device__ __forceinline__ auto with_stored(enum lw_scalar scalar, With with, More... more)
{
    switch (scalar) {
#define X(name, type, text) case name: return with(type{}, more...);
    LW_SCALARS(X)
#undef X
    default: __builtin_unreachable();
    }
}

/* Calls `with` with a value of the C type of `scalar` and, as a constant type, whether two of them are a complex sample, which
 * floating-point numbers alone can be. MAY_BE_COMPLEX: false where the caller's samples never are. */
#pragma nv_exec_check_disable
template <bool MAY_BE_COMPLEX = true, class With>
__host__ __device__ __forceinline__ auto with_sample(enum lw_scalar scalar, bool is_complex, With with)
{
    if (MAY_BE_COMPLEX && is_complex)
        return scalar == LW_FLOAT64 ? with(double{}, std::true_type{}) : with(float{}, std::true_type{});
    return with_stored(scalar, with, std::false_type{});
}

/* Calls `with` with a value of the computing precision. */
template <class With> static auto with_real(enum lw_precision precision, With with)
{
    return precision == LW_SINGLE ? with(float{}) : with(double{});
}

/* ---- loaders ----------------------------------------------------------------------------------------------------- */

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

/* The value, or 0 for NaN and infinity; these set `met`. */
template <class Real> LW_DEVICE Real finite_or_zero(Real x, bool &met)
{
    if (isfinite(x))
        return x;
    met = true;
    return 0;
}

/* The same for a value that was stored as Stored: integers always are finite. */
template <class Stored, class Real> LW_DEVICE Real finite_of(Real value, bool &met)
{
    return std::is_integral<Stored>::value ? value : finite_or_zero(value, met);
}

/* A complex sample of which either part is not finite counts as zero. */
template <class Real, class Stored> LW_DEVICE Complex<Real> finite_complex(const Stored *x, int64_t i, bool &met)
{
    bool bad = false;
    const Complex<Real> value = {finite_of<Stored>((Real)x[2 * i], bad), finite_of<Stored>((Real)x[2 * i + 1], bad)};
    if (!bad)
        return value;
    met = true;
    return {0, 0};
}

/* Sample i as two reals: a complex sample, or a real one and 0. */
template <class Real, class Stored, bool COMPLEX> LW_DEVICE Complex<Real> stored_pair(const Stored *x, int64_t i)
{
    if constexpr (!COMPLEX)
        return {converted<Real>(__ldg(x + i)), 0};
    else {
        const Complex<Stored> s = __ldg((const Complex<Stored> *)x + i);
        return {(Real)s.x, (Real)s.y};
    }
}

/* The bytes of one vector as another type of the same size. */
template <class To, class From> LW_DEVICE To repacked(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bytes");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
