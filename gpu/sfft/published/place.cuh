/* place.cuh - where a line appears in the buckets of a loop, as lw_sfft_stage_place and lw_sfft_window_response have it, and the
 * shares of lines in the checking loop.
 *
 * IS_POWER: n and B are powers of two (device.is_power). Divisions then become shifts, with the same result. */
#pragma once

#include "gpu/sfft/number.cuh"
#include "gpu/sfft/published/launch.h"

struct Place {
    int64_t permuted, bucket;
    double distance;
};

/* a b mod n for 0 <= a, b < n */
template <bool IS_POWER> LW_DEVICE int64_t multiply_in(const lw_published_device &device, int64_t a, int64_t b)
{
    if constexpr (IS_POWER)
        return (int64_t)((uint64_t)a * (uint64_t)b & (uint64_t)(device.n - 1));
    else
        return mod_multiply(a, b, device.n, device.inverse_n);
}

template <bool IS_POWER>
LW_DEVICE Place place_of(const lw_published_device &device, const lw_published_device_loop &loop, int64_t f)
{
    Place place;
    place.permuted = multiply_in<IS_POWER>(device, loop.sigma, f);
    const double turns = IS_POWER ? (double)place.permuted * device.inverse_n : (double)place.permuted / (double)device.n;
    const double position = turns * (double)device.n_buckets, nearest = rint(position);
    place.distance = position - nearest;
    place.bucket = (int64_t)nearest == device.n_buckets ? 0 : (int64_t)nearest;
    return place;
}

/* G(u), as lw_sfft_window_response */
LW_DEVICE double response_at(const lw_published_device &device, double u)
{
    const double place = fabs(u) * LW_SFFT_RESPONSE_STEPS;
    const int i = (int)place;
    const double t = place - i;
    const double *const y = device.response + i;
    const double a = -t * (t - 1) * (t - 2) / 6, b = (t + 1) * (t - 1) * (t - 2) / 2;
    const double c = -(t + 1) * t * (t - 2) / 2, d = (t + 1) * t * (t - 1) / 6;
    return a * y[0] + b * y[1] + c * y[2] + d * y[3];
}

/* Number of lines that count: none if more were elected than there is room for, since it is unknown which are lost. */
LW_DEVICE int count_lines(const lw_published_device &device)
{
    return device.control->n_elected <= device.capacity ? device.control->n_lines : 0;
}

/* How often a line occurs in the whole spectrum. */
LW_DEVICE int copies_of(const lw_published_device &device, int64_t frequency)
{
    return device.is_real && frequency > 0 && 2 * frequency < device.n ? 2 : 1;
}

/* Hook part 3 copy + 1 + o of a line into its bucket's list: share of the line (copy 0) or its mirror image in bucket `o`. */
template <bool IS_POWER>
LW_DEVICE void hook_share(const lw_published_device &device, const lw_sfft_line &line, int part, int number)
{
    const bool is_mirrored = part >= 3;
    const int o = part % 3 - 1;
    const int64_t f = is_mirrored ? device.n - line.frequency : line.frequency;
    const double n = (double)device.n;
    const lw_published_device_loop loop = device.loops[device.n_loops - 1];
    const Place place = place_of<IS_POWER>(device, loop, f);
    const double2 phase = turned(multiply_in<IS_POWER>(device, f, loop.tau), device.inverse_n);
    const double2 value = product(double2{line.re / n, is_mirrored ? -line.im / n : line.im / n}, phase);
    const double gain = response_at(device, place.distance - o);
    const int64_t beside = place.bucket + o;
    const int64_t b = beside < 0 ? beside + device.n_buckets : beside >= device.n_buckets ? beside - device.n_buckets : beside;
    device.shares[number] = {f, {gain * value.x, gain * value.y}, atomicExch(&device.first_shares[b], number + 1)};
}
