/* estimate.cuh - makes candidates lines, by medians over all loops. A block does it, with the candidates in shared memory.
 *
 * First two threads per candidate, each for every other loop, drop candidates that are weak in most loops: nearly all that were
 * elected by chance. Then a group of threads takes a candidate. Thread l computes the amplitude by loop l, and finds its rank
 * among those of all loops in shared memory, re and im separately. The ranks in the middle give the median. */
#pragma once

#include "gpu/sfft/published/place.cuh"

constexpr int ESTIMATE_THREADS = 256, LEAST_GROUP = 16, MOST_GROUPS = ESTIMATE_THREADS / LEAST_GROUP;
constexpr int MOST_CANDIDATES = 2048, PARTNERS = 2;

/* The work area of a block, in shared memory. */
struct Candidates {
    int n_elected, n_strong;
    int64_t elected[MOST_CANDIDATES], strong[MOST_CANDIDATES];
    lw_published_device_loop loops[LW_PUBLISHED_LOOPS];
    double re[ESTIMATE_THREADS], im[ESTIMATE_THREADS];
    double2 middle_re[MOST_GROUPS], middle_im[MOST_GROUPS];     /* lower and upper middle */
    int agreeing[MOST_GROUPS], number[MOST_GROUPS];
};

/* The demands on a candidate, as energies of a bucket. */
struct Bar {
    double noise, least;
};

LW_DEVICE Bar bar_of(const lw_published_device &device)
{
    const double noise = device.control->median / 0.69314718055994530942;
    return {noise, noise * device.significance};
}

/* Keep candidates that are strong in at least half of the loops; each of PARTNERS threads checks every PARTNERS-th loop. */
template <bool IS_POWER> LW_DEVICE void find_strong(const lw_published_device &device, const Bar &bar, Candidates &candidates)
{
    const int partner = (int)threadIdx.x % PARTNERS, count = candidates.n_elected;
#pragma unroll 1
    for (int base = 0; base < count; base += ESTIMATE_THREADS / PARTNERS) {
        const int i = base + (int)threadIdx.x / PARTNERS;
        const int64_t f = candidates.elected[min(i, count - 1)];
        int weak = 0;
#pragma unroll 2
        for (int l = partner; l < device.n_estimates; l += PARTNERS) {
            const Place place = place_of<IS_POWER>(device, candidates.loops[l], f);
            weak += energy_of(device.planes[l * device.n_buckets + place.bucket]) < 0.5 * bar.least ? 1 : 0;
        }
#pragma unroll
        for (int other = PARTNERS / 2; other > 0; other /= 2)
            weak += __shfl_xor_sync(0xffffffffu, weak, other);
        if (i < count && partner == 0 && 2 * weak <= device.n_estimates)
            candidates.strong[atomicAdd(&candidates.n_strong, 1)] = f;
    }
}

/* Return the amplitude at f according to loop l. */
template <bool IS_POWER>
LW_DEVICE double2 value_in(const lw_published_device &device, const lw_published_device_loop &loop, int l, int64_t f)
{
    const Place place = place_of<IS_POWER>(device, loop, f);
    const double2 phase = turned(multiply_in<IS_POWER>(device, f, loop.tau), device.inverse_n);
    const double2 z = product(device.planes[l * device.n_buckets + place.bucket], double2{phase.x, -phase.y});
    const double gain = response_at(device, place.distance);
    return {z.x / gain, z.y / gain};
}

/* Rank the value at place `own` among `count` values: if it is the lower or the upper middle, or both, store it there. */
LW_DEVICE void rank(const double *values, int own, int count, double2 &middle)
{
    const double mine = values[own];
    int below = 0;
#pragma unroll 2
    for (int j = 0; j < count; ++j)
        below += values[j] < mine || (values[j] == mine && j < own) ? 1 : 0;
    if (below == (count - 1) / 2)
        middle.x = mine;
    if (below == count / 2)
        middle.y = mine;
}

/* Add a line that has passed; called by one thread. Return its number; -1: there is no room. */
LW_DEVICE int add_line(const lw_published_device &device, const lw_sfft_line &line)
{
    const int number = atomicAdd(&device.control->n_lines, 1);
    if (number >= device.capacity)
        return -1;
    device.lines[number] = line;
    device.keys[number] = {energy_of(double2{line.re, line.im}), line.frequency};
    return number;
}

template <bool IS_POWER> LW_DEVICE void estimate_strong(const lw_published_device &device, const Bar &bar, Candidates &candidates)
{
    const int width = device.n_estimates <= LEAST_GROUP ? LEAST_GROUP : LW_PUBLISHED_LOOPS, count = candidates.n_strong;
    const int group = (int)threadIdx.x / width, l = (int)threadIdx.x % width, n_groups = ESTIMATE_THREADS / width;
    double *const re = candidates.re + group * width, *const im = candidates.im + group * width;
#pragma unroll 1
    for (int base = 0; base < count; base += n_groups) {
        const bool is_there = base + group < count, takes_part = is_there && l < device.n_estimates;
        const int64_t f = is_there ? candidates.strong[base + group] : 0;
        double2 mine = {0, 0};
        if (takes_part)
            mine = value_in<IS_POWER>(device, candidates.loops[l], l, f);
        re[l] = mine.x;
        im[l] = mine.y;
        if (l == 0)
            candidates.agreeing[group] = 0;
        __syncthreads();
        if (takes_part) {
            rank(re, l, device.n_estimates, candidates.middle_re[group]);
            rank(im, l, device.n_estimates, candidates.middle_im[group]);
        }
        __syncthreads();
        const double2 both_re = candidates.middle_re[group], both_im = candidates.middle_im[group];
        const double2 middle = {(both_re.x + both_re.y) / 2, (both_im.x + both_im.y) / 2};
        const double2 off = {mine.x - middle.x, mine.y - middle.y};
        if (takes_part && energy_of(off) < 12 * bar.noise + 1e-4 * energy_of(middle))
            atomicAdd(&candidates.agreeing[group], 1);
        __syncthreads();
        const double n = (double)device.n;
        const lw_sfft_line line = {f, n * middle.x, n * middle.y, 0};
        if (l == 0)
            candidates.number[group] = is_there && energy_of(middle) > bar.least &&
                                       3 * candidates.agreeing[group] > device.n_estimates ? add_line(device, line) : -1;
        __syncthreads();
        const int number = candidates.number[group], parts = device.is_real ? 6 : 3;      /* 6 with a mirror image */
        if (number >= 0 && l < 3 * copies_of(device, f))
            hook_share<IS_POWER>(device, line, l, number * parts + l);
    }
}
