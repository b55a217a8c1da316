/* ptx.cuh - instructions on pairs of halves, beside those of gpu/device/ptx.cuh. */
#pragma once

/* Return two floats rounded to halves, as a pair. */
__device__ __forceinline__ unsigned halves_of(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* Return the sums and the larger ones of two pairs of halves. */
__device__ __forceinline__ unsigned add_halves(unsigned a, unsigned b)
{
    unsigned sum;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

__device__ __forceinline__ unsigned larger_halves(unsigned a, unsigned b)
{
    unsigned larger;
    asm("max.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
    return larger;
}
