/* sfft_team.cuh - the threads that recover lines together: the blocks of one cluster, or one block where a device has
 * no clusters. Work is dealt out warp by warp over the blocks, so that little work uses many multiprocessors. */
#ifndef LW_SFFT_TEAM_CUH
#define LW_SFFT_TEAM_CUH

#include "fft.cuh"
#include "sfft_device.h"

#include "../src/sfft_rules.h"

struct SfftTeam {
    static constexpr int THREADS = LW_SFFT_DEVICE_THREADS;

    LW_DEVICE static int blocks() { return (int)gridDim.x; }
    LW_DEVICE static int block() { return (int)blockIdx.x; }
    LW_DEVICE static int64_t first() { return ((int)threadIdx.x / 32 * blocks() + block()) * 32 + (int)threadIdx.x % 32; }
    LW_DEVICE static int64_t step() { return (int64_t)blocks() * THREADS; }
    LW_DEVICE static bool is_leader() { return block() == 0 && threadIdx.x == 0; }

    /* All have written what they had to, for all to read. */
    LW_DEVICE static void sync() { cluster_barrier(); }
};

/* A block's own memory. It is dynamic: there is one for each block of a cluster where kernels are emulated, too. */
struct SfftShared {
    double of_warp[SfftTeam::THREADS / 32];
    unsigned histogram[256], digit, rest;           /* of a selection */
    int n_candidates, n_of_level[LW_SFFT_TOLERANCES];      /* of this block and round */
    int first[LW_SFFT_DEVICE_BLOCKS];               /* candidate of each block, among those of all */
    lw_sfft_device_stage stages[LW_SFFT_STAGES];    /* up to that which checks; a copy */
    unsigned char stage_of_plane[LW_SFFT_PLANES];
};                              /* behind it, a copy of the responses of some windows, [LW_SFFT_RESPONSE_SIZE] each */

LW_DEVICE SfftShared &shared_of_block()
{
    extern __shared__ SfftShared memory[];
    return memory[0];
}

LW_DEVICE const lw_sfft_device_stage &stage_at(int s) { return shared_of_block().stages[s]; }

struct SfftSum {
    LW_DEVICE static double of(double a, double b) { return a + b; }
};
struct SfftLargest {
    LW_DEVICE static double of(double a, double b) { return b <= a ? a : b; }      /* not a number, once there is one */
};

/* Over the threads of a block, in a fixed order; every thread gets it. */
template <class Operation> LW_DEVICE double block_combine(double mine)
{
    double *const of_warp = shared_of_block().of_warp;
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        mine = Operation::of(mine, __shfl_xor_sync(0xffffffffu, mine, other));
    __syncthreads();            /* what was there last has been read */
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    double all = of_warp[0];
    for (int w = 1; w < SfftTeam::THREADS / 32; ++w)
        all = Operation::of(all, of_warp[w]);
    return all;
}

/* The same over the team in two steps, with SfftTeam::sync between them; `partial` is not used otherwise meanwhile. */
template <class Operation> LW_DEVICE void team_give(double mine, double *partial)
{
    const double of_block = block_combine<Operation>(mine);
    if (threadIdx.x == 0)
        partial[SfftTeam::block()] = of_block;
}

template <class Operation> LW_DEVICE double team_take(const double *partial)
{
    double all = partial[0];
    for (int b = 1; b < SfftTeam::blocks(); ++b)
        all = Operation::of(all, partial[b]);
    return all;
}

/* For each of `count` items, how many of `count` others `is_before` (item, other) holds; eight lanes share an item.
 * `found` (item, number) is called by one of them. */
template <class IsBefore, class Found> LW_DEVICE void count_before(int count, IsBefore is_before, Found found)
{
    constexpr int LANES = 8;
    const int64_t rounded = (count + 3) / 4 * 4 * (int64_t)LANES;       /* whole warps */
    for (int64_t i = SfftTeam::first(); i < rounded; i += SfftTeam::step()) {
        const int item = (int)(i / LANES);
        int number = 0;
        if (item < count)
            for (int other = (int)(i % LANES); other < count; other += LANES)
                number += is_before(item, other);
#pragma unroll
        for (int lane = LANES / 2; lane > 0; lane /= 2)
            number += __shfl_xor_sync(0xffffffffu, number, lane);
        if (item < count && i % LANES == 0)
            found(item, number);
    }
}

#endif
