/* team.cuh - the team of threads that recovers lines: one cluster of blocks, a whole grid for larger work, or one block on devices
 * without either. Blocks take work warp by warp, so that little work still uses many multiprocessors. */
#pragma once

#include "gpu/device/fft.cuh"
#include "gpu/sfft/launch.h"

#include "sfft/rules.h"

/* Compile one copy of a function called from many places. Each copy would run once, after a wait for its instructions. */
#define LW_ONCE __device__ __noinline__

/* Most candidates that a block subtracts at a time, and most lines that they yield, with mirror images. */
#define SFFT_TRIED 256
#define SFFT_TAKEN (2 * SFFT_TRIED)

/* Sizes for sorting lines: intervals of the spectrum, and the most lines that a block can sort. */
#define SFFT_INTERVALS 4096
#define SFFT_SORTED 8192
#define SFFT_FEW 2048           /* most lines that are sorted by comparing each with each */
#define SFFT_COMPARED 64        /* most comparisons per thread for which comparing is faster */

/* A thread keeps its share of a line's row of M (fit.cuh) in shared memory: SFFT_HELD entries, enough for three stages. */
#define SFFT_ROW_LANES 8        /* threads that share a line */
#define SFFT_HELD (3 * LW_SFFT_DEVICE_ROW / SFFT_ROW_LANES)

/* Scratch memory, used by one step at a time. */
union SfftScratch {
    struct {
        int seen[LW_SFFT_DEVICE_THREADS];           /* buckets to examine */
        int64_t frequency[SFFT_TAKEN];
        double2 amplitude[SFFT_TAKEN];
    } peel;
    struct {
        unsigned end[SFFT_INTERVALS];
        unsigned short line[SFFT_SORTED];
    } sort;
    int64_t frequency[SFFT_FEW];
    struct {
        double2 value[SFFT_HELD][LW_SFFT_DEVICE_THREADS];
        int other[SFFT_HELD][LW_SFFT_DEVICE_THREADS];       /* -1: none */
    } row;
};

/* A block's shared memory. It is dynamic, so that kernels emulated on the CPU (tests/gpu/emulation) have one per block, too. */
struct SfftShared {
    double2 of_warp[LW_SFFT_DEVICE_THREADS / 32];
    unsigned count_of_warp[LW_SFFT_DEVICE_THREADS / 32];
    float energy_of_warp[LW_SFFT_DEVICE_THREADS / 32];
    unsigned histogram[2][256], digit, rest;        /* scratch of select_value */
    unsigned *arrivals, expected;                   /* barriers of a grid: counter, and the count to wait for */
    int n_seen[2], n_taken[2];                      /* buckets noted, lines taken; one is reset while the other counts */
    int n_candidates, n_of_level[LW_SFFT_TOLERANCES], n_new;        /* this block's counts in this round; n_new: new frequencies */
    int most_shifts;                                /* largest number of shifts of the locating stages */
    SfftScratch scratch;
    lw_sfft_device_stage stages[LW_SFFT_STAGES];    /* copy of the stages up to the one that checks */
    unsigned char stage_of_plane[LW_SFFT_PLANES];
};                              /* behind the struct: responses of as many windows as fit, [LW_SFFT_RESPONSE_SIZE] each */

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

    /* Barrier of the team: afterwards all threads see what the others have written. */
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
struct SfftLargest {        /* largest of numbers >= 0; NaN if any is NaN */
    LW_DEVICE static double of(double a, double b) { return b <= a || isnan(a) ? a : b; }
};

template <class Operation> LW_DEVICE double2 combined(double2 a, double2 b)
{
    return {Operation::of(a.x, b.x), Operation::of(a.y, b.y)};
}

/* Operation on pairs: the sum of the first numbers, the largest of the second ones. */
struct SfftSumAndLargest {};
template <> LW_DEVICE double2 combined<SfftSumAndLargest>(double2 a, double2 b)
{
    return {SfftSum::of(a.x, b.x), SfftLargest::of(a.y, b.y)};
}

/* Combine over a warp, or over each `count` (a power of two) of its threads. All get the same bits, as a + b = b + a. */
template <class Operation> LW_DEVICE double2 warp_combine(double2 mine, int count = 32)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        if (other < count)
            mine = combined<Operation>(mine, {__shfl_xor_sync(0xffffffffu, mine.x, other),
                                              __shfl_xor_sync(0xffffffffu, mine.y, other)});
    return mine;
}

/* Combine over a block in a fixed order; every thread gets the result. */
template <class Operation> LW_ONCE double2 block_combine(double2 mine)
{
    double2 *const of_warp = shared_of_block().of_warp;
    mine = warp_combine<Operation>(mine);
    __syncthreads();            /* all threads have read the previous contents */
    if (SfftTeam::lane() == 0)
        of_warp[SfftTeam::warp()] = mine;
    __syncthreads();
    return warp_combine<Operation>(of_warp[SfftTeam::lane() % SfftTeam::WARPS], SfftTeam::WARPS);
}

/* Combine two numbers over the team by team_give, SfftTeam::sync, team_take. `partial` must serve no other sum until then. */
template <class Operation> LW_DEVICE void team_give(double2 mine, double2 *partial)
{
    const double2 of_block = block_combine<Operation>(mine);
    if (threadIdx.x == 0)
        partial[SfftTeam::block()] = of_block;
}

/* A thread's share of the blocks' results. Beyond the last block it is 0, which changes no sum, and no maximum of numbers >= 0. */
struct SfftPartials {
    static constexpr int COUNT = LW_SFFT_DEVICE_BLOCKS / 32;
    double2 of[COUNT];
};

LW_DEVICE SfftPartials load_partials(const double2 *partial)
{
    SfftPartials mine;
#pragma unroll
    for (int i = 0; i < SfftPartials::COUNT; ++i)
        mine.of[i] = SfftTeam::lane() + 32 * i < SfftTeam::blocks() ? partial[SfftTeam::lane() + 32 * i] : double2{0, 0};
    return mine;
}

template <class Operation> LW_DEVICE double2 combine_partials(const SfftPartials &mine)
{
    double2 all = {0, 0};
#pragma unroll
    for (int i = 0; i < SfftPartials::COUNT; ++i)
        all = combined<Operation>(all, mine.of[i]);
    return warp_combine<Operation>(all);
}

template <class Operation> LW_ONCE double2 team_take(const double2 *partial)
{
    return combine_partials<Operation>(load_partials(partial));
}

/* Sum energies over the team in single precision, enough to decide how to go on: energy_give, a barrier of the block, energy_pass,
 * SfftTeam::sync, energy_take. These functions have no barriers of their own. */
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

/* Give the threads of a warp with is_wanted places from *counter on, in any order, and raise *counter. All the warp calls this. */
LW_DEVICE int take_place(bool is_wanted, int *counter)
{
    const unsigned wanted = __ballot_sync(0xffffffffu, is_wanted);
    int first = 0;
    if (SfftTeam::lane() == 0 && wanted != 0)
        first = atomicAdd(counter, __popc(wanted));
    return __shfl_sync(0xffffffffu, first, 0) + __popc(wanted & ((1u << SfftTeam::lane()) - 1));
}

/* Return the sum of `mine` over the threads of the block before this one; *all becomes the sum over all threads. */
LW_ONCE unsigned count_before_thread(unsigned mine, unsigned *all)
{
    unsigned *const of_warp = shared_of_block().count_of_warp;
    unsigned up_to = mine;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned below = __shfl_sync(0xffffffffu, up_to, SfftTeam::lane() >= distance ? SfftTeam::lane() - distance : 0);
        up_to += SfftTeam::lane() >= distance ? below : 0;
    }
    __syncthreads();            /* all threads have read the previous contents */
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

/* The block's share of `count` items. */
struct SfftPiece {
    int begin, end;
};
LW_DEVICE SfftPiece piece_of(int count)
{
    const int piece = (count + SfftTeam::blocks() - 1) / SfftTeam::blocks();
    const int begin = min(SfftTeam::block() * piece, count);
    return {begin, min(begin + piece, count)};
}

/* Number of items kept before the block's share, and among all items. Each block counts both, without a barrier of the team. */
struct SfftKept {
    int before, all;
};
template <class IsKept> LW_DEVICE SfftKept count_kept(int count, IsKept is_kept)
{
    const int begin = piece_of(count).begin;
    int before = 0, all = 0;
#pragma unroll 2
    for (int item = (int)threadIdx.x; item < count; item += SfftTeam::THREADS) {
        const int is_one = is_kept(item);
        before += item < begin ? is_one : 0;
        all += is_one;
    }
    const double2 kept = block_combine<SfftSum>({(double)before, (double)all});
    return {(int)kept.x, (int)kept.y};
}

/* Call place(item, number) for all kept items of the block's share; numbers ascend from `number` on. */
template <class IsKept, class Place> LW_DEVICE void pack(int count, int number, IsKept is_kept, Place place)
{
    const SfftPiece piece = piece_of(count);
    for (int first = piece.begin; first < piece.end; first += SfftTeam::THREADS) {
        const int item = first + (int)threadIdx.x;
        const bool is_mine = item < piece.end && is_kept(item);
        unsigned all;
        const unsigned at = (unsigned)number + count_before_thread(is_mine, &all);
        if (is_mine)
            place(item, (int)at);
        number += (int)all;
    }
}

/* Call found(item, number) for `count` items, in all threads of a warp; number: how many others satisfy is_before(item, other). */
template <class IsBefore, class Found> LW_DEVICE void count_before(int count, IsBefore is_before, Found found)
{
    for (int64_t i = SfftTeam::first(); i < count * 32ll; i += SfftTeam::step()) {
        const int item = (int)(i / 32);
        int number = 0;
#pragma unroll 8
        for (int other = SfftTeam::lane(); other < count; other += 32)
            number += is_before(item, other);
#pragma unroll
        for (int lane = 16; lane > 0; lane /= 2)
            number += __shfl_xor_sync(0xffffffffu, number, lane);
        found(item, number);
    }
}
