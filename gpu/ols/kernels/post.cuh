/* post.cuh - epilogues of the overlap-save kernels that make something of the series: power, amplitude, interpolation.
 *
 * A segment computes before + hop + after samples of the series, from row `discard` on (a multiple of the team's size), and
 * makes the outputs of the hop:
 *
 *   rate 1     each thread from its own registers, coalesced as without
 *   rate > 1   through the exchange region, where the series stands in order: neighbouring threads make neighbouring
 *              outputs, and read the few samples that these share (one access, mostly). Weights come through L1. Two team
 *              barriers more
 *   time slow  always so, since outputs go through the regions in any case: neighbouring threads make neighbouring
 *              channels
 *
 * All of it is chosen at run time, once a filter: beside the transforms the branches are free. The kernels with these
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
        if (a.post.rate == 1)
            store_points<F, PAIRED>(v, a, p, output, t);
        else
            store_phases<F, PAIRED>(v, a, p, output, shared, t);
    }

    /* Rate 1: row i of outputs is that of the series, one real an output. */
    template <class F, bool PAIRED>
    LW_DEVICE void store_points(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output, int t)
    {
        using Real = typename F::Real;
        Real *const y = (Real *)a.output + output, *const second = y + a.output_second;
#pragma unroll
        for (int m = 0; m < F::E; ++m) {
            const int i = F::T * m + t - a.discard;
            if (i < 0 || i >= max(p.want[0], p.want[1]))
                continue;
            if (PAIRED) {
                if (i < p.want[0])
                    put(y + i, made(a.post, v[m].y, lost));
                if (i < p.want[1])
                    put(second + i, made(a.post, v[m].x, lost));
            } else
                put(y + i, made_complex(a.post, typename F::C{v[m].y, v[m].x}, lost).x);
        }
    }

    template <class F, bool PAIRED>
    LW_DEVICE void store_phases(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output,
                                typename F::C *shared, int t)
    {
        share_segment<F>(v, shared, t);
        const typename F::C *const hop = shared + a.discard + a.post.before;
        const int rate = a.post.rate, steps = F::T / rate, rest = F::T - steps * rate, want = max(p.want[0], p.want[1]);
        int i = t / rate, phase = t - i * rate;
        while (i < want) {
            store_phase<typename F::C, PAIRED>(a, p, hop + i, i, phase, output);
            i += steps;
            phase += rest;
            if (phase >= rate) {
                phase -= rate;
                ++i;
            }
        }
        F::Team::sync();
    }

    /* One output of each series of the segment; sample i of the hop stands at `at`. */
    template <class C, bool PAIRED>
    LW_DEVICE void store_phase(const OlsArgs &a, const OlsPlace &p, const C *at, int i, int phase, int64_t output)
    {
        using Real = decltype(C::x);
        const int64_t axis = a.post.first + p.first + i;
        const int64_t later = PAIRED && a.pairs_hops ? axis + a.hop : axis;
        const bool has[2] = {i < p.want[0] && phase < phases_of(a.post, axis),
                             i < p.want[1] && phase < phases_of(a.post, later)};
        C c = {0, 0};
        if (has[0])
            c.x = phase_sum(a.post, &at->x, 2, axis, phase);
        if (has[1])
            c.y = phase_sum(a.post, &at->y, 2, later, phase);
        put_made<PAIRED>(a, c, has, (Real *)a.output, output + (int64_t)i * a.post.rate + phase, a.output_second, lost);
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
        const int rate = a.post.rate;
        const int64_t first = row * a.step;
        Real *const y = (Real *)a.output + first * rate * a.output_pitch + f * a.plane;
        for (int item = threadIdx.x; item < p.want * rate * W; item += B::THREADS) {
            const int w = item % W, output = item / W, i = output / rate, phase = output - i * rate;
            const int64_t axis = a.post.first + first + i, channel = ((int64_t)group * W + w) * (PAIRED ? 2 : 1);
            if (channel < a.n_channels && phase < phases_of(a.post, axis))
                store_channel<F>(a, B::region(memory, w) + a.discard + a.post.before + i, axis, phase, channel,
                                 y + output * a.output_pitch);
        }
    }

    /* One output: of two real channels, or of a complex one. y: the output's row, from channel 0 on. */
    template <class F>
    LW_DEVICE void store_channel(const OlsArgs &a, const typename F::C *at, int64_t axis, int phase, int64_t channel,
                                 typename F::Real *y)
    {
        typename F::C c = *at;
        if (a.post.rate > 1)
            c = {phase_sum(a.post, &at->x, 2, axis, phase), phase_sum(a.post, &at->y, 2, axis, phase)};
        const bool has[2] = {true, channel + 1 < a.n_channels};
        put_made<PAIRED>(a, c, has, y, channel, 1, lost);
    }

    LW_DEVICE void end(const OlsArgs &a)
    {
        if (lost)
            *a.post.out_of_range = 1;
    }
};

#endif
