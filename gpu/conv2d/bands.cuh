/* bands.cuh - what the three passes of large tiles agree on.
 *
 * work: [transform of the batch][R][C] complex, rows of the tile in natural order, the C bins of a row in the order of
 * the row transform's threads (see gpu/device/fft.cuh), which is of no consequence to the columns. Then the exponents that the row
 * pass took out of each row, [transform][R], and what the column pass left in all of them, [transform]. */
#ifndef LW_GPU_CONV2D_BANDS_CUH
#define LW_GPU_CONV2D_BANDS_CUH

#include "gpu/conv2d/bands.h"
#include "gpu/conv2d/piece.cuh"

struct BandArgs {
    lw_conv2d_block block;
    lw_conv2d_grid grid;
    int64_t first;                  /* transform of the block */
    int n;                          /* of the batch */
    bool is_whole;                  /* all of them need all rows of their windows */
    const void *row_table, *column_table, *spectrum;
    void *points;
    int *row_exponents, *exponents;
};

/* The pieces of a transform, and the rows of its window that hold pixels which outputs need. */
struct Pieces {
    Piece piece[2];
    int needed_rows;
};

LW_DEVICE Pieces pieces_of(const BandArgs &a, unsigned item)
{
    const Spot spot = spot_of(a.grid, (unsigned)a.first + item);
    Pieces p = {{piece_of(a.block, a.grid, spot, 0), piece_of(a.block, a.grid, spot, 1)}, 0};
    const int most = max(p.piece[0].n_rows, p.piece[1].n_rows);
    p.needed_rows = most == 0 ? 0 : most + (int)a.block.kernel_rows - 1;
    return p;
}

/* One compiled row pass or column pass. */
struct BandKernel {
    enum lw_precision precision;
    int length;                     /* of its transforms */
    int radix, outer_radix;         /* E, P of gpu/device/fft.cuh */
    int batch;                      /* rows or columns of a block */
    int threads, shared_bytes;      /* of a block */
    void (*paired)(const BandArgs);     /* rows: of real pieces, two to a transform */
    void (*single)(const BandArgs);     /* rows: of complex ones; columns: any */
};

extern const BandKernel lw_conv2d_rows_f[], lw_conv2d_rows_d[], lw_conv2d_back_f[], lw_conv2d_back_d[];
extern const BandKernel lw_conv2d_columns_f[], lw_conv2d_columns_d[];
extern const int lw_conv2d_n_rows_f, lw_conv2d_n_rows_d, lw_conv2d_n_columns_f, lw_conv2d_n_columns_d;

#endif
