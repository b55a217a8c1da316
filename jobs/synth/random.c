#include "jobs/synth/random.h"

/* Output number `counter` of SplitMix64 started at `seed`: a 64-bit mix of a counter (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014, doi:10.1145/2660193.2660195). */
uint64_t lw_noise_bits(uint64_t seed, uint64_t counter)
{
    uint64_t z = seed + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Return a number in (0, 1]; 0 would have no logarithm. */
static double uniform(uint64_t bits) { return ((double)(bits >> 11) + 1) * 0x1p-53; }

/* The method of Box and Muller turns two uniform numbers into two normal deviates. */
void lw_noise_normals(uint64_t seed, uint64_t index, double *first, double *second)
{
    const double radius = sqrt(-2 * log(uniform(lw_noise_bits(seed, 2 * index))));
    const double angle = 2 * M_PI * uniform(lw_noise_bits(seed, 2 * index + 1));
    *first = radius * cos(angle);
    if (second)
        *second = radius * sin(angle);
}

/* Sigma takes half the bits of an integer type: it is 2^4 for 8 bits, 2^8 for 16 bits, and so on. */
double lw_synth_sigma(enum lw_scalar scalar)
{
    return lw_scalar_is_integer(scalar) ? ldexp(1, 4 * (int)lw_scalar_bytes(scalar)) : 1;
}

double lw_synth_mean(enum lw_scalar scalar)
{
    return lw_scalar_is_signed(scalar) ? 0 : ldexp(1, 8 * (int)lw_scalar_bytes(scalar) - 1);
}
