/* thinned.cuh - epilogues of the overlap-save kernels that store only every D-th output of the axis, or its power or amplitude.
 *
 *   time fast   the segment goes to the exchange region, where its outputs stand in order. Thread t of the team then takes kept
 *               outputs t, t + T, ..: adjacent threads store adjacent outputs (coalesced) and read samples D apart, without bank
 *               conflicts if D is odd. This costs two more team barriers
 *   time slow   outputs go through the regions in any case; only the kept rows are stored
 *
 * The kernels of interleaved.cuh do this themselves. */
#pragma once

#include "gpu/ols/kernels/post.cuh"

/* The kept outputs of a hop: output `place` and every D-th output after it. */
struct KeptOutputs {
    int64_t number;                 /* number of the first of them among the kept outputs of the block's row */
    int place;                      /* PLACES if the hop has no kept output */
};

/* Return the kept outputs of a hop of at most PLACES outputs. first: number of the hop's first output in the block's row. */
template <int PLACES> LW_DEVICE KeptOutputs kept_outputs(const OlsArgs &a, int64_t first)
{
    const int64_t axis = a.post.first + first, number = (axis + a.every - 1) / a.every;
    return {number - a.first_kept, clamp_to(number * a.every - axis, PLACES)};
}

/* Return the place in the output of kept output `number` of filter f, in the segment's row. */
template <bool PAIRED, class Real>
LW_DEVICE Real *kept_place(const OlsArgs &a, const OlsPlace &p, int f, int64_t number)
{
    return (Real *)a.output + (p.output - p.first + f * a.plane + number) * width_of<PAIRED>(a);
}

/* Store the kept outputs of a hop, or their powers or amplitudes. hop: the outputs at multiples of FOLD, side by side. D and the
 * axis indices at which hops begin are multiples of FOLD. */
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

/* Epilogue, time fast, that stores the kept outputs. */
struct StoreThinned : Epilogue {
    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void finish(typename F::C (&v)[F::E], const F &fft, typename F::C *shared, const OlsArgs &a, const OlsPlace &p,
                          bool, int f, int t)
    {
        fft.end_backward(v, shared, t);
        share_segment<F>(v, shared, t);
        store_kept<F, 1, PAIRED>(shared + a.discard, a, p, f, t);     /* no barrier: the next transform begins with one */
    }
};

/* Epilogue, time slow, that stores the kept outputs. PAIRED: each transform has two real channels. */
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

    /* Store powers or amplitudes of `rows`. y: place of the first row's channel 0 in the output. */
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
