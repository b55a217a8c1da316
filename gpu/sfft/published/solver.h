/* solver.h - the CUDA engine's solver of the published transform (src/sfft/published/published.h). The signal is copied to the
 * device whole:
 *
 *     signal --H2D--> bin.cu -> transform.cu -> cutoff.cu -> vote.cu, estimate.cuh -> check.cu --> lines in pinned host memory
 *     samples         folded    planes          largest      votes, medians           one more loop checks */
#pragma once

#include "engine/published/solver.h"
#include "gpu/sfft/published/launch.h"

/* The engine's operations for the published transform. A solver's bytes include the signal on the device. */
extern const struct lw_published_ops lw_cuda_published_ops;

/* Replacements for two steps, making the planes and selecting the largest buckets: benchmarks compare them with the solver's own.
 * They are enqueued once, on the solver's stream, to be captured. NULL: the solver's own step. Another `bin` has the taps for bins
 * by columns wherever these are possible. */
struct lw_cuda_published_ways {
    cudaError_t (*bin)(void *context, const struct lw_published_device *device, cudaStream_t stream);
    cudaError_t (*cutoff)(void *context, const struct lw_published_device *device, cudaStream_t stream);
    void *context;                  /* borrowed for the solver's life */
};

/** Create a solver.
 * @param layout    borrowed for the solver's life
 * @param is_timed  its runs measure the time of each step; the events between steps cost about a microsecond each
 * @param ways      NULL: all steps are the solver's own */
int lw_cuda_published_create(const struct lw_published_layout *layout, bool is_timed, const struct lw_cuda_published_ways *ways,
                             struct lw_published_solver **out, struct lw_error *err);

/** Do `run` for a signal that is on the device: [n] (re, im) pairs or reals in double precision, aligned to 16 bytes.
 * @param profile  not changed by a solver that is not timed */
int lw_cuda_published_run_on(struct lw_published_solver *solver, const double *samples, struct lw_sfft_result *result,
                             struct lw_published_profile *profile, struct lw_error *err);
