/* team.cuh - the threads that recover lines together: the blocks of one cluster; of a whole grid, where there is more
 * to do than a cluster can; or one block, where a device has neither. Work is dealt out warp by warp over the blocks, so that
 * little work uses many multiprocessors. */
#pragma once

#include "gpu/device/fft.cuh"
#include "gpu/sfft/launch.h"

#include "sfft/rules.h"

/* Of what stands in many places, one copy: the whole kernel runs through once, and waits for its instructions. */
#define LW_ONCE __device__ __noinline__

/* Candidates of a block that are tried at a time, and what of them may be taken out: a line and its mirror image. */
#define SFFT_TRIED 256
#define SFFT_TAKEN (2 * SFFT_TRIED)

/* To sort lines: intervals of the spectrum, and the most lines that a block has room for. */
#define SFFT_INTERVALS 4096
#define SFFT_SORTED 8192
#define SFFT_FEW 2048           /* that may be compared each with each, */
#define SFFT_COMPARED 64        /* so many by a thread, in less time */

/* Of the rows of the normal equations, what a thread has room for: all of its share of a line's row in three stages. */
#define SFFT_ROW_LANES 8        /* threads of a line */
#define SFFT_HELD (3 * LW_SFFT_DEVICE_ROW / SFFT_ROW_LANES)

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
    int64_t frequency[SFFT_FEW];
    struct {
        double2 value[SFFT_HELD][LW_SFFT_DEVICE_THREADS];
        int other[SFFT_HELD][LW_SFFT_DEVICE_THREADS];       /* -1: none */
    } row;
};

/* A block's own memory. It is dynamic: there is one for each block of a team where kernels are emulated, too. */
struct SfftShared {
    double2 of_warp[LW_SFFT_DEVICE_THREADS / 32];
    unsigned count_of_warp[LW_SFFT_DEVICE_THREADS / 32];
    float energy_of_warp[LW_SFFT_DEVICE_THREADS / 32];
    unsigned histogram[2][256], digit, rest;        /* of a selection */
    unsigned *arrivals, expected;                   /* at the barriers of a grid */
    int n_seen[2], n_taken[2];                      /* in turn: one is cleared while the other counts */
    int n_candidates, n_of_level[LW_SFFT_TOLERANCES], n_new;        /* of this block and round; new frequencies */
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

/* The sum of the first, the largest of the second. */
struct SfftSumAndLargest {};
template <> LW_DEVICE double2 combined<SfftSumAndLargest>(double2 a, double2 b)
{
    return {SfftSum::of(a.x, b.x), SfftLargest::of(a.y, b.y)};
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

/* What a thread takes of them, which are all >= 0 or summed: 0 beyond the last block. */
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

/* The block's piece of `count` items. */
struct SfftPiece {
    int begin, end;
};
LW_DEVICE SfftPiece piece_of(int count)
{
    const int piece = (count + SfftTeam::blocks() - 1) / SfftTeam::blocks();
    const int begin = min(SfftTeam::block() * piece, count);
    return {begin, min(begin + piece, count)};
}

/* How many items are kept: before the block's piece, and of all. Each block counts for itself. */
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

/* Call place(item, number) for all items of the block's piece that are kept, numbered in order from `number` on. */
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

/* For each of `count` items, how many of `count` others `is_before` (item, other) holds; a warp takes an item.
 * `found` (item, number) is called by all its lanes. */
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
