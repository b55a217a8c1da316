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

/* Return the place in the output, in numbers, of kept output `number` of filter f, in the segment's row. */
template <bool PAIRED> LW_DEVICE int64_t kept_place(const OlsArgs &a, const OlsPlace &p, int f, int64_t number)
{
    return (p.output - p.first + f * a.plane + number) * width_of<PAIRED>(a);
}

/* Store the kept outputs of a hop, or their powers or amplitudes. hop: the outputs at multiples of FOLD, side by side. D and the
 * axis indices at which hops begin are multiples of FOLD. */
template <class F, int FOLD, bool PAIRED>
LW_DEVICE void store_kept(const typename F::C *hop, const OlsArgs &a, const OlsPlace &p, int f, int t)
{
    using C = typename F::C;
    const int every = min(a.every / FOLD, F::N);
    const KeptOutputs first = kept_outputs<FOLD * F::N>(a, p.first);
    const KeptOutputs second = PAIRED && a.pairs_hops ? kept_outputs<FOLD * F::N>(a, p.first + a.hop) : first;
    const int left[2] = {p.want[0] - first.place, p.want[1] - second.place};
    const C *const x = hop + first.place / FOLD, *const later = hop + second.place / FOLD;
    const int64_t y = kept_place<PAIRED>(a, p, f, first.number);
    const int64_t to_second = a.output_second + second.number - first.number;
    Lost lost = {};
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
    lost.report(a);
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
        const int64_t y = kept.number * a.output_pitch + f * a.plane, first = y + (int64_t)group * W * 2;
        AsShared take;
        if (a.post.is_real)
            store_made<F, W>(memory, a, rows, y, group);
        else if (a.narrow.bytes == 0)
            store_rows<F, W>(memory, a, p, rows, (typename F::Real *)a.output + first, threadIdx.x, take);
        else if constexpr (sizeof(typename F::Real) == 4)
            store_narrow<F, W>(memory, a, p, rows, first);
        __syncthreads();
    }

    /* Store outputs of `rows` in a narrow type. y: place of the first row's first number in the output. */
    template <class F, int W>
    LW_DEVICE void store_narrow(unsigned char *memory, const OlsArgs &a, const TimeSlowPlace &p, TimeSlowRows rows, int64_t y)
    {
        Losses losses = {};
        const auto take = [&](float value) { return narrow_word(a.narrow, value, losses); };
        with_words(a.narrow, [&](auto out) {
            store_rows<F, W>(memory, a, p, rows, (decltype(out) *)a.output + y, threadIdx.x, take);
        });
        report_losses(a.narrow, losses);
    }

    /* Store powers or amplitudes of `rows`. y: place of the first row's channel 0 in the output. */
    template <class F, int W>
    LW_DEVICE void store_made(unsigned char *memory, const OlsArgs &a, TimeSlowRows rows, int64_t y, int group)
    {
        using B = TimeSlowBlock<F, W>;
        const int w = threadIdx.x % W;
        const int64_t channel = ((int64_t)group * W + w) * (PAIRED ? 2 : 1);
        const bool has[2] = {channel < a.n_channels, channel + 1 < a.n_channels};
        const typename F::C *const hop = B::region(memory, w) + a.discard;
        const int number = threadIdx.x / W;
        Lost lost = {};
        y += number * a.output_pitch;
        for (int row = rows.begin + number * rows.every; row < rows.end; row += F::T * rows.every, y += F::T * a.output_pitch)
            put_made<PAIRED>(a, hop[row], has, y + channel * width_of<PAIRED>(a), 1, lost);
        lost.report(a);
    }
};
