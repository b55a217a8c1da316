/* launch.h - the convolution kernels for images: one block of images on the device as all of them see it, the launchers of each
 * method, and what is done to the outputs. Every launcher is asynchronous on its stream and launches nothing for no outputs. */
#pragma once

#include "base/linkage.h"
#include "base/type.h"
#include "engine/engine.h"
#include "gpu/device/nan_report.h"
#include "signal/convolution.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

LW_C_BEGIN

/* One block.
 *
 * The input holds the rows that the outputs need, kernel_rows - 1 + count of them per image, and all columns of the
 * image; what lies beside an image is made by the kernels. Output (i, j) needs rows i .. i + kernel_rows - 1 of the
 * input and columns first_column + j .. first_column + j + kernel_columns - 1 of the image continued beyond its
 * sides. The rows of an image may be some of those that lie in memory. */
struct lw_conv2d_block {
    const void *input;          /* [n_channels][input_pitch][columns], stored type in this machine's byte order */
    int64_t input_first, input_pitch;   /* the row of the input that is the first image's first, and rows from image to image */
    int64_t own_row;            /* row of an image that is the first of the block's own samples; those before it are its halo */
    void *output;               /* [n_channels][count][output_columns], computing precision */
    unsigned *not_finite;       /* set to 1 where a pixel that is not finite was met and counted as zero */
    enum lw_scalar scalar;      /* of the input */
    bool input_complex, output_complex;
    enum lw_boundary boundary;
    double outside;             /* boundary ZERO: the value of all pixels beyond the four sides */
    int64_t rows, columns;      /* of an image */
    int64_t first_row;          /* position in the image of row 0 of the input */
    int64_t first_column;       /* and of the first column that output column 0 needs */
    int64_t output_columns;
    int64_t kernel_rows, kernel_columns;
    int64_t count, n_channels;  /* of the block */
    int exponent;               /* the taps were divided by 2^exponent: the outputs are multiplied by it */
};

/* ---- sums with small kernels, in strips (unrolled.cu, choose.c) --------------------------------------------------------- */

/* Largest side of the kernels that are taken unrolled, with their taps as kernel parameters: float, real image and
 * kernel. Separable ones, taken by a column and a row, have the larger sides: 15, 23 or 31. */
#define LW_CONV2D_MOST_SIDE 9
#define LW_CONV2D_MOST_PRODUCT_SIDE 31

enum { LW_CONV2D_STRIP_COLUMNS = 128 };

struct lw_conv2d_strips {
    int rows;                   /* of outputs in each, but for the last of an image */
    double seconds;             /* modelled, of all of them, if memory is not what they wait for */
};

/** The strips that take the least time, for n_channels images of n_rows x n_columns outputs and a kernel of side x side: long ones
 * walk through fewer rows of pixels twice, short ones leave fewer multiprocessors without a strip. */
struct lw_conv2d_strips lw_conv2d_cut_strips(int64_t n_rows, int64_t n_columns, int64_t n_channels, int side);

/** Convolve a block with `side` x `side` taps: tap (m, n) meets row i + m and column j + n of the window of output (i,
 * j). Of a separable kernel tap (m, n) is column[m] * row[n].
 * @param taps  [side][side], or the column and then the row; host, read before return */
cudaError_t lw_conv2d_in_strips(const struct lw_conv2d_block *block, int side, const float *taps, cudaStream_t stream);

/* ---- sums with any kernel (direct.cu), and with one that is the product of a column and a row (passes.cu) ---------------- */

/** @param taps  [kernel_rows][kernel_columns], device, computing precision, complex if the kernel is; order as above */
cudaError_t lw_conv2d_direct(const struct lw_conv2d_block *block, enum lw_precision precision, bool kernel_complex,
                             const void *taps, cudaStream_t stream);

/** Allow the kernels their shared memory on the current device. */
cudaError_t lw_conv2d_passes_prepare(enum lw_precision precision);

/** A pass along the columns and one along the rows; column tap m meets row i + m and row tap n column j + n of the window of output
 * (i, j).
 * @param column  [kernel_rows], device, computing precision, complex if the kernel is
 * @param row     [kernel_columns], likewise */
cudaError_t lw_conv2d_passes(const struct lw_conv2d_block *block, enum lw_precision precision, bool kernel_complex,
                             const void *column, const void *row, cudaStream_t stream);

/* ---- overlap-save ------------------------------------------------------------------------------------------------------- */

/* How a block's outputs are cut: pieces of hop_rows x hop_columns, on a grid that begins at its first output. Two real
 * ones, one above or beside the other, share a transform of the three passes. */
struct lw_conv2d_grid {
    int64_t rows, columns;              /* of a transform */
    int64_t hop_rows, hop_columns;
    int64_t n_across;                   /* pieces side by side */
    int pair_rows, pair_columns;        /* pieces of a transform: 1 x 1, 1 x 2 or 2 x 1 */
    int delay_columns, spare_columns;   /* of a large tile, see lw_conv2d_align */
    int transforms_across, transforms_down;     /* of an image; down: of the block at hand, see lw_conv2d_cut */
};

/** Transforms of the block, after setting how many there are down an image of it. */
int64_t lw_conv2d_cut(const struct lw_conv2d_block *block, struct lw_conv2d_grid *grid);

/** Bytes that only preparing a kernel's spectrum for tiles or bands needs. */
int64_t lw_conv2d_spectrum_setup_bytes(const struct lw_conv2d_grid *grid, int64_t kernel_rows);

/* Tiles that one block of threads transforms in shared memory (tiles.cu): */

struct lw_conv2d_tile {
    int rows, columns;                  /* pixels */
};

/** The tiles of the precision, for real or complex pixels; the last one is 0 x 0. */
const struct lw_conv2d_tile *lw_conv2d_tile_shapes(enum lw_precision precision, bool is_complex);

/** Shared memory of a block that works on such a tile. */
int lw_conv2d_tile_shared_bytes(enum lw_precision precision, int rows, int columns);

/** Bytes of the kernel's spectrum and of tables. */
int64_t lw_conv2d_tile_bytes(enum lw_precision precision, int rows, int columns);

/** Fill `bank` with the spectrum of the kernel after the grid's delay_columns of zeros, and allow the kernels their shared memory
 * on the current device.
 * @param c      for the kernel's size and type
 * @param taps   [kernel_rows][kernel_columns] (x 2 if complex), float64, device; divided by 2^exponent of the blocks
 * @param setup  lw_conv2d_spectrum_setup_bytes, device, until the work queued on `stream` has finished */
cudaError_t lw_conv2d_tile_prepare(enum lw_precision precision, const struct lw_conv2d_grid *grid, const struct lw_conv2d_spec *c,
                                   const double *taps, void *setup, void *bank, cudaStream_t stream);

cudaError_t lw_conv2d_tiles(const struct lw_conv2d_block *block, const struct lw_conv2d_grid *grid, enum lw_precision precision,
                            const void *bank, cudaStream_t stream);

/* Large tiles take three passes over a work area (bands.cu):
 *
 *     rows       pixels -> transforms of the rows -> work
 *     columns    work -> transforms of the columns -> times the kernel's spectrum -> columns back -> work
 *     back       work -> rows back -> outputs
 *
 * Padding, boundary and cropping are part of the first and the last pass; rows that no output needs are not touched, and rows
 * that tiles one above the other share are transformed once. */

/** Length number i of the transforms of rows (points side by side) and of columns; 0: there are no more. */
int lw_conv2d_row_length(enum lw_precision precision, int i);
int lw_conv2d_column_length(enum lw_precision precision, int i);

/** Shared memory of the block that needs most. */
int lw_conv2d_bands_shared_bytes(enum lw_precision precision, int rows, int columns);

/** Bytes of the kernel's spectrum and of tables, and of the work area for `batch` transforms. */
int64_t lw_conv2d_bands_bytes(enum lw_precision precision, int rows, int columns);
int64_t lw_conv2d_bands_work_bytes(enum lw_precision precision, const struct lw_conv2d_grid *grid, int64_t batch);

/** The same for large tiles as lw_conv2d_tile_prepare for small ones. */
cudaError_t lw_conv2d_bands_prepare(enum lw_precision precision, const struct lw_conv2d_grid *grid, const struct lw_conv2d_spec *c,
                                    const double *taps, void *setup, void *bank, cudaStream_t stream);

/** Transforms first .. first + n - 1 of a block, which are numbered from top to bottom, then across, then from image to image. */
cudaError_t lw_conv2d_bands(const struct lw_conv2d_block *block, const struct lw_conv2d_grid *grid, enum lw_precision precision,
                            const void *bank, int64_t first, int n, void *work, cudaStream_t stream);

/* ---- pixels that are not finite (nan.cu): the kernels count them as zero and raise the flag; only then do these look for them,
 * and treat the outputs that they touch ---- */

/* Notes of the pixels that are not finite, a bit each; device memory of lw_conv2d_flaws_bytes. */
struct lw_conv2d_flaws {
    struct lw_nan_report *report;
    enum lw_precision precision;
    enum lw_nan nan;
    uint32_t *bad;              /* [channel][row of the input][words]: columns of the window of output column 0, 1 .. */
    uint32_t *touched;          /* [channel][row of the input][words]: output columns with a bad pixel among their
                                   kernel_columns */
    const double *sums;         /* to interpolate: [kernel_rows][kernel_columns + 1], sums along the rows of the turned
                                   kernel */
    double sum;                 /* of the kernel */
};

/** Bytes that `bad` and `touched` take together; 0 for integers, which need none. */
int64_t lw_conv2d_flaws_bytes(const struct lw_conv2d_block *block);

/** Set `bad` and `touched` to parts of that memory. */
void lw_conv2d_flaws_place(const struct lw_conv2d_block *block, void *memory, struct lw_conv2d_flaws *flaws);

/** Enqueue the search, the report of the block's own pixels, and the treatment of the outputs, which are still in the
 * computing precision: NaN in every part, or divided by the part of the kernel that meets finite pixels (NaN where that
 * is below 1e-6 of its sum). The kernels read the flag on the device and end at once where it is zero. Launches nothing
 * for integer input. */
cudaError_t lw_conv2d_treat_flaws(const struct lw_conv2d_block *block, const struct lw_conv2d_flaws *flaws, cudaStream_t stream);

/* ---- crossings of a convolved image (signal/search.h, find.cu) ----------------------------------------------------------- */

struct lw_conv2d_search {
    const void *image;              /* device, [n_channels][count][columns] of the computing precision */
    enum lw_precision precision;
    bool is_complex;
    int64_t n_channels, count, columns;
    int64_t first_row, channel;     /* of the whole data set: its first */
    const void *scales;             /* device, [channels of the data set], see gpu/host/noise_scales.h */
    int64_t begin, end;             /* rows of the image, 0 .. count: others give no crossings */
    enum lw_sign sign;              /* pixels of another one give none, too */

    struct lw_crossing *rows;       /* device: the table */
    int64_t most_rows;
    unsigned long long *n_rows;     /* device: goes on counting where there is no more room */
};

/** Append the pixels y with |y| scale >= 1, and perhaps some that are less by rounding errors: lw_peaks_pick tests exactly. */
cudaError_t lw_conv2d_find(const struct lw_conv2d_search *search, cudaStream_t stream);

LW_C_END
