/* ends.h - the first and the last output of the axis of a derivative that is folded into the filters, see signal/post.h. C. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* One block, on the device. */
struct lw_ends {
    const void *input;              /* as in struct lw_slot, in this machine's byte order */
    void *output;                   /* likewise, float or double by `precision` */
    const double *taps;             /* [n_filters x n_taps (x 2 if complex)]: h * [1, -1], D samples apart */
    struct lw_type input_type;
    enum lw_precision precision;    /* of the outputs; decides what is finite */
    enum lw_layout layout;
    enum lw_nan nan;
    bool taps_complex, output_complex;
    int n_filters;
    int64_t n_taps;                 /* M + D */
    int64_t halo;                   /* M - 1 + 2 D: of the block */
    int64_t count, n_channels;      /* of the block */
    int64_t every;                  /* D: of these outputs only every D-th is kept in the end */
    int64_t last;                   /* which output of the block is the last one of the axis that is kept */
    int64_t row, last_place;        /* outputs of a channel that there are of the block; which of them that is */
    bool has_first, has_last;       /* whether the axis begins with the block, and has its last output in it */
};

/** Overwrite these outputs, of all filters and channels; each is a sum in double, and NaN if it touches a sample that is not
 * finite. Launches nothing for a block without them. */
cudaError_t lw_cuda_ols_ends(const struct lw_ends *ends, cudaStream_t stream);

LW_C_END
