/* ends.h - first and last output of the axis for a derivative that is folded into the filters (signal/post.h). C header. */
#pragma once

#include "engine/engine.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* One block; all pointers are device memory. */
struct lw_ends {
    const void *input;              /* samples, laid out as in struct lw_slot, in this machine's byte order */
    void *output;                   /* outputs, laid out as in struct lw_slot, float or double by `precision` */
    const double *taps;             /* [n_filters x n_taps (x 2 if complex)]: each filter convolved with 1, D - 1 zeros, -1 */
    struct lw_type input_type;
    enum lw_precision precision;    /* precision of the outputs; a sample must be finite in it */
    enum lw_layout layout;
    enum lw_nan nan;
    bool taps_complex, output_complex;
    int n_filters;
    int64_t n_taps;                 /* taps of a filter of `taps`: M + D, where the job's filters have M */
    int64_t halo;                   /* halo samples of the block, M - 1 + 2 D */
    int64_t count, n_channels;      /* samples and channels of the block */
    int64_t every;                  /* D: the result has only every D-th output of the axis; 1: all outputs */
    int64_t last;                   /* the axis' last kept output, as a number among the block's outputs at the full rate */
    int64_t row, last_place;        /* outputs per channel of `output`; place of the axis' last kept output in a channel's row */
    bool has_first, has_last;       /* whether the block has the axis' first output; its last kept output */
};

/** Enqueue the computation of the first and the last kept output of the axis for all filters and channels, if the block has them.
 * They are sums in double; an output is NaN if its taps touch a sample that is not finite. Launches nothing for other blocks. */
cudaError_t lw_cuda_ols_ends(const struct lw_ends *ends, cudaStream_t stream);

LW_C_END
