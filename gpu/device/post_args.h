/* post_args.h - arguments of the kernels that do --post: they make outputs from a filtered series (signal/post.h). C header.
 *
 * A derivative at rate 1 needs no arguments: it is folded into the filters' taps, and gpu/ols/ends.h makes the axis' two ends. */
#pragma once

#include "engine/engine.h"

LW_C_BEGIN

struct lw_post_args {
    enum lw_post_kind kind;         /* the operation, from lw_op_made */
    int rate;                       /* outputs per sample of the series */
    int before;                     /* samples of the series before an output's own sample that the output needs */
    bool is_real;                   /* outputs are real, even of complex samples */
    double least, most;             /* range of the powers that the stored type holds */
    const void *weights;            /* device, [LW_POST_PLACES][LW_POST_SPAN][rate] reals of the computing precision */
    unsigned char begin[LW_POST_PLACES][2], end[LW_POST_PLACES][2];     /* stencils, see struct lw_post_weights */
    int64_t n;                      /* samples of the series on the whole axis */
    int64_t first;                  /* axis index of the first sample of the block's series */
    unsigned *out_of_range;         /* device: set to 1 if a power is outside least .. most */
};

/** Return whether `post` needs kernels of its own; a derivative that is folded into the filters does not. */
bool lw_cuda_post_is_needed(struct lw_post post);

/** Fill all fields except weights, first and out_of_range, which the caller sets. */
void lw_cuda_post_args(const struct lw_op_spec *spec, struct lw_post_args *out);

/** Return the bytes of the weights, 0 at rate 1; write the weights to an array of this size on the host. */
size_t lw_cuda_post_weights_bytes(const struct lw_op_spec *spec);
void lw_cuda_post_weights(const struct lw_op_spec *spec, void *weights);

LW_C_END
