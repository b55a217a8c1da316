#include "jobs/noise.h"

#include <math.h>

#define PI 3.14159265358979323846

/* Output number `counter` of SplitMix64 started at `seed`: a 64-bit mix of a counter (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014, doi:10.1145/2660193.2660195). */
uint64_t lw_noise_bits(uint64_t seed, uint64_t counter)
{
    uint64_t z = seed + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* In (0, 1]: never 0, whose logarithm there is not. */
static double uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 1) * 0x1p-53;
}

/* Two independent normal deviates (Box and Muller); the second only where there is a place for it. */
void lw_noise_normals(uint64_t seed, uint64_t index, double *first, double *second)
{
    const double radius = sqrt(-2 * log(uniform(lw_noise_bits(seed, 2 * index))));
    const double angle = 2 * PI * uniform(lw_noise_bits(seed, 2 * index + 1));
    *first = radius * cos(angle);
    if (second)
        *second = radius * sin(angle);
}

double lw_synth_sigma(enum lw_scalar scalar)
{
    switch (scalar) {
    case LW_INT8:
    case LW_UINT8: return 16;
    case LW_INT16:
    case LW_UINT16: return 256;
    case LW_INT32: return 65536;
    default: return 1;
    }
}

double lw_synth_mean(enum lw_scalar scalar)
{
    return scalar == LW_UINT8 ? 128 : scalar == LW_UINT16 ? 32768 : 0;
}

/* Rounded to nearest, ties to even, and kept in the type's range. */
static double clip(double value, double low, double high)
{
    return fmin(fmax(nearbyint(value), low), high);
}

void lw_synth_store(enum lw_scalar scalar, void *into, int64_t index, double value)
{
    switch (scalar) {
    case LW_INT8: ((int8_t *)into)[index] = (int8_t)clip(value, INT8_MIN, INT8_MAX); break;
    case LW_UINT8: ((uint8_t *)into)[index] = (uint8_t)clip(value, 0, UINT8_MAX); break;
    case LW_INT16: ((int16_t *)into)[index] = (int16_t)clip(value, INT16_MIN, INT16_MAX); break;
    case LW_UINT16: ((uint16_t *)into)[index] = (uint16_t)clip(value, 0, UINT16_MAX); break;
    case LW_INT32: ((int32_t *)into)[index] = (int32_t)clip(value, INT32_MIN, INT32_MAX); break;
    case LW_FLOAT64: ((double *)into)[index] = value; break;
    default: ((float *)into)[index] = (float)value; break;
    }
}
