/* bank.h - puts filters into the memory of the kernels and of the long path for tests and benchmarks that call these directly. */
#pragma once

#include "gpu/ols/filler.h"

#include <cuda_runtime_api.h>
#include <string.h>

/* Put filters into prepared memory.
 * @param batch    filters of a batch; 0: the engine chooses
 * @param threads  NULL: no stages */
static inline int refill_bank(const struct lw_ols_resolved *path, const struct lw_ols_spec *ols, int batch,
                              const struct lw_filler_target *target, struct lw_pool *threads, cudaStream_t stream)
{
    struct lw_filler *filler = NULL;
    struct lw_error err;
    void *setup = NULL;
    int rc = cudaMalloc(&setup, (size_t)lw_filler_bytes(path, ols, batch)) == cudaSuccess ? LW_OK : LW_ESYSTEM;
    if (!rc && !(rc = lw_filler_create(path, ols, batch, setup, 0, threads, &filler, &err)))
        rc = lw_filler_run(filler, &ols->taps, ols->n_filters, target, stream, &err);
    lw_filler_destroy(filler);
    cudaFree(setup);
    return rc;
}

/* Prepare the memory of a path and put filters into it.
 * @param taps      [n_filters x n_taps (x 2 if complex)] of the path's spec, host
 * @param memory    device: the kernel's bank, or lw_long_ols_bytes for the long path
 * @param long_ols  set for the long path, to be destroyed by the caller; NULL: the path is a kernel */
static inline int fill_bank(const struct lw_ols_resolved *path, const double *taps, void *memory, struct lw_long_ols **long_ols,
                            cudaStream_t stream)
{
    const struct lw_cuda_ols_spec *const spec = path->is_long ? &path->long_plan.spec : &path->kernel.spec;
    struct lw_filler_target target;
    struct lw_ols_spec ols;
    struct lw_error err;
    memset(&target, 0, sizeof target);
    memset(&ols, 0, sizeof ols);
    ols.taps = lw_stored_doubles(taps, spec->taps_complex);
    ols.n_filters = spec->n_filters;
    ols.n_taps = spec->n_taps;
    target.bank = memory;
    const int rc = path->is_long ? lw_long_ols_create(&path->long_plan, memory, stream, long_ols, &err)
                                 : lw_cuda_ols_prepare(&path->kernel, memory, stream);
    if (path->is_long)
        target.long_ols = *long_ols;
    return rc ? rc : refill_bank(path, &ols, 0, &target, NULL, stream);
}
