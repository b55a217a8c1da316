/* cluster.cu - the kernels of gpu/ols/long/cluster.cuh that there are, and their launcher. */
#include "gpu/ols/long/cluster.h"

#include "gpu/ols/long/cluster.cuh"

using F4096 = Transform<float, 32, 4, Team<128, 1>>;
using F8192 = Transform<float, 32, 8, Team<256, 1>>;
using D4096 = Transform<double, 16, 16, Team<256, 1>>;

/* Blocks of 4096 points leave room for others on their multiprocessor, which work while these wait for an exchange:
 * faster a point than twice as long ones, of which half as many share a segment. */
template <class With> static cudaError_t with_cluster(enum lw_precision precision, int64_t segment, With with)
{
    const bool single = precision == LW_SINGLE;
    switch (segment) {
    case 32768: return single ? with(Cluster<F4096, 8, 3>{}) : with(Cluster<D4096, 8, 1>{});
    case 65536: return single ? with(Cluster<F4096, 16, 3>{}) : with(Cluster<D4096, 16, 1>{});
    case 131072: return single ? with(Cluster<F8192, 16, 1>{}) : cudaErrorInvalidValue;
    default: return cudaErrorInvalidValue;
    }
}

bool lw_cluster_exists(const struct lw_cuda_arch *arch, enum lw_precision precision, int64_t segment)
{
    const int reserved = 1024;      /* by the driver, of every block; a multiprocessor has so much more than a block */
    return arch->major >= 9 && with_cluster(precision, segment, [=](auto cluster) {
        using S = decltype(cluster);
        const bool fits = S::RESIDENT * (S::SHARED_BYTES + reserved) <= arch->shared_bytes + reserved;
        return fits ? cudaSuccess : cudaErrorInvalidValue;
    }) == cudaSuccess;
}

int64_t lw_cluster_table_bytes(enum lw_precision precision, int64_t segment)
{
    int64_t bytes = 0;
    with_cluster(precision, segment, [&](auto cluster) {
        using S = decltype(cluster);
        bytes = (int64_t)sizeof(typename S::C) * S::TABLE;
        return cudaSuccess;
    });
    return bytes;
}

/* A launch of `n_clusters` clusters; the attribute is the caller's, for the launch's life. */
template <class S> static cudaLaunchConfig_t launch_of(int n_clusters, cudaLaunchAttribute *attribute, cudaStream_t stream)
{
    *attribute = {};
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim = {S::WIDTH, 1, 1};
    cudaLaunchConfig_t where = {};
    where.gridDim = dim3((unsigned)(n_clusters * S::WIDTH));
    where.blockDim = dim3(S::F::T);
    where.dynamicSmemBytes = S::SHARED_BYTES;
    where.stream = stream;
    where.attrs = attribute;
    where.numAttrs = 1;
    return where;
}

/* More than eight blocks are not to be had on every device. */
template <class S> static cudaError_t allow(int *resident)
{
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t where = launch_of<S>(1, &attribute, 0);
    cudaError_t failed =
        cudaFuncSetAttribute(cluster_segments<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED_BYTES);
    if (!failed && S::WIDTH > 8)
        failed = cudaFuncSetAttribute(cluster_segments<S>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (!failed)
        failed = cudaOccupancyMaxActiveClusters(resident, cluster_segments<S>, &where);
    return failed;
}

cudaError_t lw_cluster_prepare(enum lw_precision precision, int64_t segment, void *table, int *resident,
                               cudaStream_t stream)
{
    return with_cluster(precision, segment, [=](auto cluster) {
        using S = decltype(cluster);
        using C = typename S::C;
        const int threads = 128, values = S::LEVELS * S::L;
        const cudaError_t failed = allow<S>(resident);
        if (failed)
            return failed;
        fill_powers(static_cast<C *>(table), S::F::E, S::F::P, stream);
        C *const wide = static_cast<C *>(table) + S::LOCAL_TABLE;
        cluster_powers<<<values / threads, threads, 0, stream>>>(wide, S::L, S::LEVELS, S::N);
        return cudaGetLastError();
    });
}

cudaError_t lw_cluster_order(enum lw_precision precision, int64_t segment, const void *padded, void *spectrum,
                             cudaStream_t stream)
{
    return with_cluster(precision, segment, [=](auto cluster) {
        using S = decltype(cluster);
        const int threads = 128;
        cluster_order<S><<<S::N / threads, threads, 0, stream>>>(static_cast<const double2 *>(padded),
                                                                 static_cast<typename S::C *>(spectrum));
        return cudaGetLastError();
    });
}

cudaError_t lw_cluster_run(const struct lw_cluster_work *work, cudaStream_t stream)
{
    if (work->n <= 0)
        return cudaSuccess;
    ClusterArgs a = {};
    a.geometry = *work->geometry;
    a.table = work->table;
    a.bank = work->bank;
    a.input = work->input;
    a.segments = work->segments;
    a.output = work->output;
    a.products = work->products;
    a.plane = work->output ? work->plane : 2 * work->n * work->geometry->segment;
    a.first = work->first;
    a.not_finite = work->not_finite;
    a.n = work->n;
    a.n_filters = work->n_filters;
    const int n_pairs = a.n * a.n_filters, n_clusters = work->resident < n_pairs ? work->resident : n_pairs;
    return with_cluster(a.geometry.precision, a.geometry.segment, [&](auto cluster) {
        using S = decltype(cluster);
        cudaLaunchAttribute attribute;
        const cudaLaunchConfig_t where = launch_of<S>(n_clusters, &attribute, stream);
        const cudaError_t failed = cudaLaunchKernelEx(&where, cluster_segments<S>, a);
        return failed ? failed : cudaGetLastError();
    });
}
