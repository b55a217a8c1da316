/* stored.cuh - access to stored samples in device code: the only place of the CUDA engine that knows the layouts of stored types.
 *
 * with_stored and with_sample call a generic lambda for the stored type, in kernels and launchers alike. The loaders below convert
 * stored samples to the computing precision. A new type is a line of LW_SCALARS (base/type.h). If C does not convert its C type to
 * float and double, the type also needs an overload of `converted` here. */
#pragma once

#include "base/type.h"
#include "gpu/device/fft.cuh"

#include <cstring>
#include <type_traits>

/* ---- the choice of a template ------------------------------------------------------------------------------------ */

/* Return with(x, more...), where x has the C type of `scalar`. Kernels pass device lambdas, launchers host lambdas. */
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

/* Return with(x, c), where x has the C type of `scalar`, and c is std::true_type if a sample is a complex pair of this type. Only
 * floating-point types can be complex. MAY_BE_COMPLEX = false compiles nothing for complex samples. */
#pragma nv_exec_check_disable
template <bool MAY_BE_COMPLEX = true, class With>
__host__ __device__ __forceinline__ auto with_sample(enum lw_scalar scalar, bool is_complex, With with)
{
    if (MAY_BE_COMPLEX && is_complex)
        return scalar == LW_FLOAT64 ? with(double{}, std::true_type{}) : with(float{}, std::true_type{});
    return with_stored(scalar, with, std::false_type{});
}

/* Return with(x), where x has the C type of the computing precision. */
template <class With> static auto with_real(enum lw_precision precision, With with)
{
    return precision == LW_SINGLE ? with(float{}) : with(double{});
}

/* ---- loaders ----------------------------------------------------------------------------------------------------- */

/* Convert a stored value to the computing precision. Short integers are first widened to int: the conversion of a whole register is
 * several times as fast as that of a part of a register. */
template <class Real, class Stored> LW_DEVICE Real converted(Stored x)
{
    if constexpr (sizeof(Stored) < 4) {
        int wide = x;
        opaque(wide);
        return (Real)wide;
    } else
        return (Real)x;
}

/* Return x; if it is NaN or infinite, set `met` and return 0. */
template <class Real> LW_DEVICE Real finite_or_zero(Real x, bool &met)
{
    if (isfinite(x))
        return x;
    met = true;
    return 0;
}

/* Return finite_or_zero of the value, without a test where the stored type is an integer: integers are always finite. */
template <class Stored, class Real> LW_DEVICE Real finite_of(Real value, bool &met)
{
    return std::is_integral<Stored>::value ? value : finite_or_zero(value, met);
}

/* Return complex sample i of x; if a part is not finite, set `met` and return 0. */
template <class Real, class Stored> LW_DEVICE Complex<Real> finite_complex(const Stored *x, int64_t i, bool &met)
{
    bool bad = false;
    const Complex<Real> value = {finite_of<Stored>((Real)x[2 * i], bad), finite_of<Stored>((Real)x[2 * i + 1], bad)};
    if (!bad)
        return value;
    met = true;
    return {0, 0};
}

/* Return sample i of x as a complex number; a real sample has imaginary part 0. */
template <class Real, class Stored, bool COMPLEX> LW_DEVICE Complex<Real> stored_pair(const Stored *x, int64_t i)
{
    if constexpr (!COMPLEX)
        return {converted<Real>(__ldg(x + i)), 0};
    else {
        const Complex<Stored> s = __ldg((const Complex<Stored> *)x + i);
        return {(Real)s.x, (Real)s.y};
    }
}

/* Return a word with its bytes in reverse order. */
LW_DEVICE uint16_t reversed(uint16_t word) { return static_cast<uint16_t>(word << 8 | word >> 8); }

LW_DEVICE uint32_t reversed(uint32_t word) { return __byte_perm(word, 0, 0x0123); }

LW_DEVICE uint64_t reversed(uint64_t word)
{
    const uint64_t low = reversed(static_cast<uint32_t>(word >> 32));
    return static_cast<uint64_t>(reversed(static_cast<uint32_t>(word))) << 32 | low;
}

/* Return the bytes of a vector as another type of the same size. */
template <class To, class From> LW_DEVICE To repacked(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bytes");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
