/* noise.cuh - estimates the noise from quantiles of the bucket energies, up to the median: lines raise only part of the buckets.
 *
 * One block takes one stage, and finds the energy of a given rank digit by digit, eight bits at a time from the top. (Energies are
 * not negative, so floats order like their bits.) Two digits give the energy to a part in 256, which is more exact than the
 * relation of quantile and noise. */
#pragma once

#include "gpu/sfft/stage.cuh"

/* Find the bin of a histogram of 256 into which `rank` falls, and the rank within that bin. All threads of a warp take part. */
LW_DEVICE void find_digit(const unsigned *histogram, unsigned rank, unsigned *digit, unsigned *rest)
{
    constexpr int EACH = 8;
    const int lane = SfftTeam::lane();
    unsigned sum = 0;
    for (int i = 0; i < EACH; ++i)
        sum += histogram[lane * EACH + i];
    unsigned up_to = sum;       /* running sum, this lane's bins included */
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

/* Return the value at place `rank` of the sorted x, to a part in 256. All threads of a block take part. */
LW_DEVICE float select_value(const float *x, int64_t count, unsigned rank)
{
    constexpr int DIGITS = 2, LOWEST = 31 - 8 * DIGITS;     /* LOWEST: low bits that no digit covers; the sign is 0 */
    SfftShared &shared = shared_of_block();
    unsigned bits = 0;
    for (int i = (int)threadIdx.x; i < DIGITS * 256; i += SfftTeam::THREADS)
        shared.histogram[i / 256][i % 256] = 0;
    __syncthreads();
    for (int step = 0; step < DIGITS; ++step) {
        const int shift = 31 - 8 * (step + 1);
#pragma unroll 4
        for (int64_t i = threadIdx.x; i < count; i += SfftTeam::THREADS) {
            const unsigned mine = (unsigned)__float_as_int(x[i]);
            if (step == 0 || (mine ^ bits) >> (shift + 8) == 0)
                atomicAdd(&shared.histogram[step][mine >> shift & 255], 1u);
        }
        __syncthreads();
        if (threadIdx.x < 32)
            find_digit(shared.histogram[step], rank, &shared.digit, &shared.rest);
        __syncthreads();
        bits |= shared.digit << shift;
        rank = shared.rest;
    }
    return __int_as_float((int)(bits | 1u << (LOWEST - 1)));
}

/* Set control->noise of the locating stages, from the energies last measured. */
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
        __syncthreads();
    }
}

/* Return the noise per sample: the least over the stages. Call it after estimate_noise and a barrier. */
LW_DEVICE double noise_estimated(const lw_sfft_recovery &r, int check, double least)
{
    double noise = INFINITY;
    for (int s = 0; s < check; ++s)
        if (stage_at(s).n_shifts > 1)
            noise = fmin(noise, r.control->noise[s]);
    return fmax(noise, least);
}
