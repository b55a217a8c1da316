/* team.cuh - the threads that recover lines together: the blocks of one cluster; of a whole grid, where there is more
 * to do than a cluster can; or one block, where a device has neither. Work is dealt out warp by warp over the blocks, so that
 * little work uses many multiprocessors. */
#ifndef LW_GPU_SFFT_TEAM_CUH
#define LW_GPU_SFFT_TEAM_CUH

#include "gpu/device/fft.cuh"
#include "gpu/sfft/device.h"

#include "sfft/rules.h"

/* Of what stands in many places, one copy: the whole kernel runs through once, and waits for its instructions. */
#define LW_ONCE __device__ __noinline__

/* Candidates of a block that are tried at a time, and what of them may be taken out: a line and its mirror image. */
#define SFFT_TRIED 256
#define SFFT_TAKEN (2 * SFFT_TRIED)

/* To sort lines: intervals of the spectrum, and the most lines that a block has room for. */
#define SFFT_INTERVALS 4096
#define SFFT_SORTED 8192
#define SFFT_FEW 256            /* up to which they are sorted faster by comparing each with each */

/* Scratch of one step at a time. */
union SfftScratch {
    struct {
        int seen[LW_SFFT_DEVICE_THREADS];           /* buckets to look at closer */
        int64_t frequency[SFFT_TAKEN];
        double2 amplitude[SFFT_TAKEN];
    } peel;
    struct {
        unsigned end[SFFT_INTERVALS];
        unsigned short line[SFFT_SORTED];
    } sort;
};

/* A block's own memory. It is dynamic: there is one for each block of a team where kernels are emulated, too. */
struct SfftShared {
    double2 of_warp[LW_SFFT_DEVICE_THREADS / 32];
    unsigned count_of_warp[LW_SFFT_DEVICE_THREADS / 32];
    float energy_of_warp[LW_SFFT_DEVICE_THREADS / 32];
    unsigned histogram[2][256], digit, rest;        /* of a selection */
    unsigned *arrivals, expected;                   /* at the barriers of a grid */
    int n_seen[2], n_taken[2];                      /* in turn: one is cleared while the other counts */
    int n_candidates, n_of_level[LW_SFFT_TOLERANCES];      /* of this block and round */
    int most_shifts;                                /* of the stages that locate */
    SfftScratch scratch;
    lw_sfft_device_stage stages[LW_SFFT_STAGES];    /* up to that which checks; a copy */
    unsigned char stage_of_plane[LW_SFFT_PLANES];
};                              /* behind it, a copy of the responses of some windows, [LW_SFFT_RESPONSE_SIZE] each */

LW_DEVICE SfftShared &shared_of_block()
{
    extern __shared__ SfftShared memory[];
    return memory[0];
}

LW_DEVICE const lw_sfft_device_stage &stage_at(int s) { return shared_of_block().stages[s]; }

struct SfftTeam {
    static constexpr int THREADS = LW_SFFT_DEVICE_THREADS, WARPS = THREADS / 32;

    LW_DEVICE static int blocks() { return (int)gridDim.x; }
    LW_DEVICE static int block() { return (int)blockIdx.x; }
    LW_DEVICE static int lane() { return (int)threadIdx.x % 32; }
    LW_DEVICE static int warp() { return (int)threadIdx.x / 32; }
    LW_DEVICE static int64_t first() { return (warp() * blocks() + block()) * 32 + lane(); }
    LW_DEVICE static int64_t step() { return (int64_t)blocks() * THREADS; }
    LW_DEVICE static bool is_leader() { return block() == 0 && threadIdx.x == 0; }

    /* All have written what they had to, for all to read. */
    LW_DEVICE static void sync()
    {
        if (blocks() == 1)
            __syncthreads();
        else if (blocks() <= LW_SFFT_DEVICE_CLUSTER)
            cluster_barrier();
        else
            grid_barrier(shared_of_block().arrivals, threadIdx.x == 0 ? shared_of_block().expected += gridDim.x : 0);
    }
};

/* ---- sums ------------------------------------------------------------------------------------------------------------ */

struct SfftSum {
    LW_DEVICE static double of(double a, double b) { return a + b; }
};
struct SfftLargest {        /* of numbers >= 0; not a number, once there is one */
    LW_DEVICE static double of(double a, double b) { return b <= a || isnan(a) ? a : b; }
};

template <class Operation> LW_DEVICE double2 combined(double2 a, double2 b)
{
    return {Operation::of(a.x, b.x), Operation::of(a.y, b.y)};
}

/* Over the threads of a warp, or of each `count` of them, a power of two. All get the same: sums do not depend on the order of
 * two. */
template <class Operation> LW_DEVICE double2 warp_combine(double2 mine, int count = 32)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        if (other < count)
            mine = combined<Operation>(mine, {__shfl_xor_sync(0xffffffffu, mine.x, other),
                                              __shfl_xor_sync(0xffffffffu, mine.y, other)});
    return mine;
}

/* Over the threads of a block, in a fixed order; every thread gets it. */
template <class Operation> LW_ONCE double2 block_combine(double2 mine)
{
    double2 *const of_warp = shared_of_block().of_warp;
    mine = warp_combine<Operation>(mine);
    __syncthreads();            /* what was there last has been read */
    if (SfftTeam::lane() == 0)
        of_warp[SfftTeam::warp()] = mine;
    __syncthreads();
    return warp_combine<Operation>(of_warp[SfftTeam::lane() % SfftTeam::WARPS], SfftTeam::WARPS);
}

/* Two numbers over the team in two steps, with SfftTeam::sync between them; `partial` is not used otherwise meanwhile. */
template <class Operation> LW_DEVICE void team_give(double2 mine, double2 *partial)
{
    const double2 of_block = block_combine<Operation>(mine);
    if (threadIdx.x == 0)
        partial[SfftTeam::block()] = of_block;
}

template <class Operation> LW_ONCE double2 team_take(const double2 *partial)
{
    double2 all = {0, 0};
    for (int b = SfftTeam::lane(); b < SfftTeam::blocks(); b += 32)
        all = combined<Operation>(all, partial[b]);
    return warp_combine<Operation>(all);
}

/* The same for one number that only decides how to go on, in single precision; no barrier of the block but those around what
 * happens between the three steps. */
template <int COUNT> LW_DEVICE float warp_sum(float mine)
{
#pragma unroll
    for (int other = COUNT / 2; other > 0; other /= 2)
        mine += __shfl_xor_sync(0xffffffffu, mine, other);
    return mine;
}

LW_DEVICE void energy_give(float mine)
{
    mine = warp_sum<32>(mine);
    if (SfftTeam::lane() == 0)
        shared_of_block().energy_of_warp[SfftTeam::warp()] = mine;
}

LW_DEVICE void energy_pass(float *partial)
{
    if (SfftTeam::warp() > 0)
        return;
    const float all = warp_sum<SfftTeam::WARPS>(shared_of_block().energy_of_warp[SfftTeam::lane() % SfftTeam::WARPS]);
    if (threadIdx.x == 0)
        partial[SfftTeam::block()] = all;
}

LW_DEVICE float energy_take(const float *partial)
{
    float all = 0;
    for (int b = SfftTeam::lane(); b < SfftTeam::blocks(); b += 32)
        all += partial[b];
    return warp_sum<32>(all);
}

/* ---- places ---------------------------------------------------------------------------------------------------------- */

/* Places for those threads of a warp that want one, from a counter on; in any order. All threads of the warp call it. */
LW_DEVICE int take_place(bool is_wanted, int *counter)
{
    const unsigned wanted = __ballot_sync(0xffffffffu, is_wanted);
    int first = 0;
    if (SfftTeam::lane() == 0 && wanted != 0)
        first = atomicAdd(counter, __popc(wanted));
    return __shfl_sync(0xffffffffu, first, 0) + __popc(wanted & ((1u << SfftTeam::lane()) - 1));
}

/* Sum over the threads of a block before this one; `all` of them goes there. */
LW_ONCE unsigned count_before_thread(unsigned mine, unsigned *all)
{
    unsigned *const of_warp = shared_of_block().count_of_warp;
    unsigned up_to = mine;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned below = __shfl_sync(0xffffffffu, up_to, SfftTeam::lane() >= distance ? SfftTeam::lane() - distance : 0);
        up_to += SfftTeam::lane() >= distance ? below : 0;
    }
    __syncthreads();            /* what was there last has been read */
    if (SfftTeam::lane() == 31)
        of_warp[SfftTeam::warp()] = up_to;
    __syncthreads();
    unsigned before = 0, sum = 0;
    for (int w = 0; w < SfftTeam::WARPS; ++w) {
        before += w < SfftTeam::warp() ? of_warp[w] : 0;
        sum += of_warp[w];
    }
    *all = sum;
    return before + up_to - mine;
}

/* Call place(item, number) for all items that are kept, numbered in order; a block takes a piece of them. */
template <class IsKept, class Place> LW_DEVICE void pack(int count, IsKept is_kept, Place place)
{
    const int piece = (count + SfftTeam::blocks() - 1) / SfftTeam::blocks();
    const int begin = min(SfftTeam::block() * piece, count), end = min(begin + piece, count);
    unsigned mine = 0, number;
    for (int item = (int)threadIdx.x; item < begin; item += SfftTeam::THREADS)
        mine += is_kept(item);
    count_before_thread(mine, &number);
    for (int first = begin; first < end; first += SfftTeam::THREADS) {
        const int item = first + (int)threadIdx.x;
        const bool is_mine = item < end && is_kept(item);
        unsigned all;
        const unsigned at = number + count_before_thread(is_mine, &all);
        if (is_mine)
            place(item, (int)at);
        number += all;
    }
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
#pragma unroll 4
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
