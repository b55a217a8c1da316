/* long.h - overlap-save for filters longer than the kernels' segments, in bounded work space. Three methods share the interface:
 *
 *   cluster  lengths of cluster.cu, on devices with clusters: one kernel from samples to outputs
 *   split    lengths of split.cu: three kernels of our own
 *   cuFFT    all other lengths: cut, transform, multiply, transform back, store. There is one plan of one batch size; zeros fill
 *            up the last batch, so that a segment's arithmetic does not depend on its block
 *
 * The error bound is that of the other paths, with N the segment length of this one. */
#pragma once

#include "base/linkage.h"
#include "gpu/ols/kernels/kernels.h"
#include "gpu/ols/long/steps.h"

LW_C_BEGIN

struct lw_long_method;              /* gpu/ols/long/method.h */

struct lw_long_ols_plan {
    struct lw_cuda_ols_spec spec;
    enum lw_pairing pairing;
    int64_t segment, hop;           /* N; N - M + 1 - reach */
    int reach;                      /* samples of the series that --post needs beyond a hop */
    const struct lw_long_method *method;
    bool needs_gather;                 /* cluster: segments are cut and stored by separate kernels */
    int batch;                      /* segments in work at a time */
    int group;                      /* filters in work at a time; 1 for cuFFT */
    int64_t unit, channel_unit;     /* see struct lw_grid */
    bool output_complex;
    double seconds_per_output;      /* model: seconds on one H200 */
};

#define LW_LONG_LEAST_SEGMENT ((int64_t)1 << 8)        /* least chosen length; a user may ask for less */
#define LW_LONG_MOST_SEGMENT ((int64_t)1 << 28)

/** Choose N, a power of two, and the method; or take spec->segment, of any length. A separate kernel does what --post (spec->post)
 * asks, since the products hold whole segments of the series. Pure.
 * @param n_outputs  outputs on the whole axis; 0: unknown
 * @return LW_ECONFIG for a segment shorter than the filter or longer than LW_LONG_MOST_SEGMENT, or for more taps than that */
int lw_long_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int64_t n_outputs,
                       struct lw_long_ols_plan *out, struct lw_error *err);

/** Return whether this path is clearly cheaper than a kernel chosen without a wanted segment length, and set *out. Pure. */
bool lw_long_ols_is_cheaper(const struct lw_cuda_ols_plan *kernel, int64_t n_outputs, struct lw_long_ols_plan *out);

/** Return the device bytes kept, and those needed only during create. Both ask cuFFT and need the device's context. */
int64_t lw_long_ols_bytes(const struct lw_long_ols_plan *plan);
int64_t lw_long_setup_bytes(const struct lw_long_ols_plan *plan);

struct lw_long_ols;

/** Make the plan and transform the filters in double.
 * @param taps    [n_filters x n_taps (x 2 if complex)], float64, device, borrowed until the work on `stream` is done
 * @param memory  lw_long_ols_bytes of device memory, borrowed for the object's life
 * @param setup   lw_long_setup_bytes of device memory, borrowed until the work on `stream` is done */
int lw_long_ols_create(const struct lw_long_ols_plan *plan, const double *taps, void *memory, void *setup,
                       cudaStream_t stream, struct lw_long_ols **out, struct lw_error *err);
void lw_long_ols_destroy(struct lw_long_ols *ols);      /* NULL is legal */

/** Enqueue one block. Blocks on different streams share the work space: on the device each waits for the block before it. */
int lw_long_ols_launch(struct lw_long_ols *ols, const struct lw_cuda_ols_block *block, cudaStream_t stream, struct lw_error *err);

LW_C_END
