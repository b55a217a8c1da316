/* post.cuh - outputs made of samples of a filtered series, in device code: see src/post.h. */
#ifndef LW_GPU_DEVICE_POST_CUH
#define LW_GPU_DEVICE_POST_CUH

#include "gpu/device/fft.cuh"
#include "gpu/host/post_args.h"

/* lw_post_place of signal/post.h */
LW_DEVICE int post_place(const lw_post_args &post, int64_t i)
{
    return i < 2 ? (int)i : i < post.n - 2 ? 2 : (int)(i - post.n) + LW_POST_PLACES;
}

/* Outputs of sample i of the axis: the last one has no phases. */
LW_DEVICE int phases_of(const lw_post_args &post, int64_t i) { return i == post.n - 1 ? 1 : post.rate; }

/* Output `phase` of sample i of the axis, which is at[0]; its neighbours on the axis are `step` reals apart. */
template <class Real>
LW_DEVICE Real phase_sum(const lw_post_args &post, const Real *at, int64_t step, int64_t i, int phase)
{
    const int place = post_place(post, i), group = phase > 0;
    const Real *weight = (const Real *)post.weights + place * LW_POST_SPAN * post.rate + phase;
    Real sum = 0;
    for (int k = post.begin[place][group]; k < post.end[place][group]; ++k)
        sum = fma(__ldg(weight + k * post.rate), at[(k - LW_POST_REACH) * step], sum);
    return sum;
}

/* The weights of one phase of samples away from the axis' ends, in registers: of y[i + k - LW_POST_REACH] for FIRST <= k < END,
 * which holds all stencils there. */
template <class Real, int FIRST, int END> struct InnerPhase {
    Real weight[END - FIRST];

    LW_DEVICE void load(const lw_post_args &post, int phase)
    {
        const int place = 2, group = phase > 0;
        const Real *const of_phase = (const Real *)post.weights + place * LW_POST_SPAN * post.rate + phase;
#pragma unroll
        for (int k = FIRST; k < END; ++k) {
            const bool counts = k >= post.begin[place][group] && k < post.end[place][group];
            weight[k - FIRST] = counts ? __ldg(of_phase + k * post.rate) : Real(0);
        }
    }

    /* Both parts of an output, the sample being *at. False where a sample beyond the stencil may have spoiled it: one that is not
     * finite, times 0. */
    template <class C> LW_DEVICE bool sum(const C *at, C &c) const
    {
        c = {0, 0};
#pragma unroll
        for (int k = FIRST; k < END; ++k) {
            const C y = at[k - LW_POST_REACH];
            c = {fma(weight[k - FIRST], y.x, c.x), fma(weight[k - FIRST], y.y, c.y)};
        }
        return c.x - c.x == 0 && c.y - c.y == 0;
    }
};

/* make(inner, i, phase) for all outputs of `want` samples, by thread t of T: neighbouring threads make neighbouring outputs, and
 * each keeps to a phase, so that its weights are loaded once (or where a sample has more outputs than there are threads, as
 * often as it takes). */
template <class Real, int FIRST, int END, int T, class Make>
LW_DEVICE void each_inner_output(const lw_post_args &post, int want, int t, Make make)
{
    const int rate = post.rate, samples = rate < T ? T / rate : 1, first = t / rate;
    for (int phase = t - first * rate; phase < rate && first < samples; phase += T) {
        InnerPhase<Real, FIRST, END> inner;
        inner.load(post, phase);
#pragma unroll 1
        for (int i = first; i < want; i += samples)
            make(inner, i, phase);
    }
}

template <class Real, int T, class Make> LW_DEVICE void each_output(const lw_post_args &post, int want, int t, Make make)
{
    if (post.kind == LW_POST_DERIVATIVE)
        each_inner_output<Real, 1, 7, T>(post, want, t, make);
    else
        each_inner_output<Real, 2, 6, T>(post, want, t, make);
}

LW_DEVICE float amplitude(float re, float im) { return hypotf(re, im); }
LW_DEVICE double amplitude(double re, double im) { return hypot(re, im); }

/* Powers, and whether one is lost in the type that it is stored as. */
template <class Real> struct PowerRange {
    Real least, most;

    LW_DEVICE explicit PowerRange(const lw_post_args &post) : least((Real)post.least), most((Real)post.most) {}

    LW_DEVICE Real checked(Real power, bool is_zero, bool &lost) const
    {
        lost |= (power < least && !is_zero) || power > most;
        return power;
    }

    LW_DEVICE Real power(Real x, bool &lost) const { return checked(x * x, x == 0, lost); }

    LW_DEVICE Real power(Real re, Real im, bool &lost) const
    {
        return checked(fma(re, re, im * im), re == 0 && im == 0, lost);
    }
};

/* What is made of a real sample, and of a complex one (x alone then, where it is real). */
template <class Real> LW_DEVICE Real made(const lw_post_args &post, Real x, bool &lost)
{
    if (post.is_amplitude)
        return x < 0 ? -x : x;
    return post.kind == LW_POST_POWER ? PowerRange<Real>(post).power(x, lost) : x;
}

template <class C> LW_DEVICE C made_complex(const lw_post_args &post, C c, bool &lost)
{
    if (post.is_amplitude)
        return {amplitude(c.x, c.y), 0};
    if (post.kind == LW_POST_POWER)
        return {PowerRange<decltype(C::x)>(post).power(c.x, c.y, lost), 0};
    return c;
}

LW_DEVICE bool makes_real(const lw_post_args &post) { return post.is_amplitude || post.kind == LW_POST_POWER; }

#endif
