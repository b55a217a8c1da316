/* window.cuh - device code for the samples and taps of a bucket's sum. */
#pragma once

#include "gpu/sfft/number.cuh"
#include "gpu/sfft/published/launch.h"

template <bool IS_REAL> LW_DEVICE double2 sample_at(const double *samples, int64_t i)
{
    if constexpr (IS_REAL)
        return {__ldg(samples + i), 0};
    else
        return __ldg((const double2 *)samples + i);
}

/* Return the index of the sample that tap i multiplies, -half <= i <= half < n. */
LW_DEVICE int64_t index_of(const lw_published_device &device, const lw_published_device_loop &loop, int64_t i)
{
    const int64_t at = mod_multiply(loop.sigma, mod_wrap(i, device.n), device.n, 1.0 / (double)device.n);
    return mod_add(at, loop.tau, device.n);
}

/* Return the first tap of bucket b: the least i >= -half that is b modulo B. */
LW_DEVICE int64_t first_tap(const lw_published_device &device, int64_t b)
{
    return b - (device.half + b) / device.n_buckets * device.n_buckets;
}
