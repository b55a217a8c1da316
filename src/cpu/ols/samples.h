/* samples.h - samples into a lane, and outputs out of it. Called by cpu/ols/ols.c and cpu/ols/post.c. */
#pragma once

#include "cpu/ols/lane.h"

/** Convert a segment's samples into the lane's x, transposed where time is slow. */
void lw_cpu_segment_load(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment);

/** Count the block's own samples that are not finite, as many of them as the segment has outputs, where they are not the
 * segment's own. Overwrites x. */
void lw_cpu_segment_count(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment);

/** Make channel c's samples finite and of a magnitude that the transforms can take; zeros beyond the block. */
void lw_cpu_segment_condition(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane,
                              const struct lw_cpu_segment *segment, int c);

/** Undo that on channel c's outputs: scale them back, put NaN where samples were not finite, and drop the imaginary parts of
 * real outputs. */
void lw_cpu_segment_finish(const struct lw_cpu_ols *ols, const struct lw_cpu_ols_lane *lane,
                           const struct lw_cpu_segment *segment, int filter, int c, void *y);

/* Outputs of a segment on their way into the slot. */
struct lw_cpu_segment_outputs {
    int filter;
    int64_t first, count;       /* outputs on the axis of the block's output */
    void *y;                    /* of the tile's first channel */
    int64_t pitch;              /* reals to those of the next */
    bool squares;               /* to be squared in the stored type, float64 */
};

/** Convert outputs of a segment and put them into the slot. */
void lw_cpu_segment_store(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment,
                          const struct lw_cpu_segment_outputs *outputs);

/** Ask for the memory of outputs that are about to be computed, if they are stored and lie one after the other. */
void lw_cpu_segment_fetch(const struct lw_cpu_ols *ols, const struct lw_cpu_segment *segment, int filter);

/** Samples [first, first + count) of a channel of a slot's input as working samples. @param x  of the signal's width */
void lw_cpu_slot_load(const struct lw_cpu_ols *ols, const struct lw_slot *slot, int64_t channel, int64_t first,
                      int64_t count, void *x);

/* Where one output stands in a slot. */
struct lw_cpu_slot_place {
    int filter;
    int64_t channel, output;    /* of the block */
};

/** Convert one output, real or complex as the spec's, and put it into the slot. */
void lw_cpu_slot_store(const struct lw_cpu_ols *ols, const struct lw_slot *slot, const struct lw_cpu_slot_place *place,
                       const void *y, struct lw_loss *loss);
