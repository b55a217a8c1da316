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

LW_DEVICE float amplitude(float re, float im) { return hypotf(re, im); }
LW_DEVICE double amplitude(double re, double im) { return hypot(re, im); }

template <class Real> LW_DEVICE Real checked_power(const lw_post_args &post, Real power, bool is_zero, bool &lost)
{
    lost |= (power < (Real)post.least && !is_zero) || power > (Real)post.most;
    return power;
}

/* What is made of a real sample, and of a complex one (x alone then, where it is real). */
template <class Real> LW_DEVICE Real made(const lw_post_args &post, Real x, bool &lost)
{
    if (post.is_amplitude)
        return x < 0 ? -x : x;
    return post.kind == LW_POST_POWER ? checked_power(post, x * x, x == 0, lost) : x;
}

template <class C> LW_DEVICE C made_complex(const lw_post_args &post, C c, bool &lost)
{
    if (post.is_amplitude)
        return {amplitude(c.x, c.y), 0};
    if (post.kind == LW_POST_POWER)
        return {checked_power(post, fma(c.x, c.x, c.y * c.y), c.x == 0 && c.y == 0, lost), 0};
    return c;
}

LW_DEVICE bool makes_real(const lw_post_args &post) { return post.is_amplitude || post.kind == LW_POST_POWER; }

#endif
