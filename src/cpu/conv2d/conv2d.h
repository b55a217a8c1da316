/* conv2d.h - 2-D convolution on the CPU: the methods, the sizes that follow from a spec, and a tile in a thread's hands.
 *
 *     window of a tile      kernel_rows - 1 | hop_rows            the last hop_rows x hop_columns pixels of it are the
 *                           ---------------------------           places of the tile's outputs
 *     kernel_columns - 1    |              |
 *     hop_columns           |              | outputs
 *
 * There are three methods. DIRECT sums in the space domain, for small kernels in several rows at a time, SEPARABLE makes a pass
 * along the columns and one along the rows; both work on tiles of any height, since an output is the same chain of operations
 * wherever it stands. TILES transforms windows of `rows` x `columns` pixels that lie on a global grid: two real ones as one complex
 * (the kernel is real, so the product's inverse holds one in its real and one in its imaginary part), a complex one by itself.
 *
 * The files of this folder, each of which calls only those before it: choose (sizes), kernel (taps and spectra), pixels (those of a
 * tile's window), nan (those that are not finite), conv2d (a block, tile by tile). */
#pragma once

#include "cpu/crossings.h"
#include "cpu/lanes.h"
#include "cpu/op.h"

/* ---- sizes (choose.c) -------------------------------------------------------------------------------------------------- */

enum lw_cpu_conv2d_method { LW_CPU_CONV2D_DIRECT, LW_CPU_CONV2D_SEPARABLE, LW_CPU_CONV2D_TILES };

/* What follows from a spec; pixels unless said otherwise. */
struct lw_cpu_shape2d {
    const struct lw_cpu_kernels *kernels;
    enum lw_cpu_conv2d_method method;
    int width;                          /* reals of a working pixel */
    bool widens;                        /* real pixels in complex arithmetic */
    int64_t kernel_rows, kernel_columns;
    bool kernel_complex;
    bool has_stencil;                   /* DIRECT: several rows of outputs are made at a time */
    int64_t rows, columns;              /* of a tile's window */
    int64_t hop_rows, hop_columns;
    int64_t n_across;                   /* tiles side by side */
    int pair_rows, pair_columns;        /* tiles of one transform, one above and beside the other: 1 x 1, 1 x 2 or 2 x 1 */
    double cost;                        /* nanoseconds per output, modelled */

    /* DIRECT, SEPARABLE; in reals: from row to row of a window, and from a pixel to its copy turned by i, which complex taps need;
     * the same for the row between the two passes; from row to row of outputs, where several are made at a time */
    int64_t window_stride, window_turned, between_turned, outputs_stride;
};

/** Choose method and sizes. LW_ECONFIG if the algorithm asked for does not fit the kernel. */
int lw_cpu_shape2d(const struct lw_op_spec *spec, struct lw_cpu_shape2d *shape, struct lw_error *err);

/** Choose method and sizes in words, halo and grid: see op_plan of engine/engine.h. */
int lw_cpu_conv2d_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

/* ---- the kernel as the method wants it: separated or transformed once, in double precision (kernel.c) ------------------ */

/* Owned by whoever created it. */
struct lw_cpu_kernel2d {
    struct lw_cpu_terms first, second;  /* DIRECT: first; SEPARABLE: along the columns, then along the rows */
    void *spectrum;                     /* TILES: see lw_cpu_fft2d */
    int exponent;                       /* outputs are still to be multiplied by 2^exponent */
    double *sums;                       /* only to interpolate: [kernel_rows][kernel_columns + 1], sums along each row */
    double sum;
};

int64_t lw_cpu_kernel2d_bytes(const struct lw_cpu_shape2d *shape, enum lw_nan nan);
int lw_cpu_kernel2d_create(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, struct lw_cpu_kernel2d *out,
                           struct lw_error *err);
void lw_cpu_kernel2d_release(struct lw_cpu_kernel2d *kernel);

/* ---- an operation, and what one of its threads works in ---------------------------------------------------------------- */

/* A transform holds at most so many tiles, one beside or above the other. */
#define LW_CPU_CONV2D_PAIR 2

/* The pixels of a tile's window that are not finite, and what they do to the outputs. */
struct lw_cpu_flaws2d {
    uint8_t *map;                       /* [rows][columns] of the window: 1 at such a pixel; all 0 in rows without one */
    uint8_t *is_flawed;                 /* [rows] */
    uint8_t *touched;                   /* [hop_columns], of one row of outputs */
    int32_t *hits;                      /* [hop_columns]: flawed rows of the kernel's height above an output */
    double *weights;                    /* to interpolate: [hop_rows][hop_columns] */
    bool any;
};

/* What one thread works in; sizes in conv2d.c. */
struct lw_cpu_conv2d_lane {
    struct lw_cpu_lane base;
    char *x;                            /* DIRECT, SEPARABLE: the window, and its copy turned by i; TILES: the points */
    char *between;                      /* SEPARABLE: a row between the passes, and turned; TILES: a strip */
    char *row;                          /* TILES: a row of points */
    char *repeated_row;                 /* [columns] stored pixels, only where the boundary repeats pixels of the image */
    char *y[LW_CPU_CONV2D_PAIR];        /* a row of pixels of a tile, before and after, or the rows that are made at a time */
    struct lw_cpu_flaws2d flaws[LW_CPU_CONV2D_PAIR];
    struct lw_cpu_found found;
};

struct lw_cpu_conv2d {
    struct lw_cpu_lanes lanes;          /* of struct lw_cpu_conv2d_lane */
    struct lw_op_spec spec;
    struct lw_op_plan plan;
    struct lw_cpu_shape2d shape;
    struct lw_cpu_kernel2d kernel;
    struct lw_cpu_fft2d *fft;           /* NULL: no transforms */
    int n_tiles;                        /* of a transform; 1 without transforms */
    int series, crossings;              /* numbers of the products; -1: not wanted */
    double *noise;                      /* of a search: [n_channels of the whole data set] */
};

/* What is computed of a slot's block: all products, or the crossings of a part of it again. Rows are those of the block: negative
 * before it, at least its `count` after it. */
struct lw_cpu_work2d {
    const struct lw_cpu_conv2d *conv2d;
    int64_t begin, end;                 /* rows of outputs; the first is a tile's first, the last a tile's last or the image's */
    int64_t stored_begin, stored_end;   /* of these, those of the convolved image that are stored */
    int64_t crossings_begin, crossings_end;     /* likewise, those that may cross */
    int64_t channel, n_channels;        /* of the block */
    struct lw_cpu_table *table;         /* NULL: there is none */
};

/* A tile, n_rows x n_columns outputs of one image, in the lane of the thread that works on it. n_rows = 0: it lies beyond what is
 * computed of a block. */
struct lw_cpu_tile2d {
    const struct lw_cpu_conv2d *conv2d;
    const struct lw_cpu_work2d *work;
    const struct lw_slot *slot;
    struct lw_cpu_conv2d_lane *lane;
    char *y;                            /* of the lane, for this tile of a transform */
    struct lw_cpu_flaws2d *flaws;
    int exponent;                       /* pixels were divided by 2^exponent */
    int64_t channel;                    /* of the block */
    int64_t row, column;                /* its first output: of the block (negative: before its own), and of the image */
    int64_t n_rows, n_columns;
    int64_t window_row, window_column;  /* position in the image, continued beyond its ends, of the window's first pixel */
    int64_t needed_rows, needed_columns;    /* of the window, for these outputs */
};

/* ---- the pixels of a tile's window (pixels.c) --------------------------------------------------------------------------- */

/** Row `row` of the window as working pixels: those needed, then zeros up to shape->columns. */
void lw_cpu_window2d_load(const struct lw_cpu_tile2d *tile, int64_t row, void *reals);

/** The same row where it lies in the block, if it lies wholly in the image, no zeros follow and its pixels are of the working
 *  type. Flaws are not repaired.
 *  @return  NULL if it has to be loaded */
const void *lw_cpu_window2d_stored(const struct lw_cpu_tile2d *tile, int64_t row);

/* ---- those that are not finite (nan.c) ---------------------------------------------------------------------------------- */

/** @param memory  zeroed, aligned to LW_ALIGNMENT; NULL: only count it
 * @return  its bytes; 0: integers have no flaws */
int64_t lw_cpu_flaws2d_lay_out(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, void *memory,
                               struct lw_cpu_flaws2d *flaws);

/** Begin another tile. */
void lw_cpu_flaws2d_clear(const struct lw_cpu_tile2d *tile);

/** Replace what is not finite in a row of the window by zeros, and remember where it was. */
void lw_cpu_flaws2d_repair(const struct lw_cpu_tile2d *tile, int64_t row, void *reals);

/** Count the flaws that this tile and no other one counts, when the whole window has been looked at, and find out what they do to
 * the outputs. Those in the last rows and columns of the window count, as far as the rows are the block's own; the first tile of a
 * row also counts those left of it, in the image. The map is used up. */
void lw_cpu_flaws2d_settle(const struct lw_cpu_tile2d *tile);

/** Do that to row `row` of the outputs. Rows come in order, from 0 on; those that nobody needs are skipped: `outputs` is NULL. */
void lw_cpu_flaws2d_apply(const struct lw_cpu_tile2d *tile, int64_t row, void *outputs);
