/* published_ways.h - other ways to compute two steps of the published transform on a GPU, as cusFFT has them, for comparison with
 * the engine's own (struct lw_cuda_published_ways of gpu/sfft/published/solver.h). One step gathers the samples of bins in the
 * order of the window first; the other finds the cutoff by sorting all buckets. The results have the same bits. C and CUDA C. */
#pragma once

#include "base/linkage.h"
#include "gpu/sfft/published/launch.h"

LW_C_BEGIN

/* Device memory, streams and events of both ways; the context of their functions. */
struct bench_ways;

/** Allocate for loops of n_buckets with windows of `taps` taps. Return NULL if there is not enough memory. */
struct bench_ways *bench_ways_create(int64_t taps, int64_t n_buckets, int location_loops);
void bench_ways_destroy(struct bench_ways *ways);               /* accepts NULL */

/** Compute planes = the folded sums of all loops, each from a row of its samples in the order of the window. */
cudaError_t bench_ways_gather(void *ways, const struct lw_published_device *device, cudaStream_t stream);

/** Compute the same as lw_published_select, by sorting all energies of a loop. */
cudaError_t bench_ways_sort(void *ways, const struct lw_published_device *device, cudaStream_t stream);

LW_C_END
