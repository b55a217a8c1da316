/* pixels.h - the pixels of a tile's window. Called by cpu/conv2d/nan.c and cpu/conv2d/conv2d.c. */
#pragma once

#include "cpu/conv2d/choose.h"

struct lw_cpu_work2d;

/* A tile: n_rows x n_columns outputs of one image. n_rows = 0: it lies beyond what is computed of a block. */
struct lw_cpu_tile2d {
    const struct lw_cpu_work2d *work;   /* see cpu/conv2d/lane.h */
    const struct lw_slot *slot;
    int64_t channel;                    /* of the block */
    int64_t row, column;                /* its first output: of the block (negative: before its own), and of the image */
    int64_t n_rows, n_columns;
};

/* What reading a window takes. */
struct lw_cpu_window2d {
    const struct lw_op_spec *spec;
    const struct lw_op_plan *plan;
    const struct lw_cpu_shape2d *shape;
    char *repeated_row;                 /* [columns] stored pixels, only where the boundary repeats pixels of the image */
};

bool lw_cpu_window2d_repeats(const struct lw_op_spec *spec);

/** Rows and columns of the window that the tile's outputs need. */
int64_t lw_cpu_needed_rows(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *tile);
int64_t lw_cpu_needed_columns(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *tile);

/** Row `row` of the window as working pixels: those needed, then zeros up to shape->columns. */
void lw_cpu_window2d_load(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *tile, int64_t row, void *reals);

/** The same row where it lies in the block, if it lies wholly in the image, no zeros follow and its pixels are of the working
 *  type. Flaws are not repaired.
 *  @return  NULL if it has to be loaded */
const void *lw_cpu_window2d_stored(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *tile, int64_t row);

/** Position in the image, continued beyond its ends, of the window's first column. */
int64_t lw_cpu_window2d_column(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *tile);
