/* post.cuh - device code for --post: makes outputs from a filtered series. signal/post.h defines axis, place, phase and stencil. */
#pragma once

#include "gpu/device/fft.cuh"
#include "gpu/device/post_args.h"

/* Return the place of sample i of the axis, as lw_post_place does on the host. */
LW_DEVICE int post_place(const lw_post_args &post, int64_t i)
{
    return i < 2 ? (int)i : i < post.n - 2 ? 2 : (int)(i - post.n) + LW_POST_PLACES;
}

/* Return the number of outputs of sample i of the axis: the last sample has phase 0 only. */
LW_DEVICE int phases_of(const lw_post_args &post, int64_t i) { return i == post.n - 1 ? 1 : post.rate; }

/* Return output `phase` of sample i of the axis. at[0] is the sample; adjacent samples of the axis are `step` reals apart. */
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

/* The weights of one phase, in registers, for samples i away from the axis' ends. Weight k is that of y[i + k - LW_POST_REACH], and
 * FIRST <= k < END holds all their stencils. AT_ONCE outputs are computed side by side: while one waits for shared memory or for
 * its sum, others proceed. */
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

    static constexpr int AT_ONCE = 4;

    /* Compute both parts of COUNT outputs: c[i] for the sample at[i step]. Return false if an output is not finite: it may be
     * wrong, because a sample beyond the stencil that is not finite spoils the sum in spite of its weight 0. */
    template <int COUNT, class C> LW_DEVICE bool sums(const C *at, int step, C (&c)[COUNT]) const
    {
        Real spoiled = 0;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            c[i] = {0, 0};
#pragma unroll
            for (int k = FIRST; k < END; ++k) {
                const C y = at[i * step + k - LW_POST_REACH];
                c[i] = {fma(weight[k - FIRST], y.x, c[i].x), fma(weight[k - FIRST], y.y, c[i].y)};
            }
            spoiled += (c[i].x - c[i].x) + (c[i].y - c[i].y);
        }
        return spoiled == 0;
    }
};

/* Makes powers, and records the largest and the least (of samples other than 0): does the stored type hold all of them? */
template <class Real> struct PowersSeen {
    Real least = HUGE_VAL, most = 0;

    LW_DEVICE Real noted(Real power, bool is_zero)
    {
        least = fmin(least, is_zero ? (Real)HUGE_VAL : power);
        most = fmax(most, power);
        return power;
    }

    LW_DEVICE Real of(Real x) { return noted(x * x, x == 0); }
    LW_DEVICE Real of(Real re, Real im) { return noted(fma(re, re, im * im), re == 0 && im == 0); }
    LW_DEVICE bool are_lost(const lw_post_args &post) const { return least < (Real)post.least || most > (Real)post.most; }
};

LW_DEVICE float length_of(float re, float im) { return hypotf(re, im); }
LW_DEVICE double length_of(double re, double im) { return hypot(re, im); }

/* ---- the operations of signal/post.h on a sample c; a real sample is c.x, and so is a real output ---- */

template <bool IS_COMPLEX, class C> LW_DEVICE C make_keep(const lw_post_args &, C c, bool &) { return c; }

template <bool IS_COMPLEX, class C> LW_DEVICE C make_amplitude(const lw_post_args &, C c, bool &)
{
    return {IS_COMPLEX ? length_of(c.x, c.y) : c.x < 0 ? -c.x : c.x, 0};
}

template <bool IS_COMPLEX, class C> LW_DEVICE C make_power(const lw_post_args &post, C c, bool &lost)
{
    PowersSeen<decltype(C::x)> powers;
    c = {IS_COMPLEX ? powers.of(c.x, c.y) : powers.of(c.x), 0};
    lost |= powers.are_lost(post);
    return c;
}

template <bool IS_COMPLEX, class C> LW_DEVICE C made(const lw_post_args &post, C c, bool &lost)
{
#define X(kind_, name, unit, traits, function, help) \
    if (post.kind == LW_POST_##kind_)               \
        return make_##function<IS_COMPLEX>(post, c, lost);
    LW_POSTS(X)
#undef X
    return c;
}

template <class Real> LW_DEVICE Real made_of_real(const lw_post_args &post, Real x, bool &lost)
{
    return made<false>(post, Complex<Real>{x, 0}, lost).x;
}
