/* divide.cuh - divides 31-bit numbers, without a division, by a number that the host knows (Granlund and Montgomery 1994). */
#ifndef DIVIDE_CUH
#define DIVIDE_CUH

#include <cuda_runtime.h>
#include <stdint.h>

struct Divider {
    uint32_t by, factor;
    int shift;
};

inline Divider make_divider(uint32_t by)
{
    int bits = 0;
    while (((uint64_t)1 << bits) < by)
        ++bits;
    return {by, (uint32_t)((((uint64_t)1 << (31 + bits)) + by - 1) / by), bits - 1};
}

__device__ __forceinline__ uint32_t divide(uint32_t n, const Divider &d)
{
    return d.shift < 0 ? n : (uint32_t)((uint64_t)n * d.factor >> 32) >> d.shift;
}

#endif
