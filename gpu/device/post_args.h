/* post_args.h - arguments of the kernels that make outputs of a filtered series, see signal/post.h. C.
 *
 * A derivative at rate 1 has no arguments here: it is folded into the filters' taps, and gpu/ols/ends.h makes the axis' ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/linkage.h"
#include "engine/engine.h"

LW_C_BEGIN

struct lw_post_args {
    enum lw_post_kind kind;         /* the operation, from lw_op_made */
    int rate;
    int before;                     /* samples that an output needs ahead of its own */
    bool is_real;                   /* outputs are real, even those of complex samples */
    double least, most;             /* powers beyond these are lost in the stored type */
    const void *weights;            /* device, [LW_POST_PLACES][LW_POST_SPAN][rate] reals of the computing precision */
    unsigned char begin[LW_POST_PLACES][2], end[LW_POST_PLACES][2];     /* stencils, see struct lw_post_weights */
    int64_t n;                      /* samples of the series on the axis */
    int64_t first;                  /* axis index of the block's first sample */
    unsigned *out_of_range;         /* device: set to 1 where a power is lost */
};

/** Return whether the outputs need kernels of their own; a derivative that is folded into the filters does not. */
bool lw_cuda_post_is_needed(struct lw_post post);

/** Fill all fields except weights, first and out_of_range, which the caller sets. */
void lw_cuda_post_args(const struct lw_op_spec *spec, struct lw_post_args *out);

/** Return the bytes of the weights; write the weights to host memory. */
size_t lw_cuda_post_weights_bytes(const struct lw_op_spec *spec);
void lw_cuda_post_weights(const struct lw_op_spec *spec, void *weights);

LW_C_END
