/* prepared.h - the convolution of images with each kernel of a bank on the GPU, in three calls that conv2d.c wraps as an operation
 * of the engine:
 *
 *     spec --lw_conv2d_choose--> plan --lw_conv2d_prepare--> taps or spectra on the device --lw_conv2d_run--> outputs of a block
 *
 * Methods: sums with small (unrolled.cu), separable (passes.cu) or any kernels (direct.cu); tiles transformed in shared memory
 * (tiles.cuh, lone.cuh); larger tiles in three passes through global memory (bands.cu, rows.cuh, columns.cuh); the padded image
 * through cuFFT (padded.cu). Afterwards nan.cu treats outputs near pixels that are not finite, and find.cu searches for
 * crossings. */
#pragma once

#include "gpu/conv2d/launch.h"
#include "gpu/host/device.h"
#include "gpu/host/fft.h"

LW_C_BEGIN

/* ---- the method and tile that a convolution gets (choose.c) --------------------------------------------------------------- */

enum lw_conv2d_method {
    LW_CONV2D_UNROLLED,         /* direct sums with small kernels */
    LW_CONV2D_DIRECT,           /* direct sums with any kernel */
    LW_CONV2D_PRODUCT,          /* sums with small separable kernels */
    LW_CONV2D_PASSES,           /* sums with any separable kernel: along the columns, then along the rows */
    LW_CONV2D_TILES,            /* overlap-save on tiles in shared memory */
    LW_CONV2D_BANDS,            /* overlap-save on tiles in three passes */
    LW_CONV2D_PADDED,           /* the padded image, or bands of its rows, through cuFFT */
};

struct lw_conv2d_plan {
    enum lw_conv2d_method method;
    int side;                   /* UNROLLED, PRODUCT: side of the padded kernel */
    struct lw_conv2d_grid grid; /* TILES, BANDS, PADDED */
    int64_t batch;              /* BANDS: transforms that the work area holds */
    bool shares_transforms;     /* TILES: a tile is transformed once for several kernels */
    double seconds;             /* modelled, per output pixel */
};

/** Choose by spec and architecture alone. LW_ECONFIG if the requested algorithm does not fit the kernel. */
int lw_conv2d_choose(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                     struct lw_error *err);

/** Return whether the method uses transforms, which cut the image; whether its tiles each fill a multiprocessor's shared memory. */
static inline bool lw_conv2d_has_transforms(const struct lw_conv2d_plan *plan)
{
    return plan->method >= LW_CONV2D_TILES;
}

/** Return how many of n kernels are applied to a block at a time: several where they share the pixels' transforms. */
static inline int lw_conv2d_at_a_time(const struct lw_conv2d_plan *plan, int n)
{
    return !plan->shares_transforms ? 1 : n < LW_CONV2D_MOST_AT_A_TIME ? n : LW_CONV2D_MOST_AT_A_TIME;
}

/** Return whether all blocks share one work area, so that one must wait for the other. */
static inline bool lw_conv2d_shares_work(const struct lw_conv2d_plan *plan) { return plan->method >= LW_CONV2D_BANDS; }

bool lw_conv2d_is_large(const struct lw_conv2d_plan *plan);

/** Shift the grid of large tiles for aligned access: rows of windows begin at multiples of 16 bytes if an image's rows do, and a
 * tile's rows of outputs at multiples of 32 bytes if rows of outputs do. `delay_columns` of zeros before the kernel move a tile's
 * outputs to the right. A window begins `spare_columns` before the first column that its outputs need. */
void lw_conv2d_align(const struct lw_conv2d_spec *spec, struct lw_conv2d_grid *grid);

/** Write the plan in words, for `lapwing plan` and the log. */
void lw_conv2d_describe(const struct lw_conv2d_plan *plan, const struct lw_op_spec *spec, char *text, size_t size);

/* ---- the kernel on the device (prepared.c) -------------------------------------------------------------------------------- */

/* A kernel; its device memory is borrowed. */
struct lw_conv2d_kernel {
    int exponent;                   /* taps on the device, and spectra, were divided by 2^exponent */
    float unrolled[LW_CONV2D_MOST_SIDE * LW_CONV2D_MOST_SIDE];  /* UNROLLED: [side][side]; PRODUCT: the column, then the row */
    void *bank;                     /* taps, a column of taps, or spectrum and tables, depending on the method */
    void *row;                      /* PASSES: the row's taps */
    double *sums, sum;              /* LW_NAN_INTERPOLATE: see struct lw_conv2d_flaws */
};

struct lw_conv2d_prepared {
    struct lw_op_spec spec;         /* its pointer to the kernels is NULL */
    struct lw_conv2d_plan plan;
    struct lw_conv2d_kernel *kernels;       /* [spec.conv2d.n_kernels], owned, see lw_conv2d_release */
    struct lw_cuda_fft forward, backward;   /* PADDED; owned likewise */

    /* device, borrowed */
    void *work;                     /* BANDS, PADDED: one area that all blocks share */
    void *area;                     /* PADDED: cuFFT's own work memory */
    int *largest;                   /* PADDED: largest exponent of a pixel in the transform */
};

/** Return the device bytes that are kept, and those that only lw_conv2d_prepare needs. PADDED asks cuFFT, which needs the device's
 * context. */
int64_t lw_conv2d_prepared_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan);
int64_t lw_conv2d_setup_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan);

/** Bring the kernels to the device in the form that the plan needs.
 * @param memory  device, borrowed for the life of `out`
 * @param setup   device, in use until the work queued on `stream` has finished */
int lw_conv2d_prepare(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, void *memory, void *setup,
                      cudaStream_t stream, struct lw_conv2d_prepared *out, struct lw_error *err);

/** Destroy what `prepared` owns, but not the memory that it borrows. Accepts an all-zero or half-prepared object. */
void lw_conv2d_release(struct lw_conv2d_prepared *prepared);

/** Return the description of a block for the kernels, without its buffers.
 * @param first  output row of the image */
struct lw_conv2d_block lw_conv2d_block_of(const struct lw_op_spec *spec, int64_t first, int64_t count, int64_t n_channels);

/** Enqueue the convolution of a block whose buffers are set with kernels first .. first + n - 1; pixels that are not finite count
 * as zero. The outputs of a kernel lie behind those of the kernel before. Blocks on different streams share the work area of BANDS
 * and PADDED, so the caller must make one wait for the other.
 * @param search  NULL, or with plans that share transforms: see lw_conv2d_tiles */
int lw_conv2d_run(const struct lw_conv2d_prepared *prepared, int first, int n, const struct lw_conv2d_block *block,
                  const struct lw_conv2d_search *search, cudaStream_t stream, struct lw_error *err);

/* ---- the padded image through cuFFT (padded.cu) --------------------------------------------------------------------------- */

/** Return the bytes of a transform's points, or of the kernel's spectrum, and those of cuFFT's work memory. */
int64_t lw_conv2d_padded_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid);
int64_t lw_conv2d_padded_area_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid);

/** Plan the transforms. */
int lw_conv2d_padded_plan(struct lw_conv2d_prepared *prepared, struct lw_error *err);

/** Fill a kernel's bank with its spectrum.
 * @param taps  [kernel_rows][kernel_columns] (x 2 if complex), float64, device; divided by 2^exponent */
int lw_conv2d_padded_prepare(struct lw_conv2d_prepared *prepared, void *bank, const double *taps, cudaStream_t stream,
                             struct lw_error *err);

int lw_conv2d_padded_run(const struct lw_conv2d_prepared *prepared, const void *bank, const struct lw_conv2d_block *block,
                         cudaStream_t stream, struct lw_error *err);

LW_C_END
