/* transform.cuh - transforms of B points in shared memory, B = 2^a or 3 2^a, in double precision, by one block or by a cluster.
 *
 * Each of B / E threads holds E points: 8, or 12 if 3 divides B. In a pass of radix R a thread makes E / R butterflies. Stockham's
 * order of writes leaves the spectrum in order after the last pass. Barriers separate reads from writes, so one buffer suffices.
 * One element of padding after every 8 keeps the strided writes of the first pass free of bank conflicts. The roots of unity are
 * copied to shared memory where there is room: each pass needs other roots, and would wait for global memory.
 *
 * In a cluster of P blocks, block c transforms the points c, c + P, ...; the P transforms are combined through global memory. */
#pragma once

#include "gpu/device/fft.cuh"

LW_DEVICE int padded(int i) { return i + i / 8; }

/* Transform three points forward. */
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
    int n;                      /* number of points */
    double2 *shared;
    const double2 *roots;       /* exp(-2 pi i k / n); padded if in shared memory */
    bool is_padded;

    LW_DEVICE double2 root(int k) const { return roots[is_padded ? padded(k) : k]; }
};

/* Make a pass of radix R, after passes whose radices have the product `done`. The points are in shared memory, behind a barrier. */
template <int E, int R> LW_DEVICE void pass(const Plane &p, int done)
{
    constexpr int COUNT = E / R;
    const int threads = p.n / E, t = (int)threadIdx.x;
    double2 v[COUNT][R];
#pragma unroll
    for (int q = 0; q < COUNT; ++q) {
        if (t >= threads)
            break;
        const int j = t + q * threads, k = E == 8 ? j & (done - 1) : j % done;      /* E = 8: `done` is a power of two */
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

/* A plane that the blocks of a cluster transform, and its roots of unity. */
struct Shared {
    const double2 *from;
    double2 *between, *to;      /* results of the blocks, and of the cluster; `between` may be `from` */
    int n_buckets;
    const double2 *inner, *outer;           /* exp(-2 pi i k P / B) at inner[k inner_step]; exp(-2 pi i c k / B) at outer[k
                                               outer_step] for block c */
    int inner_step, outer_step;             /* strides in these tables, for k < B / P */
};

/* Transform part c of a plane forward, once the previous kernel has ended; keep(k, X[k]) is called once for each result.
 *
 * X[k + q B / P] = sum over c of (exp(-2 pi i c k / B) Y_c[k]) exp(-2 pi i c q / P), Y_c the transform of the points of block c. */
template <int E, int PARTS, class Keep> LW_DEVICE void transform_part(const Shared &plane, int c, double2 *points, Keep keep)
{
    const int n = plane.n_buckets / PARTS, threads = n / E, t = (int)threadIdx.x;
    double2 *const copy = points + padded(n);
    const Plane p = {n, points, copy, true};
    double2 outer[E];
#pragma unroll
    for (int e = 0; e < E; ++e) {
        copy[padded(t + e * threads)] = plane.inner[(t + e * threads) * plane.inner_step];
        outer[e] = plane.outer[(t + e * threads) * plane.outer_step];
    }
    wait_for_predecessor();
#pragma unroll
    for (int e = 0; e < E; ++e)
        points[padded(t + e * threads)] = plane.from[(t + e * threads) * PARTS + c];
    if (plane.from == plane.between)
        cluster_barrier();      /* all blocks have read their points */
    else
        __syncthreads();
    passes<E>(p);
#pragma unroll
    for (int e = 0; e < E; ++e)
        plane.between[c * n + t + e * threads] = product(points[padded(t + e * threads)], outer[e]);
    cluster_barrier();
#pragma unroll
    for (int e = 0; e < E / PARTS; ++e) {
        const int k = c * (n / PARTS) + t + e * threads;
        double2 v[PARTS];
#pragma unroll
        for (int other = 0; other < PARTS; ++other)
            v[other] = plane.between[other * n + k];
        butterfly_of<PARTS>(v);
#pragma unroll
        for (int q = 0; q < PARTS; ++q) {
            plane.to[q * n + k] = v[q];
            keep(q * n + k, v[q]);
        }
    }
}

/* Return the bytes of shared memory for n_points points; the roots need the same number again. */
static inline int transform_bytes(int64_t n_points) { return (int)(n_points + n_points / 8) * (int)sizeof(double2); }
