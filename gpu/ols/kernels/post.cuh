/* post.cuh - epilogues of the overlap-save kernels that make something of the series: power, amplitude, interpolation.
 *
 * A segment computes before + hop + after samples of the series, from row `discard` on (a multiple of the team's size), and
 * makes the outputs of the hop:
 *
 *   power      each thread from its own registers, coalesced as without
 *   amplitude  from the exchange region, where the series stands in order, in a loop, since one is many instructions, of which
 *              32 copies would not stay in the instruction cache. Two team barriers more
 *   rate > 1   the same: neighbouring threads make neighbouring outputs, and read the few samples that these share (one
 *              access, mostly). A thread keeps to a phase, with its weights in registers
 *   time slow  always from the regions, since outputs go through them in any case: neighbouring threads make neighbouring
 *              channels
 *
 * All of it is chosen at run time, once a filter and thread: beside the transforms the branches are free. The kernels with these
 * epilogues are compiled for fewer lengths than those that store the series. */
#ifndef LW_GPU_OLS_KERNELS_POST_CUH
#define LW_GPU_OLS_KERNELS_POST_CUH

#include "gpu/device/post.cuh"
#include "gpu/ols/kernels/time_fast.cuh"
#include "gpu/ols/kernels/time_slow.cuh"

/* What is made of one sample of each series: of two real ones, of which `has` tells whether they are wanted, or of a complex
 * one. y: the output of the first; second: reals from there to the output of the second. index: of the output, from y on. */
template <bool PAIRED, class C, class Real>
LW_DEVICE void put_made(const OlsArgs &a, C c, const bool (&has)[2], Real *y, int64_t index, int64_t second, bool &lost)
{
    if (PAIRED) {
        if (has[0])
            put(y + index, made(a.post, c.x, lost));
        if (has[1])
            put(y + second + index, made(a.post, c.y, lost));
    } else if (has[0]) {
        c = made_complex(a.post, c, lost);
        if (makes_real(a.post))
            put(y + index, c.x);
        else
            put((C *)y + index, c);
    }
}

/* An output of each series, wherever it is on the axis: its sample stands at `at`, and is number `axis` there, that of the second
 * series `later` after it. has: whether they are wanted (both parts of a complex one); in return whether they are there. Few
 * take this way. */
template <bool PAIRED, class C>
LW_DEVICE C make_at_end(const lw_post_args &post, const C *at, int64_t axis, int64_t later, int phase, bool (&has)[2])
{
    C c = {0, 0};
    has[0] = has[0] && phase < phases_of(post, axis);
    has[1] = has[1] && phase < phases_of(post, axis + later);
    if (has[0])
        c.x = phase_sum(post, &at->x, 2, axis, phase);
    if (has[1])
        c.y = phase_sum(post, &at->y, 2, axis + later, phase);
    return c;
}

/* A segment, of which v holds re and im swapped, to the team's regions, in order. */
template <class F> LW_DEVICE void share_segment(const typename F::C (&v)[F::E], typename F::C *shared, int t)
{
    F::Team::sync();                    /* the regions have been read */
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        shared[t + F::T * m] = {v[m].y, v[m].x};
    F::Team::sync();
}

/* Time fast. */
struct MakeSeries {
    static constexpr bool MAKES = true, FINDS = false;
    bool lost;                      /* this thread has made a power that is beyond its range */

    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void begin(const typename F::C (&)[F::E], typename F::C *, const OlsArgs &, const OlsPlace &, int, int)
    {
    }

    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void finish(typename F::C (&v)[F::E], const F &fft, typename F::C *shared, const OlsArgs &a, const OlsPlace &p,
                          bool, int f, int t)
    {
        const int64_t output = p.output + p.first * (a.post.rate - 1) + f * a.plane;
        fft.end_backward(v, shared, t);
        if (a.post.rate == 1 && a.post.is_amplitude)
            store_amplitudes<F, PAIRED>(v, a, p, output, shared, t);
        else if (a.post.rate == 1)
            store_powers<F, PAIRED>(v, a, p, output, t);
        else
            store_phases<F, PAIRED>(v, a, p, output, shared, t);
    }

    /* Row i of outputs is that of the series, one real an output. */
    template <class F, bool PAIRED>
    LW_DEVICE void store_powers(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output, int t)
    {
        using Real = typename F::Real;
        Real *const y = (Real *)a.output + output, *const second = y + a.output_second;
        const PowerRange<Real> range(a.post);
#pragma unroll
        for (int m = 0; m < F::E; ++m) {
            const int i = F::T * m + t - a.discard;
            if (i < 0 || i >= max(p.want[0], p.want[1]))
                continue;
            if (PAIRED) {
                if (i < p.want[0])
                    put(y + i, range.power(v[m].y, lost));
                if (i < p.want[1])
                    put(second + i, range.power(v[m].x, lost));
            } else
                put(y + i, range.power(v[m].y, v[m].x, lost));
        }
    }

    /* Amplitudes: one copy of their many instructions, in a loop. */
    template <class F, bool PAIRED>
    LW_DEVICE void store_amplitudes(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output,
                                    typename F::C *shared, int t)
    {
        share_segment<F>(v, shared, t);
        const int want = max(p.want[0], p.want[1]);
        for (int i = t; i < want; i += F::T) {
            const bool has[2] = {i < p.want[0], i < p.want[1]};
            put_made<PAIRED>(a, shared[a.discard + i], has, (typename F::Real *)a.output, output + i, a.output_second, lost);
        }
        F::Team::sync();
    }

    template <class F, bool PAIRED>
    LW_DEVICE void store_phases(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output,
                                typename F::C *shared, int t)
    {
        using C = typename F::C;
        using Real = typename F::Real;
        share_segment<F>(v, shared, t);
        const C *const hop = shared + a.discard + a.post.before;
        const int64_t axis = a.post.first + p.first, later = PAIRED && a.pairs_hops ? a.hop : 0;
        const int inner_begin = clamp_to(2 - axis, F::N), inner_end = clamp_to(a.post.n - 2 - axis - later, F::N);
        each_output<Real, F::T>(a.post, max(p.want[0], p.want[1]), t, [&](const auto &inner, int i, int phase) {
            bool has[2] = {i < p.want[0], i < p.want[1]};
            C c;
            if (!(i >= inner_begin && i < inner_end && inner.sum(hop + i, c)))
                c = make_at_end<PAIRED>(a.post, hop + i, axis + i, later, phase, has);
            put_made<PAIRED>(a, c, has, (Real *)a.output, output + i * a.post.rate + phase, a.output_second, lost);
        });
        F::Team::sync();
    }

    LW_DEVICE void end(const OlsArgs &a)
    {
        if (lost)
            *a.post.out_of_range = 1;
    }
};

/* Time slow. PAIRED: transforms of two real channels. */
template <bool PAIRED> struct MakeChannels {
    static constexpr bool MAKES = true, FINDS = false;
    bool lost;

    template <class F>
    LW_DEVICE void begin(const typename F::C (&)[F::E], typename F::C *, unsigned char *, const OlsArgs &, const TimeSlowPlace &,
                         int, int, int)
    {
    }

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
        const int64_t first = row * a.step, axis = a.post.first + first, channel = ((int64_t)group * W + w) * (PAIRED ? 2 : 1);
        if (channel >= a.n_channels)
            return;
        Real *const y = (Real *)a.output + first * a.post.rate * a.output_pitch + f * a.plane;
        const C *const hop = B::region(memory, w) + a.discard + a.post.before;
        if (a.post.rate == 1) {
            const bool has[2] = {true, !PAIRED || channel + 1 < a.n_channels};
            for (int i = slot; i < p.want; i += slots)
                put_made<PAIRED>(a, hop[i], has, y + i * a.output_pitch, channel, 1, lost);
            return;
        }
        const int inner_begin = clamp_to(2 - axis, F::N), inner_end = clamp_to(a.post.n - 2 - axis, F::N);
        each_output<Real, slots>(a.post, p.want, slot, [&](const auto &inner, int i, int phase) {
            bool has[2] = {true, !PAIRED || channel + 1 < a.n_channels};
            C c;
            if (!(i >= inner_begin && i < inner_end && inner.sum(hop + i, c)))
                c = make_at_end<PAIRED>(a.post, hop + i, axis + i, 0, phase, has);
            put_made<PAIRED>(a, c, has, y + ((int64_t)i * a.post.rate + phase) * a.output_pitch, channel, 1, lost);
        });
    }

    LW_DEVICE void end(const OlsArgs &a)
    {
        if (lost)
            *a.post.out_of_range = 1;
    }
};

#endif
