/* block_sums.h - checksums of an array, one for each grid block: a unit of outputs on the axis, a unit of channels, one plane.
 *
 *     array   time fast  [plane][channel][element x width]      sums   [plane][channel block][block]
 *             time slow  [plane][element][channel]                     [plane][block][channel block]
 *
 * The hash covers the elements of a block as they are stored, channel after channel, each along the axis: a sum depends only on
 * the data. Block k of the axis begins with element ceil(k unit / every) rate and ends where block k + 1 begins. */
#pragma once

#include "base/pool.h"
#include "engine/engine.h"

struct lw_sums_shape {
    enum lw_layout layout;
    int64_t n_planes, n_channels;
    int64_t n_outputs;          /* outputs on the axis, before thinning or interpolation */
    int64_t unit, channel_unit; /* outputs and channels of a block */
    int rate;                   /* elements per `every` outputs */
    int64_t every;              /* outputs per `rate` elements */
    int64_t width;              /* numbers of an element */
    int64_t value_bytes;
};

/* Bytes in which each thread gathers elements if channels vary fastest. */
#define LW_SUMS_GATHER_BYTES ((int64_t)1 << 20)

/** Return the blocks on the axis, or of channels, that a part of the array touches; the part begins at a unit. */
int64_t lw_sums_blocks(const struct lw_sums_shape *shape, int64_t n_outputs);
int64_t lw_sums_channel_blocks(const struct lw_sums_shape *shape, int64_t n_channels);

/** Compute the sums of a block of the array, stored contiguously in memory.
 * @param block   cut at units
 * @param gather  work space, [threads of the pool, or 1] x LW_SUMS_GATHER_BYTES; NULL if time varies fastest
 * @param pool    NULL: the calling thread does all
 * @param sums    set, in the order above for this block alone */
void lw_sums_of_block(const struct lw_sums_shape *shape, const struct lw_block *block, const void *data, char *gather,
                      struct lw_pool *pool, uint64_t *sums);
