/* choose.h - 2-D convolution on the CPU: the methods, and the sizes that follow from a spec.
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
 * The files of this folder, each of which calls only those before it: plan (sizes), kernel (taps and spectra), window (the
 * pixels of a tile), flaws (those that are not finite), lane (what a thread works in), conv2d (a block, tile by tile). */
#pragma once

#include "cpu/kernels/kernels.h"
#include "engine/engine.h"

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
};

/** Choose method and sizes. LW_ECONFIG if the algorithm asked for does not fit the kernel. */
int lw_cpu_shape2d(const struct lw_op_spec *spec, struct lw_cpu_shape2d *shape, struct lw_error *err);

/** Choose method and sizes in words, halo and grid: see op_plan of engine/engine.h. */
int lw_cpu_conv2d_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

/** Reals between the rows of a window that DIRECT and SEPARABLE work on, and from a pixel to its copy turned by i, which complex
 * taps need. */
int64_t lw_cpu_window2d_stride(const struct lw_cpu_shape2d *shape);
int64_t lw_cpu_window2d_turned(const struct lw_cpu_shape2d *shape);

/** The same for the row between the two passes. */
int64_t lw_cpu_between2d_turned(const struct lw_cpu_shape2d *shape);

/** Reals between the rows of outputs that DIRECT makes at a time. */
int64_t lw_cpu_outputs2d_stride(const struct lw_cpu_shape2d *shape);
