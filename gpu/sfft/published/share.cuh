/* share.cuh - what lines give to the loop that checks, in lists of its buckets. */
#pragma once

#include "gpu/sfft/published/place.cuh"

/* How often a line stands in the whole spectrum. */
LW_DEVICE int copies_of(const lw_published_device &device, int64_t frequency)
{
    return device.is_real && frequency > 0 && 2 * frequency < device.n ? 2 : 1;
}

/* Shares that there is room for, of a line and its mirror image. */
LW_DEVICE int parts_of(const lw_published_device &device) { return device.is_real ? 6 : 3; }

/* Part 3 copy + 1 + o of a line: what it, or its mirror image, gives to the bucket o beyond the nearest. */
template <bool IS_POWER>
LW_DEVICE void hook_share(const lw_published_device &device, const lw_published_device_line &line, int part, int number)
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
