/* sums.cuh - kernels of stacks: the spectra of tiles, and the sums of their filtered channels.
 *
 * A team of T threads, a thread block, takes one filter along a *walk*, a range of its outputs. For each tile it goes through the
 * channels: the product of two spectra, both from the L2 cache, the way back in registers and shared memory (gpu/device/fft.cuh),
 * and the addition to sums in shared memory, at the place that the delay gives. Adjacent threads add to adjacent sums: there are no
 * bank conflicts. The sums reach as far beyond a tile as the filter's delays; those that no later tile changes are stored, and the
 * others move to the front. Nothing else goes to memory: 24 channels are added up before their sum is stored.
 *
 * Blocks that run at the same time take the same few filters along many walks, so that their spectra stay in the L2 cache. */
#pragma once

#include "gpu/array/stack.h"
#include "gpu/device/launch.cuh"
#include "gpu/device/stored.cuh"

#include <math_constants.h>

/* ---- samples -------------------------------------------------------------------------------------------------------- */

struct StackInput {
    const void *samples;
    int64_t step, row;                  /* samples from one to the next, and from channel to channel */
    int64_t n_samples;
    int n_taps;
    bool propagates;
};

/* Return a sample; 0 beyond the block. If it is not finite in single precision, set `met` and return 0. */
template <class Stored> LW_DEVICE double sample_of(const StackInput &in, int64_t channel, int64_t i, bool &met)
{
    if (i >= in.n_samples)
        return 0;
    const Stored x = __ldg(static_cast<const Stored *>(in.samples) + channel * in.row + i * in.step);
    if (!std::is_integral<Stored>::value && !isfinite(static_cast<float>(x))) {
        met = true;
        return 0;
    }
    return static_cast<double>(x);
}

/* ---- spectra of tiles ----------------------------------------------------------------------------------------------- */

struct StackSegments {
    StackInput input;
    lw_scalar scalar;
    const float2 *powers;
    float2 *spectra;
    float *rms;
    unsigned *not_finite;
    int n_tiles, discard, hop;
    bool is_demeaned;
};

/* Return the sum over the team's threads; the order of additions is fixed. shared: [F::T] doubles */
template <class F> LW_DEVICE double sum_of_team(double x, double *shared, int t)
{
    F::Team::sync();
    shared[t] = x;
    for (int n = F::T / 2; n > 0; n /= 2) {
        F::Team::sync();
        if (t < n)
            shared[t] += shared[t + n];
    }
    F::Team::sync();
    return shared[0];
}

/* Load a hop's segment, in double less its mean if `is_demeaned`. Its first samples, which no output needs, count as 0. */
template <class F, class Stored>
LW_DEVICE void load_hop(float (&v)[F::E], const StackSegments &a, int channel, int64_t first, double *shared, int t, bool &met)
{
    const int lead = a.discard - (a.input.n_taps - 1);
    const int64_t start = first - lead;
    double level = 0;
    if (a.is_demeaned) {
        const int64_t n = a.input.n_samples - first < F::N - lead ? a.input.n_samples - first : F::N - lead;
        const double own = sample_of<Stored>(a.input, channel, first, met);     /* equal samples give exactly 0 */
        double sum = 0;
        for (int m = 0; m < F::E; m++) {
            const int i = t + F::T * m;
            if (i >= lead && i < lead + n)
                sum += sample_of<Stored>(a.input, channel, start + i, met) - own;
        }
        level = n > 0 ? own + sum_of_team<F>(sum, shared, t) / static_cast<double>(n) : 0;
    }
#pragma unroll
    for (int m = 0; m < F::E; m++) {
        const int i = t + F::T * m;
        v[m] = i >= lead ? static_cast<float>(sample_of<Stored>(a.input, channel, start + i, met) - level) : 0;
    }
}

/* Transform the tile blockIdx.x of the channel blockIdx.y. */
template <class F> __global__ void __launch_bounds__(F::T) stack_segments(const StackSegments a)
{
    extern __shared__ __align__(128) unsigned char memory[];
    float2 *const shared = reinterpret_cast<float2 *>(memory);
    double *const sums = reinterpret_cast<double *>(memory);
    const int t = threadIdx.x, channel = blockIdx.y;
    const int64_t number = static_cast<int64_t>(channel) * a.n_tiles + blockIdx.x;
    const int64_t first = 2 * static_cast<int64_t>(a.hop) * blockIdx.x;
    float re[F::E], im[F::E];
    float2 v[F::E];
    bool met = false;
    with_stored(a.scalar, [&](auto stored) {
        load_hop<F, decltype(stored)>(re, a, channel, first, sums, t, met);
        load_hop<F, decltype(stored)>(im, a, channel, first + a.hop, sums, t, met);
    });
    if (met)
        *a.not_finite = 1;
    double squares = 0;
#pragma unroll
    for (int m = 0; m < F::E; m++) {
        v[m] = {re[m], im[m]};
        squares += static_cast<double>(re[m]) * re[m] + static_cast<double>(im[m]) * im[m];
    }
    squares = sum_of_team<F>(squares, sums, t);
    if (t == 0)
        a.rms[number] = static_cast<float>(sqrt(squares / F::N));
    F fft;
    fft.load(a.powers, t);
    F::Team::sync();
    fft.forward(v, shared, t);
    float4 *const to = reinterpret_cast<float4 *>(a.spectra + number * F::N) + t;
#pragma unroll
    for (int m = 0; m < F::E; m += 2)
        to[m / 2 * F::T] = {v[m].x, v[m].y, v[m + 1].x, v[m + 1].y};
}

/* ---- sums ----------------------------------------------------------------------------------------------------------- */

struct StackSums {
    const float2 *powers, *spectra, *bank;
    const float *gains, *rms, *most, *peaks, *taps;
    const lw_stack_term *terms;
    const lw_stack_terms *counts;
    float *series;
    unsigned *touched;
    int64_t first, count;               /* outputs of the piece */
    int filter, n_filters, n_inputs, n_tiles, discard, hop, tile;
    bool own_taps, is_demeaned;
    int walk, n_walks, abreast;         /* outputs of a walk; walks of a filter; filters that walk at the same time */

    /* Divide the outputs into walks of about as many tiles. */
    void plan_walks(int walk_tiles, int most_abreast)
    {
        const int64_t tiles = (count + tile - 1) / tile, walks = (tiles + walk_tiles - 1) / walk_tiles;
        walk = static_cast<int>((count + walks - 1) / walks);
        n_walks = static_cast<int>((count + walk - 1) / walk);
        abreast = n_filters < most_abreast ? n_filters : most_abreast;
    }
};

LW_DEVICE int64_t row_of(const StackSums &a, int filter, int channel)
{
    return a.own_taps ? static_cast<int64_t>(filter) * a.n_inputs + channel : filter;
}

/* Return the least product of a window's gain and its tile's rms that transforms are not exact enough for. The rms error of outputs
 * behind a template of norm 1 is at most (1.5 + peak / 2) roundings of the samples' rms value; a coefficient's may be 1.5e-7. */
LW_DEVICE float limit_of(float peak) { return 1.5e-7f / (0x1p-24f * (1.5f + 0.5f * peak)); }

/* Multiply two spectra in the threads' order, and make the first butterflies of the way back. */
template <class F> LW_DEVICE void multiply_spectra(float2 (&v)[F::E], const float2 *spectrum, const float2 *filter, int t)
{
    constexpr int E = F::E, T = F::T;
    const float4 *const x = reinterpret_cast<const float4 *>(spectrum) + t, *const h = reinterpret_cast<const float4 *>(filter) + t;
#pragma unroll
    for (int m = 0; m < E / 2; m += 2) {
        const int low = m / 2 * T, high = low + E / 4 * T;
        const float4 a = __ldg(x + low), b = __ldg(x + high), c = __ldg(h + low), d = __ldg(h + high);
        multiply_pair(v[m], v[m + E / 2], {a.x, a.y}, {c.x, c.y}, {b.x, b.y}, {d.x, d.y});
        multiply_pair(v[m + 1], v[m + 1 + E / 2], {a.z, a.w}, {c.z, c.w}, {b.z, b.w}, {d.z, d.w});
    }
}

/* Add a channel's outputs to the sums. v has re and im swapped. CHECKED: gains count as 0 whose product with rms reaches limit. */
template <class F, bool CHECKED>
LW_DEVICE void add_outputs(const float2 (&v)[F::E], const StackSums &a, const float *gains, float weight, float rms, float limit,
                           float *sums, int t)
{
    const float *g = gains + t - a.discard;
    float *to = sums + t - a.discard;
#pragma unroll
    for (int m = 0; m < F::E; m++) {
        const int k = F::T * m;
        if (k < a.discard)
            continue;
        float one = __ldg(g + k), two = __ldg(g + k + a.hop);
        if (CHECKED) {
            one = one * rms >= limit ? 0 : one;
            two = two * rms >= limit ? 0 : two;
        }
        to[k] = fmaf(v[m].y, one * weight, to[k]);
        to[k + a.hop] = fmaf(v[m].x, two * weight, to[k + a.hop]);
    }
}

/* Store the sums that no later tile changes, move the others to the front, and clear the rest. first: output of sums[0] */
template <class F>
LW_DEVICE void store_sums(float *sums, float *series, int tile, int span, int64_t first, int64_t from, int64_t end, int t)
{
    F::Team::sync();
    for (int i = t; i < tile; i += F::T)
        if (first + i >= from && first + i < end)
            series[first + i] = sums[i];
    for (int done = 0; done < tile + span; done += tile) {
        F::Team::sync();
        const int n = min(tile, tile + span - done);
        for (int i = t; i < n; i += F::T)
            sums[done + i] = done + i < span ? sums[done + i + tile] : 0;
    }
    F::Team::sync();
}

template <class F, int BLOCKS> __global__ void __launch_bounds__(F::T, BLOCKS) stack_sums(const StackSums a)
{
    extern __shared__ __align__(128) unsigned char memory[];
    float2 *const shared = reinterpret_cast<float2 *>(memory);
    float *const sums = reinterpret_cast<float *>(memory + F::SHARED_BYTES);
    const int t = threadIdx.x, each = a.abreast * a.n_walks, group = blockIdx.x / each, place = blockIdx.x - group * each;
    const int wide = min(a.abreast, a.n_filters - group * a.abreast);
    const int number = group * a.abreast + place % wide, filter = a.filter + number, channels = a.n_inputs;
    const lw_stack_terms counts = a.counts[filter];
    const int span = counts.most - counts.least, tile = a.tile;
    const int64_t from = a.first + static_cast<int64_t>(place / wide) * a.walk, limit = a.first + a.count;
    const int64_t end = from + a.walk < limit ? from + a.walk : limit;
    const lw_stack_term *const terms = a.terms + static_cast<int64_t>(filter) * channels;
    float *const series = a.series + number * a.count - a.first;
    F fft;
    fft.load(a.powers, t);
    for (int i = t; i < tile + span; i += F::T)
        sums[i] = 0;
    for (int64_t j = (from + counts.least) / tile; j <= (end - 1 + counts.most) / tile; j++) {
        const int64_t first = j * tile;
        for (int k = 0; k < counts.n; k++) {
            const lw_stack_term term = terms[k];
            if (first + tile - term.delay <= from || first - term.delay >= end)
                continue;
            const int64_t at = term.channel * static_cast<int64_t>(a.n_tiles) + j, row = row_of(a, filter, term.channel);
            float2 v[F::E];
            fft.pin();
            multiply_spectra<F>(v, a.spectra + at * F::N, a.bank + row * F::N, t);
            fft.backward(v, shared, t);
            const float *const gains = a.gains + at * tile;
            float *const to = sums + counts.most - term.delay;
            const float rms = a.rms[at], least = limit_of(a.peaks[row]);
            if (a.most[at] * rms < least)
                add_outputs<F, false>(v, a, gains, term.weight, rms, least, to, t);
            else {
                a.touched[number] = 1;
                add_outputs<F, true>(v, a, gains, term.weight, rms, least, to, t);
            }
        }
        store_sums<F>(sums, series, tile, span, first - counts.most, from, end, t);
    }
}

/* The kernels of a transform, and the shared memory of its exchanges. */
struct StackKernels {
    void (*segments)(const StackSegments);
    void (*sums)(const StackSums);
    int shared_bytes;
};
