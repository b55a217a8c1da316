/* prepared.h - how a convolution of images is done on the CUDA engine, the kernel on the device as that wants it, and the
 * convolution with it. */
#pragma once

#include "gpu/conv2d/launch.h"
#include "gpu/host/device.h"

LW_C_BEGIN

/* ---- which kernels and tile a convolution gets (choose.c) ---------------------------------------------------------------- */

enum lw_conv2d_method {
    LW_CONV2D_UNROLLED,         /* direct sums with small kernels */
    LW_CONV2D_DIRECT,           /* with any */
    LW_CONV2D_PRODUCT,          /* sums with small separable kernels */
    LW_CONV2D_PASSES,           /* with any of them: along the columns, then along the rows */
    LW_CONV2D_TILES,            /* in shared memory */
    LW_CONV2D_BANDS,            /* three passes */
};

struct lw_conv2d_plan {
    enum lw_conv2d_method method;
    int side;                   /* UNROLLED, PRODUCT: of the kernel, padded */
    struct lw_conv2d_grid grid; /* TILES, BANDS */
    int64_t batch;              /* BANDS: transforms in the work area */
    double seconds;             /* modelled, per output pixel */
};

/** Choose by spec and architecture alone. LW_ECONFIG if the algorithm asked for does not fit the kernel. */
int lw_conv2d_choose(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                     struct lw_error *err);

/** Whether it is by transforms, which cut the image; whether by tiles that have a multiprocessor for themselves. */
static inline bool lw_conv2d_has_transforms(const struct lw_conv2d_plan *plan)
{
    return plan->method == LW_CONV2D_TILES || plan->method == LW_CONV2D_BANDS;
}

bool lw_conv2d_is_large(const struct lw_conv2d_plan *plan);

/** Move the grid of such tiles: where an image's rows begin at multiples of 16 bytes, so do the rows of their windows; where rows
 * of outputs begin at multiples of 32 bytes, so do the rows of their outputs. The kernel gets `delay_columns` of zeros before its
 * first column, by which outputs come later in the tile, and a window begins `spare_columns` before what its first output needs. */
void lw_conv2d_align(const struct lw_conv2d_spec *spec, struct lw_conv2d_grid *grid);

/** The plan in words, for `lapwing plan` and the log. */
void lw_conv2d_describe(const struct lw_conv2d_plan *plan, const struct lw_op_spec *spec, char *text, size_t size);

/* ---- the kernel on the device (prepared.c) -------------------------------------------------------------------------------- */

struct lw_conv2d_prepared {
    struct lw_op_spec spec;         /* its kernel is gone */
    struct lw_conv2d_plan plan;
    int exponent;                   /* taps on the device, and spectra, were divided by 2^exponent */
    float unrolled[LW_CONV2D_MOST_SIDE * LW_CONV2D_MOST_SIDE];  /* UNROLLED: [side][side]; PRODUCT: the column, then the row */

    /* device, borrowed */
    void *bank;                     /* taps, a column, or spectrum and tables, as the method wants them */
    void *row;                      /* PASSES: the row's taps */
    void *work;                     /* BANDS: one area for all blocks */
    double *sums, sum;              /* to interpolate, see struct lw_conv2d_flaws */
};

/** The type that pixels are computed in. */
static inline enum lw_scalar lw_conv2d_computed_scalar(const struct lw_op_spec *spec)
{
    return spec->precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
}

/** Device bytes of what is kept, and of what only lw_conv2d_prepare needs. */
int64_t lw_conv2d_prepared_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan);
int64_t lw_conv2d_setup_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan);

/** @param memory  device, borrowed for the life of `out`
 * @param setup   device, in use until `stream` has come by */
int lw_conv2d_prepare(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, void *memory, void *setup,
                      cudaStream_t stream, struct lw_conv2d_prepared *out, struct lw_error *err);

/** What the kernels are told about a block, without its buffers.
 * @param first  output row of the image */
struct lw_conv2d_block lw_conv2d_block_of(const struct lw_op_spec *spec, int64_t first, int64_t count, int64_t n_channels);

/** Enqueue the convolution of a block whose buffers are set: pixels that are not finite count as zero. Blocks on
 * different streams share the work area: one waits for the other. */
int lw_conv2d_run(const struct lw_conv2d_prepared *prepared, const struct lw_conv2d_block *block, cudaStream_t stream,
                  struct lw_error *err);

LW_C_END
