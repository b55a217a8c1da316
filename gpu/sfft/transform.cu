/* transform.cu - transforms the planes of the sparse transform (transform.cuh), one block or one cluster per plane. */
#include "gpu/sfft/transform.cuh"

#include "gpu/device/launch.cuh"
#include "gpu/sfft/launch.h"

namespace {

/* Raise *largest to the warp's largest `mine`, as bits of a double: doubles >= 0 order like their bits. */
LW_DEVICE void raise_largest(double mine, unsigned long long *largest)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        mine = fmax(mine, __shfl_xor_sync(0xffffffffu, mine, other));
    if (threadIdx.x % 32 == 0)
        atomicMax(largest, (unsigned long long)__double_as_longlong(mine));
}

LW_DEVICE double larger_part(double2 x) { return fmax(fabs(x.x), fabs(x.y)); }

constexpr int MOST_OF_PART = 256;       /* threads of a block that transforms a part of a plane */

/* Transform a plane per block. Threads beyond B / E, which fill up the last warp, only take part in barriers and raise_largest. */
template <int E, int MOST_THREADS> __global__ void __launch_bounds__(MOST_THREADS)
transform(lw_sfft_device_range range, double2 *values, unsigned long long *largest, bool has_room)
{
    extern __shared__ double2 points[];
    double2 *const mine = values + range.first_value + blockIdx.x * range.n_buckets;
    const int n = (int)range.n_buckets, threads = n / E, t = (int)threadIdx.x;
    double2 *const copy = points + padded(n);
    const Plane p = {n, points, has_room ? copy : range.roots, has_room};
    if (t < threads && has_room) {
#pragma unroll
        for (int e = 0; e < E; ++e)
            copy[padded(t + e * threads)] = range.roots[t + e * threads];
    }
    wait_for_predecessor();
    if (t < threads) {
#pragma unroll
        for (int e = 0; e < E; ++e)
            points[padded(t + e * threads)] = mine[t + e * threads];
    }
    __syncthreads();
    passes<E>(p);
    double most = 0;
    if (t < threads) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
            const double2 x = points[padded(t + e * threads)];
            mine[t + e * threads] = x;
            most = fmax(most, larger_part(x));
        }
    }
    raise_largest(most, largest);
}

template <int E, int PARTS> __global__ void __launch_bounds__(MOST_OF_PART)
transform_parts(lw_sfft_device_range range, double2 *values, unsigned long long *largest)
{
    extern __shared__ double2 points[];
    double2 *const mine = values + range.first_value + blockIdx.x / PARTS * range.n_buckets;
    const int part = (int)blockIdx.x % PARTS;
    const Shared plane = {mine, mine, mine, (int)range.n_buckets, range.roots, range.roots, PARTS, part};
    double most = 0;
    transform_part<E, PARTS>(plane, part, points, [&](int, double2 x) { most = fmax(most, larger_part(x)); });
    raise_largest(most, largest);
}

__global__ void __launch_bounds__(256)
find_largest(lw_sfft_device_range range, const double2 *values, unsigned long long *largest)
{
    const int64_t count = range.n_planes * range.n_buckets;
    double most = 0;
    for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll)
        most = fmax(most, larger_part(values[range.first_value + i]));
    raise_largest(most, largest);
}

/* Points per thread; 0: no kernel for this length. */
int points_of(int64_t n_buckets)
{
    const int64_t odd = n_buckets % 3 == 0 ? n_buckets / 3 : n_buckets;
    const bool is_power = odd > 0 && (odd & (odd - 1)) == 0;
    const int points = n_buckets % 3 == 0 ? 12 : 8;
    return is_power && n_buckets % points == 0 && n_buckets / points >= 1 && n_buckets / points <= 1024 ? points : 0;
}

template <int E, int MOST_THREADS>
cudaError_t launch_for(const lw_sfft_device_range *range, double2 *values, unsigned long long *largest, cudaStream_t stream)
{
    constexpr int LEAST_SHARED = 99 << 10;      /* shared bytes that every device since capability 8.0 gives a block */
    const bool has_room = 2 * transform_bytes(range->n_buckets) <= LEAST_SHARED;
    const int bytes = transform_bytes(range->n_buckets) * (has_room ? 2 : 1), threads = (int)(range->n_buckets / E);
    const Launch launch = {dim3((unsigned)range->n_planes), threads < 32 ? 32 : threads, bytes, stream, 1, has_dependents()};
    return allow_and_launch(launch, transform<E, MOST_THREADS>, *range, values, largest, has_room);
}

/* Return whether planes divide into PARTS parts, one per block of a cluster, of whole warps and enough threads. */
template <int E, int PARTS> bool has_parts(const lw_sfft_device_range *range)
{
    const int64_t threads = range->n_buckets / PARTS / E;
    return range->has_clusters && threads % 32 == 0 && threads >= 64 && threads <= MOST_OF_PART;
}

template <int E, int PARTS>
cudaError_t launch_parts(const lw_sfft_device_range *range, double2 *values, unsigned long long *largest, cudaStream_t stream)
{
    const int bytes = 2 * transform_bytes(range->n_buckets / PARTS), threads = (int)(range->n_buckets / PARTS / E);
    const Launch launch = {dim3((unsigned)(range->n_planes * PARTS)), threads, bytes, stream, PARTS, has_dependents()};
    return allow_and_launch(launch, transform_parts<E, PARTS>, *range, values, largest);
}

/* A limit of 512 threads leaves each thread registers for its butterflies; only planes of more than 512 E points need 1024. */
template <int E, int PARTS>
cudaError_t launch(const lw_sfft_device_range *range, double2 *values, unsigned long long *largest, cudaStream_t stream)
{
    if (has_parts<E, PARTS>(range))
        return launch_parts<E, PARTS>(range, values, largest, stream);
    return range->n_buckets / E <= 512 ? launch_for<E, 512>(range, values, largest, stream)
                                       : launch_for<E, 1024>(range, values, largest, stream);
}

}  // namespace

int lw_sfft_transform_fits(int64_t n_buckets, int most_shared_bytes)
{
    return points_of(n_buckets) > 0 && transform_bytes(n_buckets) <= most_shared_bytes;
}

cudaError_t lw_sfft_transform(const lw_sfft_device_range *range, double2 *values, unsigned long long *largest, cudaStream_t stream)
{
    if (range->n_planes == 0)
        return cudaSuccess;
    switch (points_of(range->n_buckets)) {
    case 12: return launch<12, 4>(range, values, largest, stream);
    case 8: return launch<8, 8>(range, values, largest, stream);
    default: return cudaErrorInvalidValue;
    }
}

cudaError_t lw_sfft_largest(const lw_sfft_device_range *range, const double2 *values, unsigned long long *largest,
                            cudaStream_t stream)
{
    if (range->n_planes == 0)
        return cudaSuccess;
    const unsigned blocks = blocks_for(range->n_planes * range->n_buckets, 2048, 1024);
    find_largest<<<blocks, 256, 0, stream>>>(*range, values, largest);
    return cudaGetLastError();
}
