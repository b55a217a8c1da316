/* sfft_noise.cuh - the noise, from quantiles of the bucket energies: lines fill part of the buckets only.
 *
 * One block a stage: the value of a rank, by its bits from the top, eight at a time (energies are not negative, so
 * that floats have the order of their bits). */
#ifndef LW_SFFT_NOISE_CUH
#define LW_SFFT_NOISE_CUH

#include "sfft_stage.cuh"

#include "../src/sfft_rules.h"

/* The digit at which `rank` falls within a histogram of 256, and the rank left within it. By all threads of a warp. */
LW_DEVICE void find_digit(const unsigned *histogram, unsigned rank, unsigned *digit, unsigned *rest)
{
    constexpr int EACH = 8;
    const int lane = (int)threadIdx.x % 32;
    unsigned sum = 0;
    for (int i = 0; i < EACH; ++i)
        sum += histogram[lane * EACH + i];
    unsigned up_to = sum;       /* the lane's bins included */
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned below = __shfl_sync(0xffffffffu, up_to, lane >= distance ? lane - distance : 0);
        up_to += lane >= distance ? below : 0;
    }
    unsigned before = up_to - sum;
    if (rank < before || rank >= up_to)
        return;
    for (int i = 0; i < EACH; ++i) {
        const unsigned here = histogram[lane * EACH + i];
        if (rank < before + here) {
            *digit = (unsigned)(lane * EACH + i);
            *rest = rank - before;
            return;
        }
        before += here;
    }
}

/* The value at place `rank` of the sorted x. By all threads of a block. */
LW_DEVICE float select_value(const float *x, int64_t count, unsigned rank)
{
    SfftShared &shared = shared_of_block();
    unsigned *const histogram = shared.histogram, &digit = shared.digit, &rest = shared.rest;
    unsigned bits = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int i = (int)threadIdx.x; i < 256; i += SfftTeam::THREADS)
            histogram[i] = 0;
        __syncthreads();
        for (int64_t i = threadIdx.x; i < count; i += SfftTeam::THREADS) {
            const unsigned mine = (unsigned)__float_as_int(x[i]);
            if (shift == 24 || (mine ^ bits) >> (shift + 8) == 0)
                atomicAdd(&histogram[mine >> shift & 255], 1u);
        }
        __syncthreads();
        if (threadIdx.x < 32)
            find_digit(histogram, rank, &digit, &rest);
        __syncthreads();
        bits |= digit << shift;
        rank = rest;
    }
    return __int_as_float((int)bits);
}

/* To control->noise, of the stages that locate, from the energies as last measured. */
LW_DEVICE void estimate_noise(const lw_sfft_recovery &r, int check, double quantile)
{
    for (int s = SfftTeam::block(); s < check; s += SfftTeam::blocks()) {
        const SfftStage &stage = stage_at(s);
        if (stage.n_shifts == 1)
            continue;
        const float energy = select_value(r.energies + stage.first_bucket, stage.n_buckets,
                                          (unsigned)(quantile * (double)stage.n_buckets));
        if (threadIdx.x == 0)
            r.control->noise[s] = (double)energy * stage.noise_per_energy;
    }
}

/* Per sample, of the stage that says least, after estimate_noise and a barrier. */
LW_DEVICE double noise_estimated(const lw_sfft_recovery &r, int check, double least)
{
    double noise = INFINITY;
    for (int s = 0; s < check; ++s)
        if (stage_at(s).n_shifts > 1)
            noise = fmin(noise, r.control->noise[s]);
    return fmax(noise, least);
}

#endif
