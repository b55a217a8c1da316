/* place.cuh - where a line appears in the buckets of a loop, as lw_sfft_stage_place and lw_sfft_window_response. */
#ifndef LW_GPU_SFFT_PUBLISHED_PLACE_CUH
#define LW_GPU_SFFT_PUBLISHED_PLACE_CUH

#include "gpu/sfft/number.cuh"
#include "gpu/sfft/published/device.h"

struct Place {
    int64_t permuted, bucket;
    double distance;
};

LW_DEVICE Place place_of(const lw_published_device &device, const lw_published_device_loop &loop, int64_t f)
{
    const double inverse = 1.0 / (double)device.n;
    Place place;
    place.permuted = mod_multiply(loop.sigma, f, device.n, inverse);
    const double position = (double)place.permuted / (double)device.n * (double)device.n_buckets, nearest = rint(position);
    place.distance = position - nearest;
    place.bucket = (int64_t)nearest == device.n_buckets ? 0 : (int64_t)nearest;
    return place;
}

LW_DEVICE double energy_of(double2 z) { return z.x * z.x + z.y * z.y; }

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

#endif
