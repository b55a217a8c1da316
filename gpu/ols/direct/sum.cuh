/* sum.cuh - direct convolution for short filters: y[f][c][o] = sum_m taps[f][m] x[c][o + M - 1 - m].
 *
 * A filter has M taps, padded with zeros to a compile-time PAD >= M. A thread's window of samples thus stays in registers
 * while the loop over filters f runs. All threads read the same tap at the same time through L1, a broadcast. Non-finite
 * samples count as zero: a padded tap adds exactly 0, and output o of channel c is the same sum in any block.
 *
 *   direct_fast  x[channel][time]. A block converts TILE + PAD samples into shared memory once: 8 KB, float2 12 KB. Thread
 *                i computes RUN vectors of outputs, 16 bytes each; vectors of neighbouring threads adjoin. All reads of the tile
 *                and all stores are thus 16-byte accesses, contiguous over the warp: coalesced, without bank conflicts.
 *   direct_slow  x[time][channel]. Thread i of a block takes one channel, for DIRECT_STEPS outputs in turn. Neighbouring
 *                threads have neighbouring channels: coalesced, no shared memory. The PAD - 1 samples before the first output come
 *                from the caches: each sample is read (DIRECT_STEPS + PAD - 1) / DIRECT_STEPS times on average.
 *
 * Other blocks of the SM hide the latency of the samples. A thread's outputs have independent sums, whose latencies overlap. */
#pragma once

#include "gpu/device/narrow.cuh"
#include "gpu/device/stored.cuh"

constexpr int DIRECT_THREADS = 256, DIRECT_STEPS = 32;

struct DirectArgs {
    const void *input;
    void *output;
    const void *taps;               /* [n_filters][PAD], in the computing precision */
    unsigned *not_finite;           /* set to 1 if a sample is not finite */
    int64_t count, n_channels, halo;        /* outputs of a channel; channels; samples before the first output, M - 1 */
    int64_t pitch;                  /* input samples from one channel to the next; direct_slow: from one time to the next */
    int n_filters;
    enum lw_scalar input_scalar;
    bool input_complex;
    bool aligned;                   /* every row of outputs begins at a whole vector of 16 bytes, or of as many narrow numbers */
    struct lw_narrowing narrow;     /* stored type of the outputs */
};

/* Return sample i of a row as a Sample. Parts that are not finite become zero and set `met`. */
template <class Sample, class Stored, bool COMPLEX> LW_DEVICE Sample direct_sample(const Stored *x, int64_t i, bool &met)
{
    using Real = RealPart<Sample>;
    if constexpr (sizeof(Sample) == sizeof(Real))
        return finite_or_zero(converted<Real>(__ldg(x + i)), met);
    else {
        const Sample s = stored_pair<Real, Stored, COMPLEX>(x, i);
        return {finite_or_zero(s.x, met), finite_or_zero(s.y, met)};
    }
}

template <class Sample> constexpr bool may_be_complex = sizeof(Sample) > sizeof(RealPart<Sample>);

template <class Sample, int TILE, int PAD, class Stored, bool COMPLEX>
LW_DEVICE bool fill_tile(Sample *tile, const DirectArgs &a, int64_t channel, int64_t first)
{
    /* tile[i] is input sample first + halo - PAD + i. Output o is the sum over input samples o .. o + halo. */
    const int64_t row = a.halo + a.count, start = first + a.halo - PAD;
    const Stored *x = (const Stored *)a.input + channel * a.pitch * (COMPLEX ? 2 : 1);
    bool met = false;
#pragma unroll 4
    for (int i = threadIdx.x; i < TILE + PAD; i += DIRECT_THREADS) {
        const int64_t at = start + i;
        tile[i] = at >= 0 && at < row ? direct_sample<Sample, Stored, COMPLEX>(x, at, met) : Sample{};
    }
    return met;
}

/* Store the first `left` numbers of a vector of N words. is_aligned: y is a multiple of the vector's bytes. */
template <int N, class Out> LW_DEVICE void store_words(const float *words, Out *y, int64_t left, bool is_aligned)
{
    struct alignas(N * sizeof(Out)) Numbers { Out s[N]; } numbers;
    using Vector = typename std::conditional<sizeof(Numbers) == 8, float2, unsigned>::type;
#pragma unroll
    for (int i = 0; i < N; ++i)
        numbers.s[i] = stored_bits<Out>(words[i]);
    if (is_aligned && left >= N)
        put((Vector *)y, repacked<Vector>(numbers));
    else
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (i < left)
                put(y + i, numbers.s[i]);
}

/* Store a thread's sums in a narrow type. The first run begins at sample `at` of the output, each other run `span` samples behind
 * the run before. left: samples of the row from `at` on. */
template <class Vector, int RUN>
LW_DEVICE void store_narrow_sums(const Vector (&sum)[RUN], const DirectArgs &a, int64_t at, int64_t left, int span)
{
    constexpr int PARTS = sizeof(sum[0].s[0]) / 4, N = 4;
    float2 v[2 * RUN];
#pragma unroll
    for (int r = 0; r < RUN; ++r) {
        const float4 w = repacked<float4>(sum[r]);
        v[2 * r] = {w.x, w.y};
        v[2 * r + 1] = {w.z, w.w};
    }
    narrow_all(v, a.narrow, [](int) { return true; },
               [&](int m, int part) { return m / 2 * span + (m % 2 * 2 + part) / PARTS < left; });
    with_words(a.narrow, [&](auto out) {
        using Out = decltype(out);
#pragma unroll
        for (int r = 0; r < RUN; ++r) {
            const float words[N] = {v[2 * r].x, v[2 * r].y, v[2 * r + 1].x, v[2 * r + 1].y};
            store_words<N>(words, (Out *)a.output + (at + r * span) * PARTS, (left - r * span) * PARTS, a.aligned);
        }
    });
}

/* NARROW: outputs are of a narrow type. */
template <class Sample, class Tap, int PAD, int RUN, bool NARROW>
__global__ void __launch_bounds__(DIRECT_THREADS) direct_fast(const DirectArgs a)
{
    constexpr int VECTOR = 16 / (int)sizeof(Sample), SPAN = DIRECT_THREADS * VECTOR, TILE = SPAN * RUN, WINDOW = PAD + VECTOR;
    struct alignas(16) Vector { Sample s[VECTOR]; };
    __shared__ __align__(16) Sample tile[TILE + PAD];

    const int64_t first = (int64_t)blockIdx.x * TILE;
    for (int64_t channel = blockIdx.y; channel < a.n_channels; channel += gridDim.y) {
        __syncthreads();
        if (with_sample<may_be_complex<Sample>>(a.input_scalar, a.input_complex, [&](auto stored, auto is_complex) {
                return fill_tile<Sample, TILE, PAD, decltype(stored), decltype(is_complex)::value>(tile, a, channel, first);
            }))
            *a.not_finite = 1;
        __syncthreads();

        Sample x[RUN][WINDOW];      /* tap m of the vector's output v multiplies x[r][PAD + v - m] */
#pragma unroll
        for (int r = 0; r < RUN; ++r)
#pragma unroll
            for (int i = 0; i < WINDOW; i += VECTOR) {
                const Vector w = *(const Vector *)(tile + r * SPAN + threadIdx.x * VECTOR + i);
#pragma unroll
                for (int v = 0; v < VECTOR; ++v)
                    x[r][i + v] = w.s[v];
            }
        const int64_t o = first + threadIdx.x * VECTOR;
        Sample *y = (Sample *)a.output + channel * a.count + o;
        const Tap *taps = (const Tap *)a.taps;
#pragma unroll 1
        for (int f = 0; f < a.n_filters; ++f, taps += PAD, y += a.n_channels * a.count) {
            Vector sum[RUN] = {};
#pragma unroll
            for (int m = 0; m < PAD; ++m) {
                const Tap h = __ldg(taps + m);
#pragma unroll
                for (int r = 0; r < RUN; ++r)
#pragma unroll
                    for (int v = 0; v < VECTOR; ++v)
                        accumulate(sum[r].s[v], h, x[r][PAD + v - m]);
            }
            if constexpr (NARROW)
                store_narrow_sums(sum, a, y - (Sample *)a.output, a.count - o, SPAN);
            else {
#pragma unroll
                for (int r = 0; r < RUN; ++r) {
                    const int64_t left = a.count - o - r * SPAN;
                    if (a.aligned && left >= VECTOR)
                        __stcs((float4 *)(y + r * SPAN), repacked<float4>(sum[r]));
                    else
#pragma unroll
                        for (int v = 0; v < VECTOR; ++v)
                            if (v < left)
                                __stcs(y + r * SPAN + v, sum[r].s[v]);
                }
            }
        }
    }
}

template <class Sample, class Tap, int PAD, class Stored, bool COMPLEX, bool NARROW>
LW_DEVICE bool direct_column(const DirectArgs &a, int64_t channel, int64_t first)
{
    const Stored *x = (const Stored *)a.input + channel * (COMPLEX ? 2 : 1);
    bool met = false;
    Losses losses = {};
    Sample w[PAD + 1] = {};         /* tap m multiplies w[PAD - m] */
#pragma unroll
    for (int i = 1; i < PAD; ++i) {
        const int64_t at = first + a.halo - PAD + i;
        w[i + 1] = at >= 0 ? direct_sample<Sample, Stored, COMPLEX>(x, at * a.pitch, met) : Sample{};
    }
    const int64_t last = first + DIRECT_STEPS < a.count ? first + DIRECT_STEPS : a.count;
    for (int64_t o = first; o < last; ++o) {
#pragma unroll
        for (int i = 0; i < PAD; ++i)
            w[i] = w[i + 1];
        w[PAD] = direct_sample<Sample, Stored, COMPLEX>(x, (o + a.halo) * a.pitch, met);
        const Tap *taps = (const Tap *)a.taps;
        Sample *y = (Sample *)a.output + o * a.n_channels + channel;
#pragma unroll 1
        for (int f = 0; f < a.n_filters; ++f, taps += PAD, y += a.n_channels * a.count) {
            Sample sum = {};
#pragma unroll
            for (int m = 0; m < PAD; ++m)
                accumulate(sum, __ldg(taps + m), w[PAD - m]);
            if constexpr (!NARROW)
                put(y, sum);
            else if constexpr (may_be_complex<Sample>)
                put_complex(a.narrow, a.output, y - (Sample *)a.output, sum, losses);
            else
                put_number(a.narrow, a.output, y - (Sample *)a.output, sum, losses);
        }
    }
    if (NARROW)
        report_losses(a.narrow, losses);
    return met;
}

template <class Sample, class Tap, int PAD, bool NARROW>
__global__ void __launch_bounds__(DIRECT_THREADS) direct_slow(const DirectArgs a)
{
    const int64_t channel = blockIdx.x * (int64_t)DIRECT_THREADS + threadIdx.x;
    if (channel >= a.n_channels)
        return;
    bool met = false;
    for (int64_t first = blockIdx.y * (int64_t)DIRECT_STEPS; first < a.count; first += gridDim.y * (int64_t)DIRECT_STEPS)
        met |= with_sample<may_be_complex<Sample>>(a.input_scalar, a.input_complex, [&](auto stored, auto is_complex) {
            return direct_column<Sample, Tap, PAD, decltype(stored), decltype(is_complex)::value, NARROW>(a, channel, first);
        });
    if (met)
        *a.not_finite = 1;
}
