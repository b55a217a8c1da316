/* number.h - arithmetic modulo the length of a signal, and random numbers that depend only on a seed and a counter. Pure. */
#pragma once

#include "base/integers.h"
#include "base/linkage.h"

LW_C_BEGIN

/* Longest signal, samples: up to this length the quotient in lw_mod_multiply, estimated in double, is wrong by at most one. */
#define LW_SFFT_MAX_SAMPLES ((int64_t)1 << 48)

/** Return a b mod n for 0 <= a, b < n <= LW_SFFT_MAX_SAMPLES. The product has up to 96 bits; the remainder needs the low 64. */
static inline int64_t lw_mod_multiply(int64_t a, int64_t b, int64_t n)
{
    const int64_t quotient = (int64_t)((double)a * (double)b / (double)n);
    int64_t rest = (int64_t)((uint64_t)a * (uint64_t)b - (uint64_t)quotient * (uint64_t)n);
    if (rest < 0)
        rest += n;
    return rest >= n ? rest - n : rest;
}

/** Return a + b mod n for 0 <= a, b < n. */
static inline int64_t lw_mod_add(int64_t a, int64_t b, int64_t n)
{
    const int64_t sum = a + b;
    return sum >= n ? sum - n : sum;
}

/** Return b with a b = 1 mod n; 0 if a and n have a common divisor, or if n = 1. */
int64_t lw_mod_inverse(int64_t a, int64_t n);

/** Return 64 random bits, a function of the two numbers (the finaliser of SplitMix64, twice). */
uint64_t lw_random_bits(uint64_t seed, uint64_t counter);

/** Return a random number, uniform in 0 .. n-1, for n < 2^50. */
int64_t lw_random_below(uint64_t seed, uint64_t counter, int64_t n);

LW_C_END
