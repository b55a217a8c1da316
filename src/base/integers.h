/* integers.h - minimum, maximum, rounding up and factors of 64-bit integers, for counts and positions of samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline int64_t lw_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t lw_max64(int64_t a, int64_t b) { return a > b ? a : b; }

/** Return -1, 0 or 1, as a is less than, equal to or greater than b: for qsort. */
static inline int lw_compare64(int64_t a, int64_t b) { return (a > b) - (a < b); }

/** Return the product of n numbers. */
static inline int64_t lw_product64(const int64_t *numbers, int n)
{
    int64_t product = 1;
    for (int i = 0; i < n; i++)
        product *= numbers[i];
    return product;
}

/** Return a / b rounded up, for b > 0; never overflows. */
static inline int64_t lw_divide_up(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/** Return the least multiple of `unit` > 0 that is at least a. */
static inline int64_t lw_round_up(int64_t a, int64_t unit) { return lw_divide_up(a, unit) * unit; }

/** Return the least power of two that is at least a. */
static inline int64_t lw_power_of_two(int64_t a)
{
    int64_t power = 1;
    while (power < a)
        power *= 2;
    return power;
}

/** Return a mod n in 0 .. n-1, for any a. */
static inline int64_t lw_mod(int64_t a, int64_t n)
{
    const int64_t rest = a % n;
    return rest < 0 ? rest + n : rest;
}

/** Return the greatest common divisor of two numbers, neither negative and not both 0. */
static inline int64_t lw_common_divisor(int64_t a, int64_t b) { return b == 0 ? a : lw_common_divisor(b, a % b); }

/** Return whether n > 0 has no prime factor above `largest`: transforms of these lengths are fast. */
static inline bool lw_has_factors_up_to(int64_t largest, int64_t n)
{
    for (int64_t factor = 2; factor <= largest; factor++)
        while (n % factor == 0)
            n /= factor;
    return n == 1;
}
