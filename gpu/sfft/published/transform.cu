/* transform.cu - transforms the planes of all loops, each by a cluster of 8 blocks (gpu/sfft/transform.cuh), and measures the
 * energies of the locating loops. */
#include "gpu/device/launch.cuh"
#include "gpu/sfft/published/place.cuh"
#include "gpu/sfft/transform.cuh"

#include <cmath>

namespace {

constexpr int POINTS = 8, PARTS = 8;                    /* points per thread; blocks per plane */
constexpr int LEAST = 4096, MOST = 16384;           /* points of a plane; cuFFT is as fast for longer ones */

__global__ void __launch_bounds__(MOST / PARTS / POINTS) transform(lw_published_device device)
{
    extern __shared__ double2 points[];
    const int number = (int)blockIdx.x / PARTS, part = (int)blockIdx.x % PARTS, n = (int)device.n_buckets / PARTS;
    const int64_t first = number * device.n_buckets;
    double2 *const values = device.planes + first;
    const Shared plane = {values, device.between + first, values, n * PARTS, device.roots, device.roots + n + part * n, 1, 1};
    transform_part<POINTS, PARTS>(plane, part, points, [&](int k, double2 x) {
        if (number < device.location_loops)
            device.energies[first + k] = energy_of(x);
    });
}

double2 root_of(int64_t k, int64_t n)
{
    const double turn = 2 * M_PI * (double)k / (double)n;
    return {std::cos(turn), -std::sin(turn)};
}

}  // namespace

void lw_published_roots(int64_t n_buckets, double2 *roots)
{
    const int64_t n = n_buckets / PARTS;
    for (int64_t k = 0; k < n; k++)
        roots[k] = root_of(k * PARTS, n_buckets);
    for (int64_t i = 0; i < n_buckets; i++)
        roots[n + i] = root_of(i / n * (i % n), n_buckets);
}

int lw_published_transforms(int64_t n_buckets)
{
    return n_buckets >= LEAST && n_buckets <= MOST && (n_buckets & (n_buckets - 1)) == 0;
}

cudaError_t lw_published_transform(const lw_published_device *device, cudaStream_t stream)
{
    const int64_t points = device->n_buckets / PARTS;
    const Launch launch = {dim3((unsigned)(device->n_loops * PARTS)), (int)(points / POINTS), 2 * transform_bytes(points), stream,
                           PARTS};
    return allow_and_launch(launch, transform, *device);
}
