/* bands.cuh - what the three passes of large tiles agree on.
 *
 * Transforms one below the other are a strip, and are numbered down each strip, one strip after the other. The windows of two
 * neighbours share kernel_rows - 1 rows, which are transformed once: a strip with n transforms in a batch has n step + lead lines,
 * and its transforms begin `step` lines apart. Only where a transform has two pieces, one above the other, lines are not shared: a
 * line then holds a row of either.
 *
 * work: [line of the batch][C] complex, what the row pass makes, the C bins of a row in the order of the row transform's threads
 * (see gpu/device/fft.cuh), which is of no consequence to the columns. Then [transform of the batch][hop_rows][C], what the column
 * pass makes of them; the exponents that the row pass took out of each line, [line]; and what the column pass left in all rows of
 * a transform, [transform]. */
#pragma once

#include "gpu/conv2d/piece.cuh"

struct BandArgs {
    lw_conv2d_block block;
    lw_conv2d_grid grid;
    unsigned first_strip, first_down;   /* of the batch's first transform */
    int n, n_lines;                 /* of the batch */
    int step, lead;                 /* lines of a strip: n step + lead */
    int before;                     /* points of a line ahead of its outputs, kernel_columns - 1 or a few more */
    const void *row_table, *column_table, *spectrum;
    void *lines, *points;           /* of the row pass, of the column pass */
    int *row_exponents, *exponents;
};

/* A transform of the batch: where it stands, and the first line of its window. */
struct BandSpot {
    Spot spot;
    int line;
};

/* Strip `number` of the block. */
LW_DEVICE Spot strip_spot(const BandArgs &a, unsigned number, unsigned down)
{
    const unsigned across = (unsigned)a.grid.transforms_across, channel = number / across;
    return {channel, down, number - channel * across};
}

LW_DEVICE BandSpot band_spot(const BandArgs &a, unsigned item)
{
    const unsigned each = (unsigned)a.grid.transforms_down, number = a.first_down + item, strips = number / each;
    return {strip_spot(a, a.first_strip + strips, number - strips * each), (int)item * a.step + (int)strips * a.lead};
}

/* The rows of its window that hold pixels which outputs need: its first piece has at least as many as the other. */
LW_DEVICE int needed_rows(const BandArgs &a, const Spot &spot)
{
    const int64_t first = (int64_t)spot.down * a.grid.pair_rows * a.grid.hop_rows;
    return least(a.grid.hop_rows, a.block.count - first) + (int)a.block.kernel_rows - 1;
}

/* One compiled row pass or column pass. */
struct BandKernel {
    int length;                     /* of its transforms; 0: behind the last of a list */
    int radix, outer_radix;         /* E, P of gpu/device/fft.cuh */
    int batch;                      /* rows or columns of a block */
    int threads, shared_bytes;      /* of a block */
    void (*paired)(const BandArgs);     /* rows: of real pieces, two to a transform */
    void (*single)(const BandArgs);     /* rows: of complex ones; columns: any */
};

extern const BandKernel lw_conv2d_rows_f[], lw_conv2d_rows_d[], lw_conv2d_back_f[], lw_conv2d_back_d[];
extern const BandKernel lw_conv2d_columns_f[], lw_conv2d_columns_d[];
