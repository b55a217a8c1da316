/* conv2d.h - 2-D convolution on the CPU: methods, sizes that follow from a spec, and the work of a thread on a tile.
 *
 *     window of a tile      kernel_rows - 1 | hop_rows            the last hop_rows x hop_columns pixels of the window
 *                           ---------------------------           are the places of the tile's outputs
 *     kernel_columns - 1    |              |
 *     hop_columns           |              | outputs
 *
 * There are four methods. DIRECT sums in the space domain, with small kernels several rows at a time. SEPARABLE makes a pass along
 * the columns and one along the rows. Both work on tiles of any height, since an output is the same chain of operations in any
 * tile. TILES transforms windows of `rows` x `columns` pixels on a global grid. Two real windows go as one complex one: the kernel
 * is real, so that the inverse of the product holds one in its real and one in its imaginary part. A complex window goes by itself.
 * Weights make two windows, of weighted pixels and of weights, which also go as one complex one. The spectra of the two are parted,
 * since one is multiplied by the kernel's and the other by that of the kernel's square.
 *
 * A bank of kernels shares the window, and with transforms its spectrum: each kernel has a product and an inverse of its own.
 * PADDED transforms the whole padded image, or bands of it: one window as wide as the image, on which all threads work in turns.
 *
 * Files of this folder, each of which calls only those before it: choose (sizes), kernel (taps and spectra), nan (flaws: pixels
 * that are not finite), window (a tile, its window loaded, repaired or weighed), outputs (rows of finished outputs), sums and
 * transforms (the methods), conv2d (a block, tile by tile). */
#pragma once

#include "cpu/crossings.h"
#include "cpu/lanes.h"
#include "cpu/op.h"

/* ---- sizes (choose.c) -------------------------------------------------------------------------------------------------- */

enum lw_cpu_conv2d_method { LW_CPU_CONV2D_DIRECT, LW_CPU_CONV2D_SEPARABLE, LW_CPU_CONV2D_TILES, LW_CPU_CONV2D_PADDED };

/* Sizes that follow from a spec, in pixels if not stated otherwise. */
struct lw_cpu_shape2d {
    const struct lw_cpu_kernels *kernels;
    enum lw_cpu_conv2d_method method;
    int n_kernels;
    int width;                          /* reals of a working pixel */
    bool widens;                        /* real pixels in complex arithmetic */
    bool has_weights;
    bool has_window;                    /* TILES: each lane keeps the window, since making it takes more than loading pixels */
    int64_t kernel_rows, kernel_columns;
    bool kernel_complex;
    bool has_stencil;                   /* DIRECT: several rows of outputs are made at a time */
    int64_t rows, columns;              /* size of a tile's window */
    int64_t hop_rows, hop_columns;
    int64_t n_across;                   /* tiles side by side */
    int pair_rows, pair_columns;        /* tiles of one transform, below and beside each other: 1 x 1, 1 x 2 or 2 x 1 */
    double cost;                        /* modelled nanoseconds per pixel, for all kernels */

    /* DIRECT, SEPARABLE, windows of TILES; in reals. window_stride: from row to row of a window. window_turned: from a pixel to
     * its copy times i, which complex taps need; between_turned: the same for the row between the two passes. outputs_stride:
     * from row to row of outputs, if several are made. */
    int64_t window_stride, window_turned, between_turned, outputs_stride;
    int64_t outputs;                    /* reals of a lane's outputs; with weights, rows A are followed by rows B this far on */
};

/** Choose method and sizes. LW_ECONFIG if the wanted algorithm does not fit the kernel. */
int lw_cpu_shape2d(const struct lw_op_spec *spec, struct lw_cpu_shape2d *shape, struct lw_error *err);

/** Return the real images that a window consists of: 2 with weights. */
static inline int lw_cpu_shape2d_planes(const struct lw_cpu_shape2d *shape) { return shape->has_weights ? 2 : 1; }

static inline bool lw_cpu_shape2d_has_fft(const struct lw_cpu_shape2d *shape) { return shape->method >= LW_CPU_CONV2D_TILES; }

/** Return the sizes of the transform. Only a padded image goes as real numbers: tiles go in pairs. */
static inline struct lw_cpu_fft2d lw_cpu_shape2d_fft(const struct lw_cpu_shape2d *shape)
{
    const bool is_real = shape->method == LW_CPU_CONV2D_PADDED && shape->width == 1;
    return shape->kernels->fft2d_shape(shape->rows, shape->columns, shape->has_weights ? LW_CPU_TWO_ROWS
                                                                    : is_real ? LW_CPU_REAL_ROWS : LW_CPU_COMPLEX_ROWS);
}

/** Fill the plan: method and sizes in words, halo and grid; see op_plan of engine/engine.h. */
int lw_cpu_conv2d_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

/* ---- the kernel in the form of the method, made once, in double precision (kernel.c) ----------------------------------- */

/* A kernel in the form of a method. The creator owns it. */
struct lw_cpu_kernel2d {
    struct lw_cpu_terms first, second;  /* DIRECT: first, with weights also the squares; SEPARABLE: along the columns, the rows */
    void *spectrum;                     /* TILES, PADDED: see lw_cpu_fft2d; with weights also the spectrum of the squares */
    int exponent;                       /* outputs must still be multiplied by 2^exponent */
    double *sums;                       /* only with INTERPOLATE: [kernel_rows][kernel_columns + 1], running sums of each row */
    double sum;
    double *taps;                       /* only with weights: divided by 2^exponent, in the order in which a window is read */
    double norm;                        /* root of their sum of squares */
};

int64_t lw_cpu_kernel2d_bytes(const struct lw_cpu_shape2d *shape, enum lw_nan nan);

/** Return the bytes that create needs beyond these, and frees again. */
int64_t lw_cpu_kernel2d_setup_bytes(const struct lw_cpu_shape2d *shape);
int lw_cpu_kernel2d_create(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, int number,
                           struct lw_cpu_kernel2d *out, struct lw_error *err);
void lw_cpu_kernel2d_release(struct lw_cpu_kernel2d *kernel);

/* ---- an operation, and the memory of one of its threads ---------------------------------------------------------------- */

/* Most tiles of a transform. */
#define LW_CPU_CONV2D_PAIR 2

/* Sums over a tile of pixels up to 2^this and kernels near 1 stay far from the ends of either precision's range. */
#define LW_CPU_MODERATE_EXPONENT 16

/* Tasks of each step of a padded image. */
#define LW_CPU_PADDED_TASKS 256

/* Flaws are pixels of a tile's window that are not finite. This holds their places and effects on the outputs. */
struct lw_cpu_flaws2d {
    uint8_t *map;                       /* [rows][columns] of the window: 1 at a flaw, 0 elsewhere */
    uint8_t *is_flawed;                 /* [rows] */
    uint8_t *touched;                   /* [hop_columns], one row of outputs; each thread has its own, of `hits`, too */
    int32_t *hits;                      /* [hop_columns]: flawed rows among the kernel_rows rows that an output needs */
    double *weights;                    /* only with INTERPOLATE: [hop_rows][hop_columns], of one kernel */
    bool any;
};

/* Work memory of one thread; conv2d.c has the sizes. */
struct lw_cpu_conv2d_lane {
    struct lw_cpu_lane base;
    char *x;                            /* DIRECT, SEPARABLE: the window, and its copy times i; TILES: the points; PADDED: shared */
    char *between;                      /* SEPARABLE: a row between the passes, and its copy times i; TILES, PADDED: a strip */
    char *row;                          /* TILES, PADDED: a row of points */
    char *repeated_row;                 /* [columns] stored pixels, only if the boundary repeats pixels of the image */
    float *sky;                         /* only with a background: [columns], and a row of the image if pixels are repeated */
    char *kept;                         /* several kernels: the spectrum of the window; PADDED: shared */
    char *window[LW_CPU_CONV2D_PAIR];   /* one per tile if shape.has_window: [planes][rows][window_stride] */
    double *strengths[LW_CPU_CONV2D_PAIR];      /* one per tile for the best kernel: [hop_rows][hop_columns]; PADDED: shared */
    char *y[LW_CPU_CONV2D_PAIR];        /* one per tile: a row of pixels, before and after, or the rows that are made at a time */
    struct lw_cpu_flaws2d flaws[LW_CPU_CONV2D_PAIR];
    struct lw_cpu_found found;
    double largest;                     /* PADDED: largest magnitude in the rows that this thread has inspected */
};

struct lw_cpu_conv2d {
    struct lw_cpu_lanes lanes;          /* lanes of struct lw_cpu_conv2d_lane */
    struct lw_op_spec spec;
    struct lw_op_plan plan;
    struct lw_cpu_shape2d shape;
    struct lw_cpu_kernel2d *kernels;    /* [n_kernels] */
    void *shared;                       /* PADDED: points, flaws of the window, and what several kernels need */
    struct lw_cpu_fft2d *fft;           /* NULL: no transforms */
    int n_tiles;                        /* tiles of a transform; 1 without transforms */
    int series, crossings, best_value, best_filter;     /* numbers of the products; -1: not wanted */
    double *noise;                      /* search: [n_channels of the whole data set][n_kernels] */
    struct lw_mesh background, sigma;   /* tables NULL: none */
    struct lw_cpu_conv2d *wide;         /* weights in single precision: makes windows with bright stars; else NULL */
};

/* Work on a slot's block: all products, or the crossings of a part of it again. Rows count from the block's first: negative before
 * the block, at least its `count` after it. */
struct lw_cpu_work2d {
    const struct lw_cpu_conv2d *conv2d;
    int64_t begin, end;                 /* rows of outputs: from a tile's first row to a tile's last or the image's */
    int64_t stored_begin, stored_end;   /* those of them that are stored, or compete for the best */
    int64_t first_kept, n_kept;         /* rows of the block's series: the first of them, and their number */
    int64_t crossings_begin, crossings_end;     /* those of them that may cross */
    int64_t channel, n_channels;        /* channels of the block */
    int kernel, end_kernel;             /* kernels [kernel, end_kernel) */
    struct lw_cpu_table *table;         /* NULL: no search */
};

/* A tile of n_rows x n_columns outputs of one image, in its thread's lane. n_rows = 0: it lies beyond the work on the block. */
struct lw_cpu_tile2d {
    const struct lw_cpu_conv2d *conv2d;
    const struct lw_cpu_work2d *work;
    const struct lw_slot *slot;
    struct lw_cpu_conv2d_lane *lane;
    char *y, *window;                   /* the lane's buffers for this tile of a transform */
    double *strengths;
    struct lw_cpu_flaws2d *flaws;
    int kernel;                         /* number of the kernel whose outputs are made */
    int exponent;                       /* pixels were divided by 2^exponent */
    int unit;                           /* weights: sigmas were multiplied by 2^unit, and pixels, too */
    const struct lw_cpu_tile2d *narrow; /* the tile in single precision that this one computes in double; NULL: none */
    bool is_uneven;                     /* weights: many are faint beside the largest */
    double rms[2];                      /* weights: rms value of the window's weighted pixels, and of its weights */
    int64_t channel;                    /* channel of the block */
    int64_t row, column;                /* its first output: row of the block (negative: before it), column of the image */
    int64_t n_rows, n_columns;
    int64_t window_row, window_column;  /* position in the image, continued beyond its ends, of the window's first pixel */
    int64_t needed_rows, needed_columns;    /* rows and columns of the window that these outputs need */
};

static inline void *lw_cpu_real2d(const struct lw_cpu_conv2d *conv2d, void *buffer, int64_t real)
{
    return (char *)buffer + (size_t)real * conv2d->shape.kernels->real_bytes;
}

/** Return row `row` of the tile's window. @param plane  0: pixels; 1: weights */
static inline void *lw_cpu_window2d_row(const struct lw_cpu_tile2d *tile, int plane, int64_t row)
{
    const struct lw_cpu_shape2d *const shape = &tile->conv2d->shape;
    return lw_cpu_real2d(tile->conv2d, tile->window, (plane * shape->rows + row) * shape->window_stride);
}

/** Return the row B that belongs to a row A of outputs. */
static inline void *lw_cpu_row2d_b(const struct lw_cpu_conv2d *conv2d, const void *outputs)
{
    return lw_cpu_real2d(conv2d, (void *)outputs, conv2d->shape.outputs);
}

/* ---- flaws (nan.c) ------------------------------------------------------------------------------------------------------ */

/** Take memory for flaws, zeroed, unless pixels are integers, which have none; lay_out_own: for the parts that each thread has for
 * itself, `touched` and `hits`. */
void lw_cpu_flaws2d_lay_out(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, struct lw_arena *arena,
                            struct lw_cpu_flaws2d *flaws);
void lw_cpu_flaws2d_lay_out_own(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, struct lw_arena *arena,
                                struct lw_cpu_flaws2d *flaws);

/** Clear the flaws for the next tile. */
void lw_cpu_flaws2d_clear(const struct lw_cpu_tile2d *tile);

/** Replace pixels of a row of the window that are not finite by zero, and mark them. */
void lw_cpu_flaws2d_repair(const struct lw_cpu_tile2d *tile, int64_t row, void *reals);

/** Count the flaws that this tile counts, and find the outputs that they touch, once the whole window has been inspected. A tile
 * counts those in the last n_rows rows and n_columns columns of the window, if the rows are the block's own. The first tile of a
 * row also counts those left of these, in the image. The map is used up, but with INTERPOLATE. */
void lw_cpu_flaws2d_settle(const struct lw_cpu_tile2d *tile);

/** Find the weights of the outputs of the tile's kernel, with INTERPOLATE. */
void lw_cpu_flaws2d_take_kernel(const struct lw_cpu_tile2d *tile);

/** Count the flaws of a window with weights, and find the outputs that no pixel with a weight makes.
 * @param weights  the window's weights; NULL: there are no such outputs */
void lw_cpu_flaws2d_settle_weights(const struct lw_cpu_tile2d *tile, const char *weights);

/** Begin to apply the effect from row `row` of the outputs on. */
void lw_cpu_flaws2d_begin(const struct lw_cpu_tile2d *tile, int64_t row);

/** Apply the effect to row `row` of the outputs. Rows come in order from that one on; for a row that nobody needs, `outputs` is
 * NULL. */
void lw_cpu_flaws2d_apply(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs);

/* ---- a tile and its window (window.c) ----------------------------------------------------------------------------------- */

/** Return tile `which` of a transform, number (down, across) in the image. @param channel  counted from the work's first */
struct lw_cpu_tile2d lw_cpu_tile2d_of(const struct lw_cpu_work2d *work, const struct lw_slot *slot, struct lw_cpu_conv2d_lane *lane,
                                      int which, int64_t channel, int64_t down, int64_t across);

/** Load row `row` of the window as working pixels: the needed ones, then zeros up to shape->columns. */
void lw_cpu_window2d_load(const struct lw_cpu_tile2d *tile, int64_t row, void *reals);

/** Return the same row as it is stored in the block, if it lies wholly in the image, needs no zeros and has pixels of the working
 * type. Flaws are not repaired.
 * @return  NULL if the row must be loaded */
const void *lw_cpu_window2d_stored(const struct lw_cpu_tile2d *tile, int64_t row);

/** Repair the flaws in a row of the window. Integers have none, and their magnitude is not needed.
 * @return  the largest magnitude in the row */
double lw_cpu_window2d_inspect(const struct lw_cpu_tile2d *tile, int64_t row, void *reals);

/** Load a window of pixels and weights, and weigh the pixels. The weights are scaled to a largest one near 1. */
void lw_cpu_window2d_weigh(struct lw_cpu_tile2d *tile);

/* ---- outputs of a row (outputs.c) ---------------------------------------------------------------------------------------- */

/** Return whether a row of a tile's outputs is stored, searched, or competes for the best. */
bool lw_cpu_outputs2d_are_needed(const struct lw_cpu_tile2d *tile, int64_t row);

/** Return whether errors of transforms, or faint weights, would leave many outputs to sums. */
bool lw_cpu_outputs2d_are_bright(const struct lw_cpu_tile2d *tile);

/** Prefetch the memory that a row is stored in, if it is. */
void lw_cpu_outputs2d_fetch(const struct lw_cpu_tile2d *tile, int64_t row);

/** Complete a row of outputs, search it for crossings and the best kernel, and store it; or skip it, if nobody needs it. */
void lw_cpu_outputs2d_finish(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs);
void lw_cpu_outputs2d_finish_or_skip(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs);

/* ---- the methods (sums.c, transforms.c) ---------------------------------------------------------------------------------- */

/** Compute a tile in the space domain: DIRECT, SEPARABLE. */
void lw_cpu_conv2d_sum(struct lw_cpu_tile2d *tile);

/** Compute the tiles of a transform: TILES. */
void lw_cpu_conv2d_transform(struct lw_cpu_tile2d *tiles);

/** Compute all images of the work: PADDED. */
void lw_cpu_conv2d_padded(const struct lw_cpu_work2d *work, const struct lw_slot *slot);
