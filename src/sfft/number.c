#include "sfft/number.h"

int64_t lw_mod_inverse(int64_t a, int64_t n)
{
    int64_t r0 = n, r1 = a % n, t0 = 0, t1 = 1;
    while (r1 != 0) {
        const int64_t quotient = r0 / r1;
        const int64_t r2 = r0 - quotient * r1, t2 = t0 - quotient * t1;
        r0 = r1, r1 = r2;
        t0 = t1, t1 = t2;
    }
    return r0 == 1 ? lw_mod(t0, n) : 0;
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t lw_random_bits(uint64_t seed, uint64_t counter)
{
    return mix(mix(seed + 0x9E3779B97F4A7C15u) + counter * 0x9E3779B97F4A7C15u);
}

int64_t lw_random_below(uint64_t seed, uint64_t counter, int64_t n)
{
    __extension__ typedef unsigned __int128 product;
    return (int64_t)(((product)lw_random_bits(seed, counter) * (uint64_t)n) >> 64);
}
