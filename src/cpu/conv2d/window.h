/* window.h - the pixels of a piece's window, and those among them that are not finite. */
#ifndef LW_CPU_CONV2D_WINDOW_H
#define LW_CPU_CONV2D_WINDOW_H

#include "cpu/conv2d/conv2d.h"

/* A piece of a block: n_rows x n_columns outputs of one image. n_rows = 0: it lies beyond the block. */
struct lw_piece2d_cpu {
    const struct lw_slot *slot;
    int64_t channel;                    /* of the block */
    int64_t row, column;                /* its first output: of the block, and of the image */
    int64_t n_rows, n_columns;
};

/* What reading a window takes. */
struct lw_window2d_cpu {
    const struct lw_op_spec *spec;
    const struct lw_shape2d_cpu *shape;
    char *staging;                      /* [columns] stored pixels, only where the boundary repeats pixels of the image */
};

bool lw_window2d_needs_staging_cpu(const struct lw_op_spec *spec);

/** Rows and columns of the window that the piece's outputs need. */
int64_t lw_needed_rows_cpu(const struct lw_shape2d_cpu *shape, const struct lw_piece2d_cpu *piece);
int64_t lw_needed_columns_cpu(const struct lw_shape2d_cpu *shape, const struct lw_piece2d_cpu *piece);

/** Row `row` of the window as working pixels: those needed, then zeros up to shape->columns. */
void lw_window2d_load_cpu(const struct lw_window2d_cpu *window, const struct lw_piece2d_cpu *piece, int64_t row, void *reals);

/* Pixels that are not finite, and what they do to the outputs. */
struct lw_flaws2d_cpu {
    uint8_t *map;                       /* [rows][columns] of the window: 1 at such a pixel; all 0 in rows without one */
    uint8_t *is_flawed;                 /* [rows] */
    uint8_t *touched;                   /* [hop_columns], of one row of outputs */
    int32_t *hits;                      /* [hop_columns]: flawed rows of the kernel's height above an output */
    double *weights;                    /* to interpolate: [hop_rows][hop_columns] */
    bool any;
};

int64_t lw_flaws2d_bytes_cpu(const struct lw_op_spec *spec, const struct lw_shape2d_cpu *shape);
/** @param memory  lw_flaws2d_bytes_cpu of it, zeroed, aligned to LW_ALIGNMENT */
void lw_flaws2d_init_cpu(const struct lw_op_spec *spec, const struct lw_shape2d_cpu *shape, void *memory,
                         struct lw_flaws2d_cpu *flaws);

/** Begin another piece. */
void lw_flaws2d_clear_cpu(const struct lw_shape2d_cpu *shape, struct lw_flaws2d_cpu *flaws);

/** Replace what is not finite in a row of the window by zeros, and remember where it was. */
void lw_flaws2d_repair_cpu(const struct lw_shape2d_cpu *shape, const struct lw_piece2d_cpu *piece, int64_t row, void *reals,
                           struct lw_flaws2d_cpu *flaws);

/* A block's own pixels that were not finite; the first in the order of rows, channels, columns. */
struct lw_tally2d_cpu {
    int64_t n, row, channel, column;
};

/** Count those of the piece that no other piece counts: its window's last rows and columns, and what is left of the image. */
void lw_flaws2d_count_cpu(const struct lw_window2d_cpu *window, const struct lw_piece2d_cpu *piece,
                          const struct lw_flaws2d_cpu *flaws, struct lw_tally2d_cpu *tally);
void lw_tally2d_add_cpu(struct lw_tally2d_cpu *to, struct lw_tally2d_cpu more);

/** When the window is complete: find out what the flaws do. The map is used up. */
void lw_flaws2d_spread_cpu(const struct lw_op_spec *spec, const struct lw_shape2d_cpu *shape,
                           const struct lw_kernel2d_cpu *kernel, const struct lw_piece2d_cpu *piece,
                           struct lw_flaws2d_cpu *flaws);

/** Do it to row `row` of the outputs; rows in order, from 0 on. */
void lw_flaws2d_apply_cpu(const struct lw_op_spec *spec, const struct lw_shape2d_cpu *shape,
                          const struct lw_piece2d_cpu *piece, int64_t row, struct lw_flaws2d_cpu *flaws, void *outputs);

#endif
