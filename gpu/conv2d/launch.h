/* launch.h - a block of images on the device as all convolution kernels see it, the launchers of each method, and the treatment of
 * outputs. Every launcher is asynchronous on its stream, and launches nothing if there are no outputs. */
#pragma once

#include "engine/engine.h"
#include "gpu/device/nan_report.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* One block of images.
 *
 * The input holds the kernel_rows - 1 + count rows per image that the outputs need, with all columns of the image; the kernels
 * make the pixels beyond an image's sides. Output (i, j) needs rows i .. i + kernel_rows - 1 of the input, and columns
 * first_column + j .. first_column + j + kernel_columns - 1 of the image continued beyond its sides. An image's rows may be a part
 * of the rows in memory, see input_first. */
struct lw_conv2d_block {
    const void *input;          /* [n_channels][input_pitch][columns], stored type in this machine's byte order */
    int64_t input_first, input_pitch;   /* input row that is the first image's first; input rows from image to image */
    int64_t own_row;            /* row of an image that is the first of the block's own samples; rows before it are its halo */
    void *output;               /* [n_channels][count][output_columns], computing precision */
    unsigned *not_finite;       /* device: set to 1 if a pixel was not finite and counted as zero */
    enum lw_scalar scalar;      /* type of the input */
    bool input_complex, output_complex;
    enum lw_boundary boundary;
    double outside;             /* boundary ZERO: value of all pixels beyond the four sides */
    int64_t rows, columns;      /* size of an image */
    int64_t first_row;          /* image row of row 0 of the input */
    int64_t first_column;       /* image column of the first column that output column 0 needs */
    int64_t output_columns;
    int64_t kernel_rows, kernel_columns;
    int64_t count, n_channels;  /* size of the block */
    int exponent;               /* the taps were divided by 2^exponent; the kernels multiply the outputs by it */
};

/* ---- sums with small kernels, in strips (unrolled.cu, choose.c) --------------------------------------------------------- */

/* Largest sides of kernels that are unrolled, with their taps as kernel parameters (float, real image and kernel). Separable
 * kernels, given as a column and a row, have sides of 15, 23 or 31. */
#define LW_CONV2D_MOST_SIDE 9
#define LW_CONV2D_MOST_PRODUCT_SIDE 31

enum { LW_CONV2D_STRIP_COLUMNS = 128 };

struct lw_conv2d_strips {
    int rows;                   /* rows of outputs per strip; the last strip of an image may have fewer */
    double seconds;             /* modelled time of all strips, if they do not wait for memory */
};

/** Return the fastest cut into strips, for n_channels images of n_rows x n_columns outputs and a kernel of side x side. Long
 * strips read fewer rows of pixels twice; short strips leave fewer multiprocessors without work. */
struct lw_conv2d_strips lw_conv2d_cut_strips(int64_t n_rows, int64_t n_columns, int64_t n_channels, int side);

/** Convolve a block with `side` x `side` taps: tap (m, n) meets row i + m and column j + n of the window of output (i, j). For a
 * separable kernel tap (m, n) is column[m] * row[n].
 * @param rows  rows of outputs per strip, such as lw_conv2d_cut_strips returns
 * @param taps  [side][side], or the column and then the row; host, read before return */
cudaError_t lw_conv2d_in_strips(const struct lw_conv2d_block *block, int side, int rows, const float *taps, cudaStream_t stream);

/* ---- sums with any kernel (direct.cu), and with one that is the product of a column and a row (passes.cu) ---------------- */

/** Convolve a block with any kernel; taps are ordered as for lw_conv2d_in_strips.
 * @param taps  [kernel_rows][kernel_columns], device, computing precision, complex if the kernel is */
cudaError_t lw_conv2d_direct(const struct lw_conv2d_block *block, enum lw_precision precision, bool kernel_complex,
                             const void *taps, cudaStream_t stream);

/** Allow the kernels their shared memory on the current device. */
cudaError_t lw_conv2d_passes_prepare(enum lw_precision precision);

/** Convolve a block with a separable kernel: a pass along the columns, then one along the rows. Column tap m meets row i + m, and
 * row tap n meets column j + n, of the window of output (i, j).
 * @param column  [kernel_rows], device, computing precision, complex if the kernel is
 * @param row     [kernel_columns], likewise */
cudaError_t lw_conv2d_passes(const struct lw_conv2d_block *block, enum lw_precision precision, bool kernel_complex,
                             const void *column, const void *row, cudaStream_t stream);

/* ---- overlap-save ------------------------------------------------------------------------------------------------------- */

/* The cut of a block's outputs into pieces of hop_rows x hop_columns, on a grid that begins at the first output. In the three
 * passes two real pieces, side by side or one above the other, share a transform. A padded image is one piece, or few of them
 * one above the other, each as wide as the outputs. */
struct lw_conv2d_grid {
    int64_t rows, columns;              /* size of a transform */
    int64_t hop_rows, hop_columns;
    int64_t n_across;                   /* pieces side by side */
    int pair_rows, pair_columns;        /* pieces of a transform: 1 x 1, 1 x 2 or 2 x 1 */
    int delay_columns, spare_columns;   /* shifts of a large tile, see lw_conv2d_align */
    int transforms_across, transforms_down;     /* transforms per image; down: for the current block, see lw_conv2d_cut */
};

/** Set grid->transforms_down for the block, and return the number of its transforms. */
int64_t lw_conv2d_cut(const struct lw_conv2d_block *block, struct lw_conv2d_grid *grid);

/** Return the bytes that only the preparation of a spectrum for tiles or bands needs. */
int64_t lw_conv2d_spectrum_setup_bytes(const struct lw_conv2d_grid *grid, int64_t kernel_rows);

/* Tiles that one block of threads transforms in shared memory (tiles.cu): */

struct lw_conv2d_tile {
    int rows, columns;                  /* pixels */
    int shared_bytes;                   /* a block's */
    int bank_bytes;                     /* that of one that takes several kernels (bank.cuh); 0: none does */
};

/** Return the list of compiled tiles for the precision and for real or complex pixels; a tile of 0 x 0 ends it. */
const struct lw_conv2d_tile *lw_conv2d_tile_shapes(enum lw_precision precision, bool is_complex);

/** Return the device bytes of the kernel's spectrum and the tables. */
int64_t lw_conv2d_tile_bytes(enum lw_precision precision, int rows, int columns);

/** Fill `bank` with the kernel's spectrum, and allow the kernels their shared memory on the current device. The kernel is preceded
 * by delay_columns of zeros.
 * @param c      the kernel's size and type
 * @param taps   [kernel_rows][kernel_columns] (x 2 if complex), float64, device; divided by 2^exponent of the blocks
 * @param setup  lw_conv2d_spectrum_setup_bytes, device, until the work queued on `stream` has finished */
cudaError_t lw_conv2d_tile_prepare(enum lw_precision precision, const struct lw_conv2d_grid *grid, const struct lw_conv2d_spec *c,
                                   const double *taps, void *setup, void *bank, cudaStream_t stream);

enum { LW_CONV2D_MOST_AT_A_TIME = 8 };

/* Kernels for tiles: their banks by lw_conv2d_tile_prepare, and by which powers of two their taps were divided. */
struct lw_conv2d_spectra {
    int n;
    bool is_bank;                       /* a tile is transformed once for all; else n is 1 */
    int64_t plane;                      /* bytes from the outputs of a kernel to those of the next */
    const void *bank[LW_CONV2D_MOST_AT_A_TIME];
    int exponent[LW_CONV2D_MOST_AT_A_TIME];
};

struct lw_conv2d_search;

/** Convolve a block by tiles; only tiles with bank_bytes take more than one kernel.
 * @param search  for those tiles: search the outputs, and store them if the block has an output. `image` and `errors` are not used,
 *                and the pixels that are not finite still count as zero. NULL: store the outputs */
cudaError_t lw_conv2d_tiles(const struct lw_conv2d_block *block, const struct lw_conv2d_grid *grid, enum lw_precision precision,
                            const struct lw_conv2d_spectra *spectra, const struct lw_conv2d_search *search, cudaStream_t stream);

/* Large tiles take three passes over a work area (bands.cu):
 *
 *     rows       pixels -> transforms of the rows -> work
 *     columns    work -> transforms of the columns -> times the kernel's spectrum -> columns back -> work
 *     back       work -> rows back -> outputs
 *
 * The first and the last pass include padding, boundary and cropping. Rows that no output needs are skipped, and rows shared by
 * tiles one above the other are transformed once. */

/** Return the i-th compiled transform length of rows (points side by side) and of columns; 0 after the last. */
int lw_conv2d_row_length(enum lw_precision precision, int i);
int lw_conv2d_column_length(enum lw_precision precision, int i);

/** Return the shared bytes of the pass that needs most. */
int lw_conv2d_bands_shared_bytes(enum lw_precision precision, int rows, int columns);

/** Return the device bytes of the kernel's spectrum and tables, and of the work area for `batch` transforms. */
int64_t lw_conv2d_bands_bytes(enum lw_precision precision, int rows, int columns);
int64_t lw_conv2d_bands_work_bytes(enum lw_precision precision, const struct lw_conv2d_grid *grid, int64_t batch);

/** lw_conv2d_tile_prepare for large tiles. */
cudaError_t lw_conv2d_bands_prepare(enum lw_precision precision, const struct lw_conv2d_grid *grid, const struct lw_conv2d_spec *c,
                                    const double *taps, void *setup, void *bank, cudaStream_t stream);

/** Convolve by transforms first .. first + n - 1 of a block, numbered from top to bottom, then across, then by image. */
cudaError_t lw_conv2d_bands(const struct lw_conv2d_block *block, const struct lw_conv2d_grid *grid, enum lw_precision precision,
                            const void *bank, int64_t first, int n, void *work, cudaStream_t stream);

/* ---- background and weights (weigh.cu) ----------------------------------------------------------------------------------- */

/* A mesh (signal/mesh.h), all channels of the data set, on the device. */
struct lw_conv2d_mesh {
    float *tables;                      /* NULL: there is none */
    int64_t cell, node_rows, node_columns, first_row;
    bool is_noise;                      /* values have the floor */
};

/* Pixels change before they are convolved: to x less the background or, with weights, to w x and w. All arrays are in device
 * memory, those of the computing precision as long as the block's rows of all channels. */
struct lw_conv2d_pixels {
    struct lw_conv2d_block block;       /* the stored pixels; with weights, boundary ZERO */
    enum lw_precision precision;
    int64_t channel;                    /* the first channel's number in the whole data set */
    struct lw_conv2d_mesh background, sigma;
    const void *map;                    /* laid out as the stored pixels; NULL: none */
    enum lw_scalar map_scalar;
    enum lw_weights weights;
    struct lw_nan_report *report;       /* receives own pixels that are not finite, with weights */
    void *value, *weight;               /* [n_channels][rows][columns] */
    int *largest;                       /* [n_channels][rows][words]: the largest weight among 32 columns, see piece.cuh for its
                                           bits; 0 if there is none */
    void *bright;                       /* values of bright pixels, which are 0 in `value`; NULL: no pixel is bright */
    uint32_t *bright_bits;              /* [n_channels][rows][words]: which pixels are bright */
};

/** Return the bytes of `largest`. */
int64_t lw_conv2d_largest_bytes(const struct lw_conv2d_block *block);

/** Make the arrays. `weight` and `largest` are for weights only. */
cudaError_t lw_conv2d_make_pixels(const struct lw_conv2d_pixels *pixels, cudaStream_t stream);

/* A matched filter's outputs from both convolutions. */
struct lw_conv2d_matched {
    struct lw_conv2d_block block;       /* the block of both convolutions; its output is A, which becomes y */
    enum lw_precision precision;
    void *b;                            /* B of the same size, becomes 1 / sqrt(B) */
    const void *value, *weight, *bright;        /* see struct lw_conv2d_pixels */
    const int *largest;
    const uint32_t *bright_bits;
    const double *taps;                 /* [kernel_rows][kernel_columns], device; ordered as for lw_conv2d_in_strips; the kernel
                                           divided by 2^exponent, as A and B are made with it */
    int exponent;
    bool has_transforms;                /* rounding errors of B follow the largest weight of a transform */
    struct lw_conv2d_grid grid;         /* the transforms */
    int *limits;                        /* [2][lw_conv2d_cut of the grid], device: scratch */
    double share;                       /* least B of transforms, as a fraction of the largest weight */
};

/** Find the largest weight that each transform meets, and whether it meets bright pixels. */
cudaError_t lw_conv2d_find_limits(const struct lw_conv2d_matched *matched, cudaStream_t stream);

/** Make the outputs; NaN if all pixels that the kernel covers have weight 0. Where B is too small beside the rounding errors of
 * transforms, and where B is 0, A and B are summed again by the definition. */
cudaError_t lw_conv2d_match(const struct lw_conv2d_matched *matched, cudaStream_t stream);

/* ---- pixels that are not finite (nan.cu). The convolution counts them as zero and raises a flag. Only then do these kernels
 * search for them, and treat the outputs that they touch. ---- */

/* Bit maps of the pixels that are not finite, in lw_conv2d_flaws_bytes of device memory. */
struct lw_conv2d_flaws {
    struct lw_nan_report *report;
    enum lw_precision precision;
    enum lw_nan nan;
    uint32_t *bad;              /* [channel][row of the input][words]: bad columns, counted from the first that output column 0
                                   needs */
    uint32_t *touched;          /* [channel][row of the input][words]: output columns with such a pixel among their
                                   kernel_columns */
    const double *sums;         /* LW_NAN_INTERPOLATE: [kernel_rows][kernel_columns + 1], running sums along the rows of the
                                   reversed kernel */
    double sum;                 /* sum of the kernel */
};

/** Return the bytes of `bad` and `touched` together; 0 for integers, which need none. */
int64_t lw_conv2d_flaws_bytes(const struct lw_conv2d_block *block);

/** Point `bad` and `touched` to their parts of `memory`. */
void lw_conv2d_flaws_place(const struct lw_conv2d_block *block, void *memory, struct lw_conv2d_flaws *flaws);

/** Enqueue the search, and the report of the block's own pixels. The kernels return at once if the flag on the device is zero.
 * Launches nothing for integers. */
cudaError_t lw_conv2d_note_flaws(const struct lw_conv2d_block *block, const struct lw_conv2d_flaws *flaws, cudaStream_t stream);

/** Enqueue the treatment of a kernel's outputs, which are still in the computing precision. An output becomes NaN in every part,
 * or is divided by the fraction of the kernel's sum that meets finite pixels (NaN where that is below 1e-6). The same returns at
 * once, and launches nothing. */
cudaError_t lw_conv2d_treat_flaws(const struct lw_conv2d_block *block, const struct lw_conv2d_flaws *flaws, cudaStream_t stream);

/* ---- crossings of a convolved image (signal/search.h, find.cu) ----------------------------------------------------------- */

struct lw_conv2d_search {
    const void *image;              /* device, [n_channels][count][columns] of the computing precision */
    enum lw_precision precision;
    bool is_complex;
    int64_t n_channels, count, columns;
    int64_t first_row, channel;     /* position of the image's first row and channel in the whole data set */
    const void *scales;             /* device, [channels of the data set][n_kernels], see gpu/host/noise_scales.h */
    int64_t begin, end;             /* rows of the image to search, within 0 .. count */
    enum lw_sign sign;              /* sign that a crossing must have */
    int kernel, n_kernels;          /* number of the kernel that made the image, and all kernels */
    const void *errors;             /* 1 / sqrt(B) of each pixel; NULL without weights */

    struct lw_crossing *rows;       /* device: the table */
    int64_t most_rows;
    unsigned long long *n_rows;     /* device: counts on when the table is full */
};

/** Append pixels y with |y| scale >= 1 to the table. Rounding may admit slightly less; lw_peaks_pick tests exactly. */
cudaError_t lw_conv2d_find(const struct lw_conv2d_search *search, cudaStream_t stream);

/** Let the pixels of the search's rows, of n kernels' images behind one another, compete with those of the kernels before.
 * @param values, kernels  [n_channels][end - begin][columns] */
cudaError_t lw_conv2d_keep_best(const struct lw_conv2d_search *search, int n, void *values, int32_t *kernels, cudaStream_t stream);

/** Make the crossings NaN whose outputs touch a pixel that is not finite: those of a search that came before the treatment. */
cudaError_t lw_conv2d_spoil_crossings(const struct lw_conv2d_block *block, const struct lw_conv2d_flaws *flaws,
                                      const struct lw_conv2d_search *search, cudaStream_t stream);

LW_C_END
