/* post.cuh - epilogues of the overlap-save kernels for --post: power, amplitude, interpolation.
 *
 * A segment gives before + hop + after samples of the series, from value `discard` on, and the epilogue makes the hop's outputs:
 *
 *   power      each thread from its own registers; stores are coalesced like those of the series
 *   amplitude  from the exchange region, where the series stands in order, in a loop: amplitudes take many instructions, and 32
 *              copies of these would not stay in the instruction cache. This costs two more team barriers
 *   rate > 1   also from the exchange region. Adjacent threads make adjacent outputs, and read the few samples that these share
 *              (mostly one broadcast access). A thread makes outputs of one phase, with its weights in registers, four side by side
 *   time slow  always from the regions, since outputs go through them in any case; adjacent threads take adjacent channels
 *
 * Branches between these ways are taken at run time, once per filter and thread, and cost nothing beside the transforms. Kernels
 * with these epilogues are compiled for fewer lengths than kernels that store the series. */
#pragma once

#include "gpu/device/post.cuh"
#include "gpu/ols/kernels/time_slow.cuh"

/* The losses of a thread: powers beyond the range of their type, and numbers that a narrow type cannot hold. */
struct Lost {
    bool powers;
    Losses narrow;

    LW_DEVICE void report(const OlsArgs &a) const
    {
        if (powers)
            *a.post.out_of_range = 1;
        report_losses(a.narrow, narrow);
    }
};

/* Make and store an output of each series of a segment: PAIRED two real series, else one complex series. has: the output is wanted.
 * to: place of the first series' output, in numbers; second: distance from there to the second series' output. */
template <bool PAIRED, class C>
LW_DEVICE void put_made(const OlsArgs &a, C c, const bool (&has)[2], int64_t to, int64_t second, Lost &lost)
{
    if (PAIRED) {
        if (has[0])
            put_number(a.narrow, a.output, to, made_of_real(a.post, c.x, lost.powers), lost.narrow);
        if (has[1])
            put_number(a.narrow, a.output, to + second, made_of_real(a.post, c.y, lost.powers), lost.narrow);
    } else if (has[0]) {
        c = made<true>(a.post, c, lost.powers);
        if (a.post.is_real)
            put_number(a.narrow, a.output, to, c.x, lost.narrow);
        else
            put_complex(a.narrow, a.output, to / 2, c, lost.narrow);
    }
}

/* Return the number of reals of an output. */
template <bool PAIRED> LW_DEVICE int width_of(const OlsArgs &a) { return PAIRED || a.post.is_real ? 1 : 2; }

/* The samples of a hop, in order in shared memory; PhaseTarget: the places of their outputs. */
template <class C> struct PhaseSource {
    const C *hop;                   /* the hop's first sample; its neighbours stand on both sides */
    int want[2];                    /* samples of each series whose outputs are wanted */
    int64_t axis, later;            /* axis index of the first series' first sample; second series: how much later its hop begins */
};

struct PhaseTarget {
    int64_t y;                      /* place of output 0 of the first sample, in numbers */
    int64_t step, second;           /* numbers from output to output, and from the first series to the second */
};

/* Make and store output `phase` of sample i of each series, anywhere on the axis: at its ends, and for powers and amplitudes. */
template <bool PAIRED, class Inner, class C>
LW_DEVICE void make_phase(const OlsArgs &a, const Inner &inner, const PhaseSource<C> &from, const PhaseTarget &target, int i,
                          int phase, bool is_inside, Lost &lost)
{
    const lw_post_args &post = a.post;
    const C *const at = from.hop + i;
    const int64_t axis = from.axis + i;
    bool has[2] = {i < from.want[0], i < (PAIRED ? from.want[1] : from.want[0])};
    C c[1];
    if (!(is_inside && inner.sums(at, 0, c))) {
        c[0] = {0, 0};
        has[0] = has[0] && phase < phases_of(post, axis);
        has[1] = has[1] && phase < phases_of(post, axis + from.later);
        if (has[0])
            c[0].x = phase_sum(post, &at->x, 2, axis, phase);
        if (has[1])
            c[0].y = phase_sum(post, &at->y, 2, axis + from.later, phase);
    }
    put_made<PAIRED>(a, c[0], has, target.y + ((int64_t)i * post.rate + phase) * target.step, target.second, lost);
}

/* Make the outputs of a hop's samples, by thread t of T. Adjacent threads make adjacent outputs. A thread makes outputs of one
 * phase, and loads its weights once; if a sample has more outputs than T, it makes several phases one after the other. */
template <bool PAIRED, int T, class Inner, class C>
LW_DEVICE void make_phases_by(const OlsArgs &a, const PhaseSource<C> &from, const PhaseTarget &target, int t, Lost &lost)
{
    constexpr int AT_ONCE = Inner::AT_ONCE;
    const int rate = a.post.rate, samples = rate < T ? T / rate : 1, first = t / rate;
    const int want = PAIRED ? max(from.want[0], from.want[1]) : from.want[0];
    const int both = PAIRED ? min(from.want[0], from.want[1]) : want;
    const int begin = clamp_to(2 - from.axis, want), end = clamp_to(a.post.n - 2 - from.axis - from.later, want);
    const int last_at_once = a.post.is_real ? 0 : min(end, both) - (AT_ONCE - 1) * samples;
    const int64_t stride = samples * rate * target.step;
    for (int phase = t - first * rate; phase < rate && first < samples; phase += T) {
        Inner inner;
        inner.load(a.post, phase);
        int64_t to = target.y + ((int64_t)first * rate + phase) * target.step;
#pragma unroll 1
        for (int i = first; i < want; i += AT_ONCE * samples, to += AT_ONCE * stride) {
            C c[AT_ONCE];
            if (i >= begin && i < last_at_once && inner.sums(from.hop + i, samples, c)) {
#pragma unroll
                for (int j = 0; j < AT_ONCE; ++j) {
                    const int64_t one = to + j * stride;
                    if (PAIRED) {
                        put_number(a.narrow, a.output, one, c[j].x, lost.narrow);
                        put_number(a.narrow, a.output, one + target.second, c[j].y, lost.narrow);
                    } else
                        put_complex(a.narrow, a.output, one / 2, c[j], lost.narrow);
                }
                continue;
            }
#pragma unroll 1
            for (int j = i; j < min(i + AT_ONCE * samples, want); j += samples)
                make_phase<PAIRED>(a, inner, from, target, j, phase, j >= begin && j < end, lost);
        }
    }
}

template <bool PAIRED, int T, class C>
LW_DEVICE void make_phases(const OlsArgs &a, const PhaseSource<C> &from, const PhaseTarget &target, int t, Lost &lost)
{
    using Real = decltype(C::x);
    if (a.post.kind == LW_POST_DERIVATIVE)
        make_phases_by<PAIRED, T, InnerPhase<Real, 1, 7>>(a, from, target, t, lost);
    else
        make_phases_by<PAIRED, T, InnerPhase<Real, 2, 6>>(a, from, target, t, lost);
}

/* Write a segment, v with re and im swapped, to the team's regions in order. Barriers of the team stand before and after. */
template <class F> LW_DEVICE void share_segment(const typename F::C (&v)[F::E], typename F::C *shared, int t)
{
    F::Team::sync();                    /* the team has read its regions */
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        shared[t + F::T * m] = {v[m].y, v[m].x};
    F::Team::sync();
}

/* Epilogue, time fast. */
struct MakeSeries : Epilogue {
    static constexpr bool MAKES = true;
    Lost lost;                      /* what this thread could not store */

    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void finish(typename F::C (&v)[F::E], const F &fft, typename F::C *shared, const OlsArgs &a, const OlsPlace &p,
                          bool whole, int f, int t)
    {
        const int64_t output = p.output + p.first * (a.post.rate - 1) + f * a.plane;
        fft.end_backward(v, shared, t);
        if (a.post.rate == 1 && a.post.kind != LW_POST_POWER)
            store_made<F, PAIRED>(v, a, p, output, shared, t);
        else if (a.post.rate == 1 && whole)
            store_powers<F, PAIRED, true>(v, a, p, output, t);
        else if (a.post.rate == 1)
            store_powers<F, PAIRED, false>(v, a, p, output, t);
        else
            store_phases<F, PAIRED>(v, a, p, output, shared, t);
    }

    /* Store powers, one real for each value of the hop. */
    template <class F, bool PAIRED, bool WHOLE>
    LW_DEVICE void store_powers(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output, int t)
    {
        using Real = typename F::Real;
        PowersSeen<Real> powers;
        const int64_t y = output + t - a.discard, second = y + a.output_second;
        const auto store = [&](int64_t at, Real power) { put_number(a.narrow, a.output, at, power, lost.narrow); };
#pragma unroll
        for (int m = 0; m < F::E; ++m) {
            const int k = F::T * m, i = k + t - a.discard;
            if (k < a.discard)
                continue;
            if (PAIRED) {
                if (WHOLE || i < p.want[0])
                    store(y + k, powers.of(v[m].y));
                if (WHOLE || i < p.want[1])
                    store(second + k, powers.of(v[m].x));
            } else if (WHOLE || i < p.want[0])
                store(y + k, powers.of(v[m].y, v[m].x));
        }
        lost.powers |= powers.are_lost(a.post);
    }

    /* Store amplitudes, in a loop that is not unrolled: see the top. */
    template <class F, bool PAIRED>
    LW_DEVICE void store_made(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output,
                              typename F::C *shared, int t)
    {
        share_segment<F>(v, shared, t);
        const int want = max(p.want[0], p.want[1]);
        for (int i = t; i < want; i += F::T) {
            const bool has[2] = {i < p.want[0], i < p.want[1]};
            put_made<PAIRED>(a, shared[a.discard + i], has, output + i, a.output_second, lost);
        }
        F::Team::sync();
    }

    template <class F, bool PAIRED>
    LW_DEVICE void store_phases(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output,
                                typename F::C *shared, int t)
    {
        using Real = typename F::Real;
        share_segment<F>(v, shared, t);
        const PhaseSource<typename F::C> from = {shared + a.discard + a.post.before, {p.want[0], p.want[1]}, a.post.first + p.first,
                                                 PAIRED && a.pairs_hops ? a.hop : 0};
        const int width = width_of<PAIRED>(a);
        const PhaseTarget target = {output * width, width, a.output_second};
        make_phases<PAIRED, F::T>(a, from, target, t, lost);
        F::Team::sync();
    }

    LW_DEVICE void end(const OlsArgs &a) { lost.report(a); }
};

/* Epilogue, time slow. PAIRED: each transform has two real channels. */
template <bool PAIRED> struct MakeChannels : ChannelEpilogue {
    static constexpr bool MAKES = true;
    Lost lost;

    template <class F, int W>
    LW_DEVICE void finish(typename F::C (&v)[F::E], unsigned char *memory, typename F::C *own, const OlsArgs &a,
                          const TimeSlowPlace &p, int row, int group, int f, int t)
    {
        share_outputs<F>(v, own, t);
        store<F, W>(memory, a, p, row, group, f);
        __syncthreads();
    }

    template <class F, int W>
    LW_DEVICE void store(unsigned char *memory, const OlsArgs &a, const TimeSlowPlace &p, int row, int group, int f)
    {
        using B = TimeSlowBlock<F, W>;
        using Real = typename F::Real;
        using C = typename F::C;
        constexpr int slots = B::THREADS / W;
        const int w = threadIdx.x % W, slot = threadIdx.x / W;
        const int64_t first = row * a.step, channel = ((int64_t)group * W + w) * (PAIRED ? 2 : 1);
        if (channel >= a.n_channels)
            return;
        const bool has[2] = {true, !PAIRED || channel + 1 < a.n_channels};
        const int64_t y = first * a.post.rate * a.output_pitch + f * a.plane + channel * width_of<PAIRED>(a);
        const C *const hop = B::region(memory, w) + a.discard + a.post.before;
        if (a.post.rate == 1) {
            for (int i = slot; i < p.want; i += slots)
                put_made<PAIRED>(a, hop[i], has, y + i * a.output_pitch, 1, lost);
            return;
        }
        const PhaseSource<C> from = {hop, {p.want, has[1] ? p.want : 0}, a.post.first + first, 0};
        const PhaseTarget target = {y, a.output_pitch, 1};
        make_phases<PAIRED, slots>(a, from, target, slot, lost);
    }

    LW_DEVICE void end(const OlsArgs &a) { lost.report(a); }
};
