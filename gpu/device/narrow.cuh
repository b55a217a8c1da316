/* narrow.cuh - device code that stores outputs, in the computing precision or in a narrow type (narrow.h).
 *
 * An array of outputs in registers is first made narrow: each float becomes a word, whose low bytes are the stored number. This
 * takes two instructions a number. Adding 1.5 x 2^23 rounds a float to an integer, ties to even, and leaves the integer in the low
 * bits. A maximum tells whether any number may be lost; only then losses are counted. A factor is applied in double. The product is
 * rounded to odd, so that a second rounding gives what a single one would (base/half.h). */
#pragma once

#include "gpu/device/fft.cuh"
#include "gpu/device/narrow.h"

#include <type_traits>

/* Store an output by a streaming store: outputs are not read again, and must not push other data out of the caches. */
template <class T> LW_DEVICE void put(T *y, T value) { __stcs(y, value); }

/* Return an output as it is stored: a real itself, or the low bytes of a word. */
template <class Out, class Real> LW_DEVICE Out stored_bits(Real value)
{
    if constexpr (std::is_integral<Out>::value)
        return (Out)__float_as_uint(value);
    else
        return value;
}

/* Store two adjacent outputs by one store. */
template <class Real> LW_DEVICE void put_two(Real *y, Real first, Real second)
{
    put((Complex<Real> *)y, Complex<Real>{first, second});
}
LW_DEVICE void put_two(uint16_t *y, float first, float second)
{
    put((unsigned *)y, __byte_perm(__float_as_uint(first), __float_as_uint(second), 0x5410));
}
LW_DEVICE void put_two(uint8_t *y, float first, float second)
{
    put((uint16_t *)y, (uint16_t)__byte_perm(__float_as_uint(first), __float_as_uint(second), 0x40));
}

/* Call store(x), where x has the unsigned type of a narrow number's size. */
template <class Store> LW_DEVICE void with_words(const lw_narrowing &n, Store store)
{
    if (n.bytes == 2)
        store(uint16_t{});
    else
        store(uint8_t{});
}

/* Losses of one thread. */
struct Losses {
    unsigned n_saturated, n_nan;
};

LW_DEVICE void report_losses(const lw_narrowing &n, const Losses &losses)
{
    if (losses.n_saturated | losses.n_nan) {
        add_together(&n.report->n_saturated, losses.n_saturated);
        add_together(&n.report->n_nan, losses.n_nan);
    }
}

/* Return x times the factor, rounded to odd. */
LW_DEVICE float scaled(float x, double factor)
{
    const long long low = (1ll << 29) - 1;
    long long bits = __double_as_longlong((double)x * factor);
    bits = (bits | ((bits & low) + low)) & ~low;
    return __double2float_rz(__longlong_as_double(bits));
}

/* Return x, or if it is lost the number that takes its place; count it if `counts`. Infinite and NaN halves are not lost. */
LW_DEVICE float kept_number(const lw_narrowing &n, float x, bool counts, Losses &losses)
{
    const float inside = fminf(fmaxf(x, n.least), n.most);
    const bool is_nan = isnan(x), is_lost = (x != inside) & (n.is_integer | isfinite(x));
    losses.n_nan += is_nan & is_lost & counts;
    losses.n_saturated += !is_nan & is_lost & counts;
    return !is_lost ? x : is_nan ? 0 : inside;
}

/* Return the word of a number in the range, as a float. */
LW_DEVICE float integer_word(float x) { return x + 12582912.0f; }
LW_DEVICE float half_word(float x) { return __int_as_float((int)half_of(x)); }

LW_DEVICE float narrow_word(const lw_narrowing &n, float x, Losses &losses)
{
    if (n.factor != 1)
        x = scaled(x, n.factor);
    x = kept_number(n, x, true, losses);
    return n.is_integer ? integer_word(x) : half_word(x);
}

/* Store `value` at place `at` of an array, in the type that n tells. */
template <class Real> LW_DEVICE void put_number(const lw_narrowing &n, void *array, int64_t at, Real value, Losses &losses)
{
    if constexpr (sizeof(Real) == 4)
        if (n.bytes > 0) {
            const float word = narrow_word(n, value, losses);
            with_words(n, [&](auto out) {
                using Out = decltype(out);
                put((Out *)array + at, stored_bits<Out>(word));
            });
            return;
        }
    put((Real *)array + at, value);
}

/* Store a complex value at place `at`, counted in complex values. */
template <class C> LW_DEVICE void put_complex(const lw_narrowing &n, void *array, int64_t at, C value, Losses &losses)
{
    if constexpr (sizeof(C) == 8)
        if (n.bytes > 0) {
            const float re = narrow_word(n, value.x, losses), im = narrow_word(n, value.y, losses);
            put_two((uint16_t *)array + 2 * at, re, im);
            return;
        }
    put((C *)array + at, value);
}

/* Turn all v[m] into words, and report their losses. is_used(m): v[m] may be stored; a constant once loops are unrolled.
 * counts(m, part): part 0 (x) or 1 (y) of v[m] is stored. */
template <int E, class Used, class Counts>
LW_DEVICE void narrow_all(float2 (&v)[E], const lw_narrowing &n, Used is_used, Counts counts)
{
    if (n.factor != 1)
#pragma unroll
        for (int m = 0; m < E; ++m)
            if (is_used(m))
                v[m] = {scaled(v[m].x, n.factor), scaled(v[m].y, n.factor)};
    float furthest = 0;
    if (n.middle == 0)
#pragma unroll
        for (int m = 0; m < E; ++m) {
            if (is_used(m))
                furthest = largest_magnitude(largest_magnitude(furthest, v[m].x), v[m].y);
        }
    else
#pragma unroll
        for (int m = 0; m < E; ++m)
            if (is_used(m))
                furthest = largest_magnitude(largest_magnitude(furthest, v[m].x - n.middle), v[m].y - n.middle);
    if (!(furthest <= n.reach)) {
        Losses losses = {0, 0};
#pragma unroll
        for (int m = 0; m < E; ++m)
            if (is_used(m)) {
                v[m].x = kept_number(n, v[m].x, counts(m, 0), losses);
                v[m].y = kept_number(n, v[m].y, counts(m, 1), losses);
            }
        report_losses(n, losses);
    }
    if (n.is_integer)
#pragma unroll
        for (int m = 0; m < E; ++m) {
            if (is_used(m))
                v[m] = {integer_word(v[m].x), integer_word(v[m].y)};
        }
    else
#pragma unroll
        for (int m = 0; m < E; ++m)
            if (is_used(m))
                v[m] = {half_word(v[m].x), half_word(v[m].y)};
}
