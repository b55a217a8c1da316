/* post_args.h - what the kernels need to know to make outputs of a filtered series, see signal/post.h. C.
 *
 * A derivative at rate 1 is not among it: it is in the filters' taps, and gpu/ols/ends.h makes the axis' ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/linkage.h"
#include "engine/engine.h"

LW_C_BEGIN

struct lw_post_args {
    enum lw_post_kind kind;         /* lw_op_made */
    int rate;
    int before;                     /* reach */
    bool is_real;                   /* makes reals, of complex samples too */
    double least, most;             /* powers beyond these are lost in the stored type */
    const void *weights;            /* device, [LW_POST_PLACES][LW_POST_SPAN][rate] reals of the computing precision */
    unsigned char begin[LW_POST_PLACES][2], end[LW_POST_PLACES][2];     /* stencils, see struct lw_post_weights */
    int64_t n;                      /* samples of the series on the axis */
    int64_t first;                  /* of the block */
    unsigned *out_of_range;         /* device: set to 1 where a power is lost */
};

/** Whether kernels of their own are needed: for all but a derivative that is folded into the filters. */
bool lw_cuda_post_is_needed(struct lw_post post);

/** Everything but weights, first and out_of_range, which are the caller's. */
void lw_cuda_post_args(const struct lw_op_spec *spec, struct lw_post_args *out);

/** Bytes of the weights, and the weights themselves. @param weights  host */
size_t lw_cuda_post_weights_bytes(const struct lw_op_spec *spec);
void lw_cuda_post_weights(const struct lw_op_spec *spec, void *weights);

LW_C_END
