/* published_ways.h - other ways to compute two steps of the published transform on a GPU, for comparison with the engine's own
 * (struct lw_cuda_published_ways of gpu/sfft/published/solver.h). C and CUDA C.
 *
 *     bins     partition   a thread sums one bucket, with its samples scattered over the signal: cusFFT's loop partition
 *              rows        data layout transformation of one loop at a time: the samples of a loop are first written in the order
 *                          of the window, while the loop before is folded; two streams
 *              chunks      the same in chunks of B samples, as cusFFT has it: 32 streams
 *              columns     the engine's way where loops take much of the signal, for any signal of few rows n / B
 *     cutoff   sort        all buckets of a loop are sorted, and the first taken
 *              threshold   fast selection, cusFFT's algorithm 6: each bucket is compared with a threshold
 *
 * All bins have the same bits, and so have the places by sorting. The paper's threshold is a number; here it is a sixteenth of the
 * mean energy of a loop's buckets, which suits lines of like magnitude alone. */
#pragma once

#include "base/linkage.h"
#include "gpu/sfft/published/launch.h"

LW_C_BEGIN

/* Device memory, streams and events of all ways; the context of their functions. */
struct bench_ways;

/** Allocate for n_loops loops of n_buckets, with windows of `taps` taps, more than n_buckets. Return NULL if there is not enough
 * memory. */
struct bench_ways *bench_ways_create(int64_t taps, int64_t n_buckets, int n_loops, int location_loops);
void bench_ways_destroy(struct bench_ways *ways);               /* accepts NULL */

/** Compute planes = the folded sums of all loops. */
cudaError_t bench_ways_partition(void *ways, const struct lw_published_device *device, cudaStream_t stream);
cudaError_t bench_ways_rows(void *ways, const struct lw_published_device *device, cudaStream_t stream);
cudaError_t bench_ways_columns(void *ways, const struct lw_published_device *device, cudaStream_t stream);
cudaError_t bench_ways_chunks(void *ways, const struct lw_published_device *device, cudaStream_t stream);

/** Compute the same as lw_published_select. */
cudaError_t bench_ways_sort(void *ways, const struct lw_published_device *device, cudaStream_t stream);

/** Compute the noise's energy as lw_published_select does, and select the buckets above the threshold, n_selected at
 * most. */
cudaError_t bench_ways_threshold(void *ways, const struct lw_published_device *device, cudaStream_t stream);

LW_C_END
