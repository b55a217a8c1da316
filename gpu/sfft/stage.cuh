/* stage.cuh - device code for the places of lines in the buckets of a stage, as in sfft/stage.c, and for fixed-point numbers. */
#pragma once

#include "gpu/sfft/number.cuh"
#include "gpu/sfft/team.cuh"

using SfftStage = lw_sfft_device_stage;

/* 1 in fixed point. Values of buckets are below 1, so 64 bits have room for a sum of 2^13 values. */
constexpr double SFFT_ONE = 1125899906842624.0;     /* 2^50 */

LW_DEVICE long long to_fixed(double x) { return __double2ll_rn(x * SFFT_ONE); }
LW_DEVICE double from_fixed(long long x) { return (double)x * (1 / SFFT_ONE); }
LW_DEVICE double2 conjugate(double2 x) { return {x.x, -x.y}; }
LW_DEVICE double2 scaled(double2 x, double by) { return {x.x * by, x.y * by}; }

/* Return the window's response G(u), u in buckets: cubic interpolation in its table, as lw_sfft_window_response does. */
LW_DEVICE double response(const SfftStage &stage, double u)
{
    const double place = fabs(u) * LW_SFFT_RESPONSE_STEPS;
    const int i = (int)place;
    const double t = place - i;
    const double *const y = stage.response + i;
    const double inner = t * (t - 1) * (1.0 / 6), outer = (t + 1) * (t - 2) * 0.5;
    return inner * ((t + 1) * y[3] - (t - 2) * y[0]) + outer * ((t - 1) * y[1] - t * y[2]);
}

struct SfftPlace {
    int64_t permuted;           /* permuted frequency f' */
    int bucket;                 /* nearest bucket */
    double distance;            /* distance from the bucket's centre, in buckets */
};

LW_DEVICE SfftPlace place_of_permuted(const SfftStage &stage, int64_t permuted)
{
    const double position = (double)permuted * stage.inverse_n * (double)stage.n_buckets;
    const double nearest = rint(position);
    const int bucket = (int)nearest;
    return {permuted, bucket == stage.n_buckets ? 0 : bucket, position - nearest};
}

LW_DEVICE SfftPlace place_of(const SfftStage &stage, int64_t frequency)
{
    return place_of_permuted(stage, mod_multiply(stage.sigma, frequency, stage.n, stage.inverse_n));
}

/* Return a line's phase factor in plane d of stage s, exp(2 pi i f (sigma s[d] + tau) / n); `permuted` is f' = sigma f mod n. */
LW_DEVICE double2 phase_of(int s, int d, int64_t frequency, int64_t permuted)
{
    const SfftStage &stage = stage_at(s);
    const int64_t shift = stage.shift[d] < stage.n ? stage.shift[d] : stage.shift[d] - stage.n;
    const int64_t turns = mod_add(mod_multiply(permuted, shift, stage.n, stage.inverse_n),
                                  mod_multiply(frequency, stage.tau, stage.n, stage.inverse_n), stage.n);
    return turned(turns, stage.inverse_n);
}

LW_DEVICE int wrapped(int bucket, int n_buckets)
{
    return bucket < 0 ? bucket + n_buckets : bucket >= n_buckets ? bucket - n_buckets : bucket;
}

/* Index of bucket b of plane d among the values. */
LW_DEVICE int64_t value_of(const SfftStage &stage, int d, int64_t b)
{
    return stage.first_value + d * stage.n_buckets + b;
}

LW_DEVICE double2 rest_at(const lw_sfft_recovery &r, int64_t value)
{
    const longlong2 x = ((const longlong2 *)r.rest)[value];
    return {from_fixed(x.x), from_fixed(x.y)};
}

/* Call take(d, u) with the rest in bucket b of each shift of a stage; several loads are in flight at a time. */
template <class Take> LW_DEVICE void for_shifts(const lw_sfft_recovery &r, const SfftStage &stage, int64_t b, Take take)
{
    constexpr int LOADS = 6;
    for (int first = 0; first < stage.n_shifts; first += LOADS) {
        double2 u[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; ++i)
            u[i] = first + i < stage.n_shifts ? rest_at(r, value_of(stage, first + i, b)) : double2{0, 0};
#pragma unroll
        for (int i = 0; i < LOADS; ++i)
            if (first + i < stage.n_shifts)
                take(first + i, u[i]);
    }
}

/* Fixed-point subtraction: the result does not depend on the order of threads. */
LW_DEVICE void subtract_from_rest(const lw_sfft_recovery &r, int64_t value, double2 x)
{
    atomicAdd((unsigned long long *)r.rest + 2 * value, (unsigned long long)-to_fixed(x.x));
    atomicAdd((unsigned long long *)r.rest + 2 * value + 1, (unsigned long long)-to_fixed(x.y));
}
