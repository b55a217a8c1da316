/* number.cuh - device code for integers modulo the signal length, as in src/sfft/number.h, and for energies. */
#pragma once

#include "gpu/device/fft.cuh"

/* a b mod n for 0 <= a, b < n <= 2^48; inverse = 1.0 / n. A quotient that is off by one is corrected. */
LW_DEVICE int64_t mod_multiply(int64_t a, int64_t b, int64_t n, double inverse)
{
    const int64_t quotient = (int64_t)((double)a * (double)b * inverse);
    int64_t rest = (int64_t)((uint64_t)a * (uint64_t)b - (uint64_t)quotient * (uint64_t)n);
    if (rest < 0)
        rest += n;
    return rest >= n ? rest - n : rest;
}

/* (a + b) mod n for 0 <= a, b < n */
LW_DEVICE int64_t mod_add(int64_t a, int64_t b, int64_t n)
{
    const int64_t sum = a + b;
    return sum >= n ? sum - n : sum;
}

/* Reduce -n < a < n to 0 .. n-1. */
LW_DEVICE int64_t mod_wrap(int64_t a, int64_t n) { return a < 0 ? a + n : a; }

/* exp(2 pi i turns / n) for 0 <= turns < n; inverse = 1.0 / n */
LW_DEVICE double2 turned(int64_t turns, double inverse)
{
    double2 w;
    sincospi(2 * ((double)turns * inverse), &w.y, &w.x);
    return w;
}

LW_DEVICE double energy_of(double2 x) { return x.x * x.x + x.y * x.y; }
