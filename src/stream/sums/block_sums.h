/* block_sums.h - checksums of an array, one for each grid block: a unit of outputs on the axis, times a unit of channels, times a
 * plane.
 *
 *     array   time fast  [plane][channel][element x width]      sums   [plane][channel block][block]
 *             time slow  [plane][element][channel]                     [plane][block][channel block]
 *
 * What is hashed are the elements of a block as they are stored, channel after channel, each along the axis: so a sum depends on
 * nothing but the data. Block k of the axis has the elements from ceil(k unit / every) rate on, up to those of block k + 1. */
#pragma once

#include "base/pool.h"
#include "engine/engine.h"

struct lw_sums_shape {
    enum lw_layout layout;
    int64_t n_planes, n_channels;
    int64_t n_outputs;          /* on the axis, before anything is made of them */
    int64_t unit, channel_unit; /* of a block */
    int rate;                   /* elements of an output; or one of */
    int64_t every;              /* so many outputs */
    int64_t width;              /* values of an element */
    int64_t value_bytes;
};

/* Memory that each thread gathers elements in, where channels vary fastest. */
#define LW_SUMS_GATHER_BYTES ((int64_t)1 << 20)

/** Blocks on the axis and of channels that a piece of work touches, which begins at a unit. */
int64_t lw_sums_blocks(const struct lw_sums_shape *shape, int64_t n_outputs);
int64_t lw_sums_channel_blocks(const struct lw_sums_shape *shape, int64_t n_channels);

/** Compute the sums of a block of the array, which lies packed in memory.
 * @param block   cut at units
 * @param gather  [threads of the pool, or 1] x LW_SUMS_GATHER_BYTES; NULL where time is fast
 * @param pool    NULL: the caller's thread does it
 * @param sums    returned, as above for the block alone */
void lw_sums_of_block(const struct lw_sums_shape *shape, const struct lw_block *block, const void *data, char *gather,
                      struct lw_pool *pool, uint64_t *sums);
