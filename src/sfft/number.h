/* number.h - whole numbers modulo the length of a signal, and random numbers that depend on a seed and a place only.
 * Pure arithmetic. */
#pragma once

#include "base/linkage.h"

#include <stdint.h>

LW_C_BEGIN

/* Longest signal: the quotient in lw_mod_multiply is estimated in double precision and may be wrong by one. */
#define LW_SFFT_MAX_SAMPLES ((int64_t)1 << 48)

/** a b mod n for 0 <= a, b < n <= LW_SFFT_MAX_SAMPLES: the product has up to 96 bits, of which the remainder needs only
 * the low 64. */
static inline int64_t lw_mod_multiply(int64_t a, int64_t b, int64_t n)
{
    const int64_t quotient = (int64_t)((double)a * (double)b / (double)n);
    int64_t rest = (int64_t)((uint64_t)a * (uint64_t)b - (uint64_t)quotient * (uint64_t)n);
    if (rest < 0)
        rest += n;
    return rest >= n ? rest - n : rest;
}

/** a + b mod n for 0 <= a, b < n. */
static inline int64_t lw_mod_add(int64_t a, int64_t b, int64_t n)
{
    const int64_t sum = a + b;
    return sum >= n ? sum - n : sum;
}

/** Any a, reduced to 0 .. n-1. */
static inline int64_t lw_mod(int64_t a, int64_t n)
{
    const int64_t rest = a % n;
    return rest < 0 ? rest + n : rest;
}

/** The b with a b = 1 mod n; 0 if a and n have a common divisor. For n = 1: 0. */
int64_t lw_mod_inverse(int64_t a, int64_t n);

/** 64 random bits: a function of the two numbers (the finaliser of SplitMix64, twice). */
uint64_t lw_random_bits(uint64_t seed, uint64_t counter);

/** Uniform in 0 .. n-1, n < 2^50. */
int64_t lw_random_below(uint64_t seed, uint64_t counter, int64_t n);

LW_C_END
