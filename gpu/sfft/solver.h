/* solver.h - the sparse transform on a GPU: the CUDA engine's solver, and its steps for a signal that is on the device.
 *
 *     rows gathered by the host --H2D--+    fold.cu  transform.cu  recover.cu, peel.cuh, fit.cuh
 *     or a signal on the device -------+--> fold --> transform --> recover --> lines, on the device --D2H--> host
 *
 * These three kernels make one attempt (launch.h) on the caller's stream, and can be captured into a CUDA graph. dense.h has the
 * dense transform, published/ the published sparse transform. */
#pragma once

#include "engine/sparse.h"
#include "gpu/host/device.h"
#include "gpu/sfft/launch.h"

LW_C_BEGIN

/** The CUDA engine's functions for the sparse transform. Solvers borrow the engine for their life. */
extern const struct lw_sparse_ops lw_cuda_sparse_ops;

/** Enqueue an attempt; earlier attempts must have been enqueued before.
 * @param signal  on the device, float32 or float64, borrowed until the attempt has finished; NULL: the samples that load() took */
int lw_cuda_sfft_enqueue(struct lw_sfft_solver *solver, int attempt, const struct lw_sfft_device_signal *signal,
                         cudaStream_t stream, struct lw_error *err);

/** Copy an attempt's lines to the host, and judge whether they explain the signal (lw_sfft_judge). Waits for the stream. */
int lw_cuda_sfft_fetch(struct lw_sfft_solver *solver, int attempt, cudaStream_t stream, struct lw_sfft_result *result,
                       struct lw_error *err);

/** Return the device's result of the last attempt fetched, with its rounds of peeling and steps of fits. */
const struct lw_sfft_device_result *lw_cuda_sfft_details(const struct lw_sfft_solver *solver);

LW_C_END
