/* window.h - the pixels of a piece's window, and those among them that are not finite. */
#ifndef LW_CPU_CONV2D_WINDOW_H
#define LW_CPU_CONV2D_WINDOW_H

#include "cpu/conv2d/conv2d.h"

/* A piece of a block: n_rows x n_columns outputs of one image. n_rows = 0: it lies beyond the block. */
struct lw_cpu_tile2d {
    const struct lw_slot *slot;
    int64_t channel;                    /* of the block */
    int64_t row, column;                /* its first output: of the block, and of the image */
    int64_t n_rows, n_columns;
};

/* What reading a window takes. */
struct lw_cpu_window2d {
    const struct lw_op_spec *spec;
    const struct lw_cpu_shape2d *shape;
    char *staging;                      /* [columns] stored pixels, only where the boundary repeats pixels of the image */
};

bool lw_cpu_window2d_needs_staging(const struct lw_op_spec *spec);

/** Rows and columns of the window that the piece's outputs need. */
int64_t lw_cpu_needed_rows(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *piece);
int64_t lw_cpu_needed_columns(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *piece);

/** Row `row` of the window as working pixels: those needed, then zeros up to shape->columns. */
void lw_cpu_window2d_load(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *piece, int64_t row, void *reals);

/* Pixels that are not finite, and what they do to the outputs. */
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

/** Begin another piece. */
void lw_cpu_flaws2d_clear(const struct lw_cpu_shape2d *shape, struct lw_cpu_flaws2d *flaws);

/** Replace what is not finite in a row of the window by zeros, and remember where it was. */
void lw_cpu_flaws2d_repair(const struct lw_cpu_shape2d *shape, const struct lw_cpu_tile2d *piece, int64_t row, void *reals,
                           struct lw_cpu_flaws2d *flaws);

/* A block's own pixels that were not finite; the first in the order of rows, channels, columns. */
struct lw_cpu_tally2d {
    int64_t n, row, channel, column;
};

/** Count those of the piece that no other piece counts: its window's last rows and columns, and what is left of the image. */
void lw_cpu_flaws2d_count(const struct lw_cpu_window2d *window, const struct lw_cpu_tile2d *piece,
                          const struct lw_cpu_flaws2d *flaws, struct lw_cpu_tally2d *tally);
void lw_cpu_tally2d_add(struct lw_cpu_tally2d *to, struct lw_cpu_tally2d more);

/** When the window is complete: find out what the flaws do. The map is used up. */
void lw_cpu_flaws2d_spread(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape,
                           const struct lw_cpu_kernel2d *kernel, const struct lw_cpu_tile2d *piece,
                           struct lw_cpu_flaws2d *flaws);

/** Do it to row `row` of the outputs; rows in order, from 0 on. */
void lw_cpu_flaws2d_apply(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape,
                          const struct lw_cpu_tile2d *piece, int64_t row, struct lw_cpu_flaws2d *flaws, void *outputs);

#endif
