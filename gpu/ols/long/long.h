/* long.h - overlap-save for filters longer than the segments of gpu/ols/kernels, in bounded work space. Segment length and device
 * set which of three methods filters:
 *
 *   cluster  the lengths in cluster.cu, on devices with clusters: one kernel from samples to outputs
 *   split    the lengths in split.cu: three kernels of our own
 *   cuFFT    all other lengths: cut, transform, multiply, transform back, store. One cuFFT plan transforms batches of one size;
 *            zeros fill up the last batch, so that a segment's arithmetic does not depend on its block
 *
 * A kernel of steps.h does --post last, on whole segments. The error bound is that in gpu/ols/kernels for this segment length. */
#pragma once

#include "gpu/ols/kernels/kernels.h"
#include "gpu/ols/long/steps.h"

LW_C_BEGIN

struct lw_long_method;              /* gpu/ols/long/method.h */

struct lw_long_ols_plan {
    struct lw_cuda_ols_spec spec;
    enum lw_pairing pairing;
    int64_t segment, hop;           /* N; outputs that a segment advances, N - M + 1 - reach for M taps */
    int reach;                      /* samples of the series that --post needs beyond a hop */
    const struct lw_long_method *method;
    bool needs_gather;              /* cluster: separate kernels of steps.h cut the segments and store the outputs */
    int batch;                      /* segments in the work space at a time */
    int group;                      /* filters whose products are in the work space at a time; 1 for cuFFT */
    int64_t unit, channel_unit;     /* see struct lw_grid */
    bool output_complex;
    double seconds_per_output;      /* model: seconds per output of one filter on one H200 */
};

#define LW_LONG_LEAST_SEGMENT ((int64_t)1 << 8)        /* least length that the model chooses; --segment may be shorter */
#define LW_LONG_MOST_SEGMENT ((int64_t)1 << 28)

/** Choose the method and N: spec->segment, of any length, or if that is 0 a power of two. Pure.
 * @param n_outputs  outputs on the whole axis; 0: unknown
 * @return LW_ECONFIG for a segment shorter than the filter or longer than LW_LONG_MOST_SEGMENT, or for more taps than that */
int lw_long_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int64_t n_outputs,
                       struct lw_long_ols_plan *out, struct lw_error *err);

/** Return whether the long path is clearly cheaper than `kernel`, and set *out to its plan. False if a segment was wanted. Pure. */
bool lw_long_ols_is_cheaper(const struct lw_cuda_ols_plan *kernel, int64_t n_outputs, struct lw_long_ols_plan *out);

/** Let the plan hold n_filters of the filters that it was chosen for. Pure. */
void lw_long_ols_hold(struct lw_long_ols_plan *plan, int n_filters);

/** Return the device bytes for the object's life. Asks cuFFT and needs the device's context. */
int64_t lw_long_ols_bytes(const struct lw_long_ols_plan *plan);

struct lw_long_ols;

/** Create the object for a plan, still without filters.
 * @param memory  lw_long_ols_bytes of device memory, borrowed for the object's life; filled by work on `stream` */
int lw_long_ols_create(const struct lw_long_ols_plan *plan, void *memory, cudaStream_t stream, struct lw_long_ols **out,
                       struct lw_error *err);
void lw_long_ols_destroy(struct lw_long_ols *ols);      /* NULL is legal */

/** Enqueue the taking of filters first .. first + n - 1 (gpu/ols/filler.h makes them). May be repeated.
 * @param bins  device, [n x segment] complex float64: the bins 0 .. N - 1 of the taps. NULL: the filters are 0
 * @param n     at most 32768 */
int lw_long_ols_put(struct lw_long_ols *ols, const void *bins, int64_t first, int n, cudaStream_t stream, struct lw_error *err);

/** Enqueue the filtering of one block. Blocks on different streams share the work space: each waits, on the device, until the block
 * before it has finished. */
int lw_long_ols_launch(struct lw_long_ols *ols, const struct lw_cuda_ols_block *block, cudaStream_t stream, struct lw_error *err);

LW_C_END
