/* integers.h - the smaller, the larger, rounding up, factors: for counts and places of samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline int64_t lw_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t lw_max64(int64_t a, int64_t b) { return a > b ? a : b; }

/** a / b rounded up, for b > 0; it cannot overflow. */
static inline int64_t lw_divide_up(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/** The least multiple of `unit` > 0 that is not less than a. */
static inline int64_t lw_round_up(int64_t a, int64_t unit) { return lw_divide_up(a, unit) * unit; }

/** The largest number that divides both, which are not negative nor both 0. */
static inline int64_t lw_common_divisor(int64_t a, int64_t b) { return b == 0 ? a : lw_common_divisor(b, a % b); }

/** Whether n > 0 has no prime factor above `largest`: whether its transform is fast. */
static inline bool lw_has_factors_up_to(int64_t largest, int64_t n)
{
    for (int64_t factor = 2; factor <= largest; factor++)
        while (n % factor == 0)
            n /= factor;
    return n == 1;
}
