/* cluster.h - long segments spread over the shared memory of a cluster of blocks: one kernel from samples to
 * outputs.
 *
 * Calls are asynchronous on the stream; lw_cluster_prepare comes first and may be called again. For items see
 * gpu/ols/long/steps.h. */
#pragma once

#include "base/linkage.h"
#include "gpu/ols/kernels/kernels.h"
#include "gpu/ols/long/steps.h"

LW_C_BEGIN

/** Whether there is a kernel of that segment length for a device of this kind. */
bool lw_cluster_exists(const struct lw_cuda_arch *arch, enum lw_precision precision, int64_t segment);

/** Bytes of the twiddle tables that lw_cluster_prepare fills. */
int64_t lw_cluster_table_bytes(enum lw_precision precision, int64_t segment);

/** Fill the tables and make the kernel ready on the current device.
 * @param resident  clusters that the device runs at a time, for lw_cluster_run; 0: it cannot run any */
cudaError_t lw_cluster_prepare(enum lw_precision precision, int64_t segment, void *table, int *resident,
                               cudaStream_t stream);

/** One filter's spectrum from natural order in double, padded[i], to the order that the kernel reads, divided by N. */
cudaError_t lw_cluster_order(enum lw_precision precision, int64_t segment, const void *padded, void *spectrum,
                             cudaStream_t stream);

/* One run. Samples and outputs must lie one after the other on the axis; where they do not, or something is made of the
 * series, lw_long_load cuts `segments` first, and lw_long_store or lw_long_post stores from `products`. */
struct lw_cluster_work {
    const struct lw_long_geometry *geometry;
    const void *table;
    const void *bank;           /* spectra of the filters, [n_filters][N] */
    const void *input;          /* stored samples, or NULL: */
    const void *segments;       /* [n][N] complex */
    void *output;               /* the filters' planes, or NULL: */
    void *products;             /* [n_filters][n][N] complex */
    int64_t plane;              /* reals from plane to plane */
    int64_t first;              /* item */
    int n;                      /* items */
    int n_filters;
    int resident;
    unsigned *not_finite;
};

cudaError_t lw_cluster_run(const struct lw_cluster_work *work, cudaStream_t stream);

LW_C_END
