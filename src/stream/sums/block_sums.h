/* block_sums.h - checksums of an array, one for each grid block: a unit of outputs on the axis, a unit of channels, one plane.
 * An element is a stored output, of `width` numbers. The block of a rank (struct lw_block) holds many grid blocks.
 *
 *     array   time fast  [plane][channel][element x width]      sums   [plane][channel block][block]
 *             time slow  [plane][element][channel]                     [plane][block][channel block]
 *
 * The hash covers the elements of a grid block as they are stored, channel after channel, each along the axis: a sum depends on the
 * data alone. Grid block k of the axis begins with element ceil(k unit / every) rate, and ends where grid block k + 1 begins. */
#pragma once

#include "base/pool.h"
#include "engine/engine.h"

struct lw_sums_shape {
    enum lw_layout layout;
    int64_t n_planes, n_channels;
    int64_t n_outputs;          /* outputs on the axis, before thinning (every) or interpolation (rate) */
    int64_t unit, channel_unit; /* outputs and channels of a grid block */
    int rate;                   /* elements per `every` outputs */
    int64_t every;              /* outputs per `rate` elements */
    int64_t width;              /* numbers of an element */
    int64_t value_bytes;        /* bytes of a number; a complex number counts as one */
};

/* Work space in which each thread gathers elements, bytes. */
#define LW_SUMS_GATHER_BYTES ((int64_t)1 << 20)

/** Return the number of grid blocks, on the axis or of channels, of a part of the array that begins at a unit. */
int64_t lw_sums_blocks(const struct lw_sums_shape *shape, int64_t n_outputs);
int64_t lw_sums_channel_blocks(const struct lw_sums_shape *shape, int64_t n_channels);

/** Compute the sums of a rank's block of the array.
 * @param block, data  the block, which begins at units, and its elements, which are contiguous
 * @param gather  work space, [threads of the pool, or 1] x LW_SUMS_GATHER_BYTES; NULL if time varies fastest
 * @param pool    NULL: the calling thread does all
 * @param sums    set, [plane][..][..] as above, for the grid blocks of this block */
void lw_sums_of_block(const struct lw_sums_shape *shape, const struct lw_block *block, const void *data, char *gather,
                      struct lw_pool *pool, uint64_t *sums);
