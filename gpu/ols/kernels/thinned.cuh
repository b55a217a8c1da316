/* thinned.cuh - epilogues of the overlap-save kernels that store every D-th output of the axis only, or its power or amplitude.
 *
 *   time fast   the segment goes to the exchange region, where its outputs stand in order. Thread t of the team then takes the
 *               kept outputs number t, t + T, ..: neighbouring threads store neighbouring outputs (coalesced) and read samples D
 *               apart, free of bank conflicts if D is odd. Costs two more team barriers
 *   time slow   outputs go through the regions in any case; only the rows that are kept are stored
 *
 * The kernels of interleaved.cuh do this themselves. */
#pragma once

#include "gpu/ols/kernels/post.cuh"

/* Kept outputs of a hop: output `place` and every D-th after it. `number` counts the first among the block's kept outputs. */
struct KeptOutputs {
    int64_t number;
    int place;                      /* PLACES if the hop has none */
};

/* Return the kept outputs of a hop of at most PLACES outputs, whose first output is number `first` of the block's row at rate 1. */
template <int PLACES> LW_DEVICE KeptOutputs kept_outputs(const OlsArgs &a, int64_t first)
{
    const int64_t axis = a.post.first + first, number = (axis + a.every - 1) / a.every;
    return {number - a.first_kept, clamp_to(number * a.every - axis, PLACES)};
}

/* Return the place of filter f's kept output `number` in the segment's row. */
template <bool PAIRED, class Real>
LW_DEVICE Real *kept_place(const OlsArgs &a, const OlsPlace &p, int f, int64_t number)
{
    return (Real *)a.output + (p.output - p.first + f * a.plane + number) * width_of<PAIRED>(a);
}

/* Store the kept outputs of a hop, or what --post makes of them. `hop` has only outputs at multiples of FOLD, side by side; D and
 * the places of all hops on the axis are multiples of FOLD. */
template <class F, int FOLD, bool PAIRED>
LW_DEVICE void store_kept(const typename F::C *hop, const OlsArgs &a, const OlsPlace &p, int f, int t)
{
    using C = typename F::C;
    using Real = typename F::Real;
    const int every = min(a.every / FOLD, F::N);
    const KeptOutputs first = kept_outputs<FOLD * F::N>(a, p.first);
    const KeptOutputs second = PAIRED && a.pairs_hops ? kept_outputs<FOLD * F::N>(a, p.first + a.hop) : first;
    const int left[2] = {p.want[0] - first.place, p.want[1] - second.place};
    const C *const x = hop + first.place / FOLD, *const later = hop + second.place / FOLD;
    Real *const y = kept_place<PAIRED, Real>(a, p, f, first.number);
    const int64_t to_second = a.output_second + second.number - first.number;
    bool lost = false;
    int number = t;
#pragma unroll 1
    for (int i = t * every; i * FOLD < max(left[0], left[1]); i += F::T * every, number += F::T) {
        const bool has[2] = {i * FOLD < left[0], i * FOLD < left[1]};
        C c = {0, 0};
        if (has[0])
            c.x = x[i].x;
        if (has[1])
            c.y = later[i].y;
        put_made<PAIRED>(a, c, has, y + number * width_of<PAIRED>(a), to_second, lost);
    }
    if (lost)
        *a.post.out_of_range = 1;
}

/* Time fast. */
struct StoreThinned : Epilogue {
    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void finish(typename F::C (&v)[F::E], const F &fft, typename F::C *shared, const OlsArgs &a, const OlsPlace &p,
                          bool, int f, int t)
    {
        fft.end_backward(v, shared, t);
        share_segment<F>(v, shared, t);
        store_kept<F, 1, PAIRED>(shared + a.discard, a, p, f, t);     /* the next transform begins with a barrier */
    }
};

/* Time slow. PAIRED: transforms of two real channels. */
template <bool PAIRED> struct StoreThinnedChannels : ChannelEpilogue {
    template <class F, int W>
    LW_DEVICE void finish(typename F::C (&v)[F::E], unsigned char *memory, typename F::C *own, const OlsArgs &a,
                          const TimeSlowPlace &p, int row, int group, int f, int t)
    {
        share_outputs<F>(v, own, t);
        const KeptOutputs kept = kept_outputs<F::N>(a, row * a.step);
        const TimeSlowRows rows = {kept.place, min(a.every, F::N), p.want};
        typename F::Real *const y = (typename F::Real *)a.output + kept.number * a.output_pitch + f * a.plane;
        if (a.post.is_real)
            store_made<F, W>(memory, a, rows, y, group);
        else
            store_rows<F, W>(memory, a, p, rows, y + (int64_t)group * W * 2, threadIdx.x);
        __syncthreads();
    }

    /* Store powers or amplitudes of these rows. y: place of channel 0's first output. */
    template <class F, int W>
    LW_DEVICE void store_made(unsigned char *memory, const OlsArgs &a, TimeSlowRows rows, typename F::Real *y, int group)
    {
        using B = TimeSlowBlock<F, W>;
        const int w = threadIdx.x % W;
        const int64_t channel = ((int64_t)group * W + w) * (PAIRED ? 2 : 1);
        const bool has[2] = {channel < a.n_channels, channel + 1 < a.n_channels};
        const typename F::C *const hop = B::region(memory, w) + a.discard;
        const int number = threadIdx.x / W;
        bool lost = false;
        y += number * a.output_pitch;
        for (int row = rows.begin + number * rows.every; row < rows.end; row += F::T * rows.every, y += F::T * a.output_pitch)
            put_made<PAIRED>(a, hop[row], has, y + channel * width_of<PAIRED>(a), 1, lost);
        if (lost)
            *a.post.out_of_range = 1;
    }
};
