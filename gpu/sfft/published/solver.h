/* solver.h - the cuda engine's solver of the published transform: the signal is copied to the device whole; kernels find
 * lines there and take these out of the loop that checks, and write what is reported to memory of the host. */
#pragma once

#include "engine/published/solver.h"
#include "gpu/sfft/published/launch.h"

/* What the engine has for the published transform. The bytes of a solver include the signal on the device. */
extern const struct lw_published_ops lw_cuda_published_ops;

/* Other ways to make the planes and to choose the largest buckets, which benchmarks compare with the solver's own. A solver
 * enqueues them once, on its stream, to be captured; NULL: its own. */
struct lw_cuda_published_ways {
    cudaError_t (*bin)(void *context, const struct lw_published_device *device, cudaStream_t stream);
    cudaError_t (*cutoff)(void *context, const struct lw_published_device *device, cudaStream_t stream);
    void *context;                  /* borrowed for the solver's life */
};

/** @param layout    borrowed for the solver's life
 *  @param is_timed  its runs say how long each step took, for which marks stand between the steps, about a microsecond each
 *  @param ways      NULL: all are the solver's own */
int lw_cuda_published_create(const struct lw_published_layout *layout, bool is_timed, const struct lw_cuda_published_ways *ways,
                             struct lw_published_solver **out, struct lw_error *err);

/** As run, for a signal that is on the device: [n] (re, im) pairs or reals in double precision, aligned to 16 bytes.
 * @param profile  not changed by a solver that is not timed */
int lw_cuda_published_run_on(struct lw_published_solver *solver, const double *samples, struct lw_sfft_result *result,
                             struct lw_published_profile *profile, struct lw_error *err);
