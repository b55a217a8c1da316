/* ends.h - first and last output of the axis for a derivative that is folded into the filters (signal/post.h). C. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* One block; all pointers are device memory. */
struct lw_ends {
    const void *input;              /* samples as in struct lw_slot, in this machine's byte order */
    void *output;                   /* outputs as in struct lw_slot, float or double by `precision` */
    const double *taps;             /* [n_filters x n_taps (x 2 if complex)]: h * [1, -1], the 1 and the -1 D samples apart */
    struct lw_type input_type;
    enum lw_precision precision;    /* precision of the outputs; also decides which samples are finite */
    enum lw_layout layout;
    enum lw_nan nan;
    bool taps_complex, output_complex;
    int n_filters;
    int64_t n_taps;                 /* taps of one of these filters, M + D */
    int64_t halo;                   /* halo samples of the block, M - 1 + 2 D */
    int64_t count, n_channels;      /* samples and channels of the block */
    int64_t every;                  /* D: only every D-th output of the axis is kept in the end */
    int64_t last;                   /* number of the axis' last kept output, counted in outputs of the block at the full rate */
    int64_t row, last_place;        /* outputs of a channel in `output`; place of the axis' last kept output among them */
    bool has_first, has_last;       /* whether the axis begins with this block; whether its last kept output is in this block */
};

/** Enqueue the computation of the first and the last output of the axis, if the block has them, for all filters and channels. Each
 * is a sum in double; it is NaN if one of its samples is not finite. Launches nothing for a block that has neither. */
cudaError_t lw_cuda_ols_ends(const struct lw_ends *ends, cudaStream_t stream);

LW_C_END
