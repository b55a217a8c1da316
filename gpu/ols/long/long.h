/* long.h - overlap-save for filters longer than the kernels' segments, in bounded work space.
 *
 *   cluster  a length that gpu/ols/long/cluster.cu has, on devices with clusters: one kernel from samples to outputs
 *   split    a length that gpu/ols/long/split.cu has: three kernels of our own
 *   cuFFT    all else: cut, transform, multiply, transform back, store. One plan of one batch size, the last batch filled up
 *            with zeros, so that the arithmetic of a segment does not depend on the block it is in
 *
 * The error bound is that of the other paths with N this path's segment length. */
#pragma once

#include "base/linkage.h"
#include "gpu/ols/kernels/kernels.h"
#include "gpu/ols/long/steps.h"

LW_C_BEGIN

struct lw_long_method;              /* gpu/ols/long/method.h */

struct lw_long_ols_plan {
    struct lw_cuda_ols_spec spec;
    enum lw_pairing pairing;
    int64_t segment, hop;           /* N and N - M + 1 - reach */
    int reach;                      /* samples of the series that something made of it needs beyond a hop */
    const struct lw_long_method *method;
    bool needs_gather;                 /* cluster: segments are cut and stored by kernels of their own */
    int batch;                      /* segments in work at a time */
    int group;                      /* filters in work at a time: 1 for cuFFT */
    int64_t unit, channel_unit;     /* see struct lw_grid */
    bool output_complex;
    double seconds_per_output;      /* model, on one H200 */
};

#define LW_LONG_LEAST_SEGMENT ((int64_t)1 << 8)        /* that is chosen; any from the filter's length on may be asked for */
#define LW_LONG_MOST_SEGMENT ((int64_t)1 << 28)

/** Choose N, a power of two (or take spec->segment, of any length), and the method. What is made of the series
 * (spec->post) is made by a kernel of its own from the products, in which the segments' series stand complete. Pure.
 * @param n_outputs  on the whole axis, 0: not known
 * @return LW_ECONFIG for a segment that is shorter than the filter or too long, or for taps beyond that limit */
int lw_long_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, int64_t n_outputs,
                       struct lw_long_ols_plan *out, struct lw_error *err);

/** Whether this path is clearly cheaper than a kernel that was chosen for the same job without asking for a segment
 * length; then *out is the plan. Pure. */
bool lw_long_ols_is_cheaper(const struct lw_cuda_ols_plan *kernel, int64_t n_outputs, struct lw_long_ols_plan *out);

/** Device bytes kept, and those that are needed only during create. Ask cuFFT; need the device's context. */
int64_t lw_long_ols_bytes(const struct lw_long_ols_plan *plan);
int64_t lw_long_setup_bytes(const struct lw_long_ols_plan *plan);

struct lw_long_ols;

/** Make the plan and transform the filters in double.
 * @param taps    [n_filters x n_taps (x 2 if complex)], float64, device, borrowed until `stream` is done
 * @param memory  lw_long_ols_bytes of device memory, borrowed for the object's life
 * @param setup   lw_long_setup_bytes of device memory, borrowed until `stream` is done */
int lw_long_ols_create(const struct lw_long_ols_plan *plan, const double *taps, void *memory, void *setup,
                       cudaStream_t stream, struct lw_long_ols **out, struct lw_error *err);
void lw_long_ols_destroy(struct lw_long_ols *ols);      /* NULL is legal */

/** Enqueue one block. Blocks on different streams share the work space: each waits on the device for the one before. */
int lw_long_ols_launch(struct lw_long_ols *ols, const struct lw_cuda_ols_block *block, cudaStream_t stream, struct lw_error *err);

LW_C_END
