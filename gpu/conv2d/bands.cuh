/* bands.cuh - data that the three passes of large tiles (rows, columns, rows back) share.
 *
 * Transforms one below the other form a strip; they are numbered down each strip, one strip after the other. The windows of two
 * neighbours in a strip overlap by kernel_rows - 1 rows, and these are transformed once. So n transforms of a strip in a batch
 * have n step + lead lines, and start `step` lines apart. One case shares no lines: if a transform has two pieces one above the
 * other, each line holds a row of both pieces.
 *
 * The work area, in order:
 *   lines      [line of the batch][C] complex, written by the row pass. The C bins of a row keep the row transform's thread order
 *              (gpu/device/fft.cuh): the column pass does not depend on it.
 *   points     [transform of the batch][hop_rows][C] complex, written by the column pass.
 *   exponents  [line], the exponent that the row pass took out of each line; then [transform], the exponent that the column pass
 *              left in all rows of a transform. */
#pragma once

#include "gpu/conv2d/piece.cuh"

struct BandArgs {
    lw_conv2d_block block;
    lw_conv2d_grid grid;
    unsigned first_strip, first_down;   /* position of the batch's first transform */
    int n, n_lines;                 /* size of the batch */
    int step, lead;                 /* a strip has n step + lead lines */
    int before;                     /* points of a line ahead of its outputs: kernel_columns - 1 or a few more */
    const void *row_table, *column_table, *spectrum;
    void *lines, *points;           /* written by the row pass, by the column pass */
    int *row_exponents, *exponents;
};

/* A transform of the batch: its position, and the first line of its window. */
struct BandSpot {
    Spot spot;
    int line;
};

/* Position of transform `down` in strip `number` of the block. */
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

/* Rows of a transform's window that outputs need. The first piece decides: the other has no more rows. */
LW_DEVICE int needed_rows(const BandArgs &a, const Spot &spot)
{
    const int64_t first = (int64_t)spot.down * a.grid.pair_rows * a.grid.hop_rows;
    return least(a.grid.hop_rows, a.block.count - first) + (int)a.block.kernel_rows - 1;
}

/* One compiled row pass or column pass. */
struct BandKernel {
    int length;                     /* transform length; 0 marks the end of a list */
    int radix, outer_radix;         /* E, P of gpu/device/fft.cuh */
    int batch;                      /* rows or columns of a block of threads */
    int threads, shared_bytes;      /* size of a block of threads */
    void (*paired)(const BandArgs);     /* rows: real pieces, two per transform */
    void (*single)(const BandArgs);     /* rows: complex pieces; columns: any */
};

extern const BandKernel lw_conv2d_rows_f[], lw_conv2d_rows_d[], lw_conv2d_back_f[], lw_conv2d_back_d[];
extern const BandKernel lw_conv2d_columns_f[], lw_conv2d_columns_d[];
