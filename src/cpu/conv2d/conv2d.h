/* conv2d.h - 2-D convolution on the CPU.
 *
 *     window of a piece     kernel_rows - 1 | hop_rows            the last hop_rows x hop_columns pixels of it are the
 *                           ---------------------------           places of the piece's outputs
 *     kernel_columns - 1    |              |
 *     hop_columns           |              | outputs
 *
 * Three methods. DIRECT sums in the space domain, SEPARABLE makes a pass along the columns and one along the rows; both work
 * on pieces of any height, since an output is the same chain of operations wherever it stands. TILES transforms windows of
 * `rows` x `columns` pixels that lie on a global grid: two real ones as one complex (the kernel is real, so the product's
 * inverse holds one in its real and one in its imaginary part), a complex one by itself. */
#ifndef LW_CPU_CONV2D_CONV2D_H
#define LW_CPU_CONV2D_CONV2D_H

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
    int64_t rows, columns;              /* of a piece's window */
    int64_t hop_rows, hop_columns;
    int64_t n_across;                   /* pieces side by side */
    int pair_rows, pair_columns;        /* pieces of one transform, one above and beside the other: 1 x 1, 1 x 2 or 2 x 1 */
    double cost;                        /* nanoseconds per output, modelled */
};

/** Choose method and sizes. LW_ECONFIG if the algorithm asked for does not fit the kernel. */
int lw_cpu_shape2d(const struct lw_op_spec *spec, struct lw_cpu_shape2d *shape, struct lw_error *err);

/** Resolve the spec: see op_plan of engine.h. */
int lw_cpu_conv2d_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err);

/* The kernel as the method wants it; owned by whoever created it. */
struct lw_cpu_kernel2d {
    struct lw_cpu_terms first, second;  /* SUM: first; PASSES: along the columns, then along the rows */
    void *spectrum;                     /* TILES: see lw_cpu_fft2d */
    int exponent;                       /* outputs are still to be multiplied by 2^exponent */
    double *sums;                       /* only to interpolate: [kernel_rows][kernel_columns + 1], sums along each row */
    double sum;
};

int64_t lw_cpu_kernel2d_bytes(const struct lw_cpu_shape2d *shape, enum lw_nan nan);
int lw_cpu_kernel2d_create(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, struct lw_cpu_kernel2d *out,
                           struct lw_error *err);
void lw_cpu_kernel2d_release(struct lw_cpu_kernel2d *kernel);

/** Reals between the rows of a window that SUM and PASSES work on, and from a pixel to its copy turned by i, which complex
 * taps need. */
int64_t lw_cpu_window2d_stride(const struct lw_cpu_shape2d *shape);
int64_t lw_cpu_window2d_turned(const struct lw_cpu_shape2d *shape);

/** The same for the row between the two passes. */
int64_t lw_cpu_between2d_turned(const struct lw_cpu_shape2d *shape);

struct lw_cpu_conv2d;

/** Bytes of lw_cpu_conv2d_create. */
int64_t lw_cpu_conv2d_bytes(const struct lw_op_spec *spec, int64_t count, int64_t n_channels, int n_threads);
int lw_cpu_conv2d_create(const struct lw_op_spec *spec, int64_t count, int64_t n_channels, int n_threads,
                         struct lw_cpu_conv2d **out, struct lw_error *err);
void lw_cpu_conv2d_destroy(struct lw_cpu_conv2d *conv2d);   /* NULL is legal */

/** Compute slot->products[0].data from slot->input for slot->block, and set slot->n_not_finite and the like. Starts OpenMP threads
 * of the calling thread's own. */
void lw_cpu_conv2d_run(struct lw_cpu_conv2d *conv2d, struct lw_slot *slot);

/** Start those threads, so that the first block need not. */
void lw_cpu_conv2d_warm_up(struct lw_cpu_conv2d *conv2d);

#endif
