/* nan.h - the pixels of a tile's window that are not finite, and what they do to the outputs. Called by
 * cpu/conv2d/conv2d.c. */
#pragma once

#include "cpu/conv2d/kernel.h"
#include "cpu/conv2d/pixels.h"
#include "cpu/lanes.h"

struct lw_cpu_flaws2d {
    uint8_t *map;                       /* [rows][columns] of the window: 1 at such a pixel; all 0 in rows without one */
    uint8_t *is_flawed;                 /* [rows] */
    uint8_t *touched;                   /* [hop_columns], of one row of outputs */
    int32_t *hits;                      /* [hop_columns]: flawed rows of the kernel's height above an output */
    double *weights;                    /* to interpolate: [hop_rows][hop_columns] */
    bool any;
};

int64_t lw_cpu_flaws2d_bytes(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape);
/** @param memory  lw_cpu_flaws2d_bytes of it, zeroed, aligned to LW_ALIGNMENT */
void lw_cpu_flaws2d_init(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, void *memory,
                         struct lw_cpu_flaws2d *flaws);

/** Begin another tile. */
void lw_cpu_flaws2d_clear(const struct lw_cpu_shape2d *shape, struct lw_cpu_flaws2d *flaws);

/** Replace what is not finite in a row of the window by zeros, and remember where it was. */
void lw_cpu_flaws2d_repair(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *tile, int64_t row, void *reals,
                           struct lw_cpu_flaws2d *flaws);

/** Count the flaws that this tile and no other one counts: those in the last rows and columns of its window, as far as the rows are
 * the block's own; the first tile of a row also counts those left of it, in the image. */
void lw_cpu_flaws2d_count(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *tile,
                          const struct lw_cpu_flaws2d *flaws, struct lw_cpu_tally *tally);

/** Find out what the flaws do to the outputs, when the whole window has been looked at. The map is used up. */
void lw_cpu_flaws2d_spread(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape,
                           const struct lw_cpu_kernel2d *kernel, const struct lw_cpu_tile2d *tile,
                           struct lw_cpu_flaws2d *flaws);

/** Do that to row `row` of the outputs. Rows come in order, from 0 on; those that nobody needs are skipped. */
void lw_cpu_flaws2d_apply(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape,
                          const struct lw_cpu_tile2d *tile, int64_t row, struct lw_cpu_flaws2d *flaws, void *outputs);
void lw_cpu_flaws2d_skip(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, int64_t row,
                         struct lw_cpu_flaws2d *flaws);
