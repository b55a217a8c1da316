/* transform.cu - transforms of B points in shared memory, B = 2^a or 3 2^a, double precision.
 *
 * One block a plane. A thread holds E points, 8 or (where B has the factor 3) 12, and there are B / E threads. A pass
 * of radix R does E / R butterflies a thread and writes in the order that makes the last pass come out sorted
 * (Stockham): all read, barrier, all write, barrier, so one buffer is enough. An element of padding after every 8
 * keeps the strided writes of the first pass free of bank conflicts. The roots of unity are copied to shared memory too
 * where there is room: each pass would wait for others of them.
 *
 * Long planes take the blocks of a cluster, where there are such: block c of P transforms the points c, c + P, ..., and the
 * P transforms are combined through global memory. */
#include "gpu/device/dependent.cuh"
#include "gpu/device/fft.cuh"
#include "gpu/sfft/device.h"

namespace {

LW_DEVICE int padded(int i) { return i + i / 8; }

/* exp(-2 pi i j k / 3) */
LW_DEVICE void dft3(double2 (&v)[3])
{
    constexpr double half_root = 0.86602540378443864676;
    const double2 sum = {v[1].x + v[2].x, v[1].y + v[2].y}, difference = {v[1].x - v[2].x, v[1].y - v[2].y};
    const double2 middle = {fma(-0.5, sum.x, v[0].x), fma(-0.5, sum.y, v[0].y)};
    v[0] = {v[0].x + sum.x, v[0].y + sum.y};
    v[1] = {fma(half_root, difference.y, middle.x), fma(-half_root, difference.x, middle.y)};
    v[2] = {fma(-half_root, difference.y, middle.x), fma(half_root, difference.x, middle.y)};
}

template <int R> LW_DEVICE void butterfly_of(double2 (&v)[R])
{
    if constexpr (R == 3)
        dft3(v);
    else
        dft<R, false>(v, (const double2 *)nullptr);
}

struct Plane {
    int n;                      /* B */
    double2 *shared;
    const double2 *roots;       /* exp(-2 pi i k / B); padded where they are in shared memory */
    bool is_padded;

    LW_DEVICE double2 root(int k) const { return roots[is_padded ? padded(k) : k]; }
};

/* One pass after `done` points of each have been transformed. Before: the points are in shared memory, for all to see.
 * */
template <int E, int R> LW_DEVICE void pass(const Plane &p, int done)
{
    constexpr int COUNT = E / R;
    const int threads = p.n / E, t = (int)threadIdx.x;
    double2 v[COUNT][R];
#pragma unroll
    for (int q = 0; q < COUNT; ++q) {
        if (t >= threads)
            break;
        const int j = t + q * threads, k = E == 8 ? j & (done - 1) : j % done;      /* of 8 points, all is a power of two */
        const int step = p.n / (done * R) * k;
#pragma unroll
        for (int r = 0; r < R; ++r) {
            v[q][r] = p.shared[padded(j + r * (p.n / R))];
            if (r > 0 && done > 1)
                v[q][r] = product(v[q][r], p.root(r * step));
        }
        butterfly_of<R>(v[q]);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < COUNT; ++q) {
        if (t >= threads)
            break;
        const int j = t + q * threads, k = E == 8 ? j & (done - 1) : j % done;
#pragma unroll
        for (int r = 0; r < R; ++r)
            p.shared[padded((j - k) * R + k + r * done)] = v[q][r];
    }
    __syncthreads();
}

template <int E> LW_DEVICE void passes(const Plane &p)
{
    int done = 1;
    if constexpr (E == 12) {
        pass<E, 3>(p, done);
        for (done = 3; done * 4 <= p.n; done *= 4)
            pass<E, 4>(p, done);
    } else {
        for (; done * 8 <= p.n; done *= 8)
            pass<E, 8>(p, done);
        if (done * 4 == p.n)
            pass<E, 4>(p, done);
    }
    if (done * 2 == p.n)
        pass<E, 2>(p, done);
}

/* Raise *largest to the block's largest value; those of doubles >= 0 have the order of their bits. */
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

/* Threads beyond B / E, which fill the last warp, only take part in barriers and in finding the largest. */
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

/* X[k + q B / P] = sum over c of (exp(-2 pi i c k / B) Y[k]) exp(-2 pi i c q / P), Y the transform of block c. */
template <int E, int PARTS> __global__ void __launch_bounds__(MOST_OF_PART)
transform_parts(lw_sfft_device_range range, double2 *values, unsigned long long *largest)
{
    extern __shared__ double2 points[];
    double2 *const mine = values + range.first_value + blockIdx.x / PARTS * range.n_buckets;
    const int n = (int)range.n_buckets / PARTS, threads = n / E, t = (int)threadIdx.x, part = (int)blockIdx.x % PARTS;
    double2 *const copy = points + padded(n);
    const Plane p = {n, points, copy, true};
#pragma unroll
    for (int e = 0; e < E; ++e)
        copy[padded(t + e * threads)] = range.roots[(t + e * threads) * PARTS];
    wait_for_predecessor();
#pragma unroll
    for (int e = 0; e < E; ++e)
        points[padded(t + e * threads)] = mine[(t + e * threads) * PARTS + part];
    cluster_barrier();          /* all blocks have their points */
    passes<E>(p);
#pragma unroll
    for (int e = 0; e < E; ++e) {
        const int k = t + e * threads;
        mine[part * n + k] = product(points[padded(k)], range.roots[part * k]);
    }
    cluster_barrier();
    double most = 0;
#pragma unroll
    for (int e = 0; e < E / PARTS; ++e) {
        const int k = part * (n / PARTS) + t + e * threads;
        double2 v[PARTS];
#pragma unroll
        for (int c = 0; c < PARTS; ++c)
            v[c] = mine[c * n + k];
        butterfly_of<PARTS>(v);
#pragma unroll
        for (int q = 0; q < PARTS; ++q) {
            mine[q * n + k] = v[q];
            most = fmax(most, larger_part(v[q]));
        }
    }
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

int shared_bytes(int64_t n_buckets) { return (int)(n_buckets + n_buckets / 8) * (int)sizeof(double2); }

/* Points a thread; 0: no kernel for that length. */
int points_of(int64_t n_buckets)
{
    const int64_t odd = n_buckets % 3 == 0 ? n_buckets / 3 : n_buckets;
    const bool is_power = odd > 0 && (odd & (odd - 1)) == 0;
    const int points = n_buckets % 3 == 0 ? 12 : 8;
    return is_power && n_buckets % points == 0 && n_buckets / points >= 1 && n_buckets / points <= 1024 ? points : 0;
}

/* Of `parts` blocks a plane, while the kernel before it ends; the two attributes are the caller's. */
cudaLaunchConfig_t launch_of(int n_planes, int parts, int64_t threads, int bytes, cudaLaunchAttribute *attributes)
{
    const int first = has_dependents() ? 0 : 1;
    attributes[0] = dependent_attribute();
    attributes[1] = {};
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {(unsigned)parts, 1, 1};
    cudaLaunchConfig_t where = {};
    where.gridDim = dim3((unsigned)(n_planes * parts));
    where.blockDim = dim3((unsigned)(threads < 32 ? 32 : threads));
    where.dynamicSmemBytes = (size_t)bytes;
    where.attrs = attributes + first;
    where.numAttrs = (unsigned)((parts > 1 ? 2 : 1) - first);
    return where;
}

template <int E, int MOST_THREADS>
cudaError_t launch_for(const lw_sfft_device_range *range, double2 *values, unsigned long long *largest, cudaStream_t stream)
{
    constexpr int LEAST_SHARED = 99 << 10;      /* that a block may have anywhere */
    const bool has_room = 2 * shared_bytes(range->n_buckets) <= LEAST_SHARED;
    const int bytes = shared_bytes(range->n_buckets) * (has_room ? 2 : 1);
    const cudaError_t status = cudaFuncSetAttribute(transform<E, MOST_THREADS>,
                                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t where = launch_of(range->n_planes, 1, range->n_buckets / E, bytes, attributes);
    where.stream = stream;
    return cudaLaunchKernelEx(&where, transform<E, MOST_THREADS>, *range, values, largest, has_room);
}

/* Whether planes are long enough to be divided, and come out in whole warps. */
template <int E, int PARTS> bool has_parts(const lw_sfft_device_range *range)
{
    const int64_t threads = range->n_buckets / PARTS / E;
    return range->has_clusters && threads % 32 == 0 && threads >= 64 && threads <= MOST_OF_PART;
}

template <int E, int PARTS>
cudaError_t launch_parts(const lw_sfft_device_range *range, double2 *values, unsigned long long *largest, cudaStream_t stream)
{
    const int bytes = 2 * shared_bytes(range->n_buckets / PARTS);
    const cudaError_t status = cudaFuncSetAttribute(transform_parts<E, PARTS>,
                                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t where = launch_of(range->n_planes, PARTS, range->n_buckets / PARTS / E, bytes, attributes);
    where.stream = stream;
    return cudaLaunchKernelEx(&where, transform_parts<E, PARTS>, *range, values, largest);
}

/* Few threads may have the registers that two radix-8 or radix-4 butterflies ask for. */
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
    return points_of(n_buckets) > 0 && shared_bytes(n_buckets) <= most_shared_bytes;
}

cudaError_t lw_sfft_transform(const lw_sfft_device_range *range, double2 *values, unsigned long long *largest,
                              cudaStream_t stream)
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
    const int64_t blocks = (range->n_planes * range->n_buckets + 2047) / 2048;
    find_largest<<<(unsigned)(blocks < 1024 ? blocks : 1024), 256, 0, stream>>>(*range, values, largest);
    return cudaGetLastError();
}
