/* post.h - what signal/post.h makes of a segment's sums. Called by cpu/ols/ols.c. */
#pragma once

#include "cpu/ols/lane.h"
#include "cpu/ols/samples.h"

struct lw_cpu_post;

/** Bytes of lw_cpu_post_create; 0: nothing is to be made of the series. */
int64_t lw_cpu_post_bytes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape);

/** *out stays NULL where nothing is to be made of the series. */
int lw_cpu_post_create(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, struct lw_cpu_post **out,
                       struct lw_error *err);
void lw_cpu_post_destroy(struct lw_cpu_post *post);         /* NULL is legal */

/** Make the outputs of a filter of a segment and put them into the slot.
 * @param outputs  the series, thinned out if that is asked for; where it is interpolated, as the sums are. Overwritten */
void lw_cpu_segment_post(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment,
                         struct lw_cpu_segment_outputs *outputs);

/** Overwrite the first and the last output of the axis, if the block has them, where a derivative is folded in. What the
 * output's type loses of them counts in the lane. */
void lw_cpu_post_ends(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_slot *slot);
