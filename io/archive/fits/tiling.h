/* tiling.h - how an image is compressed by tiles (FITS Standard 4.0, section 10): what the header of its table says. Pure.
 *
 *     table     a row for each tile, the tiles of the fastest axis first; in a row, where its code is in the heap
 *     heap      the codes */
#pragma once

#include "io/archive/fits/header.h"

enum lw_tile_code { LW_TILE_RICE, LW_TILE_GZIP_1, LW_TILE_GZIP_2, LW_TILE_PLAIN, LW_TILE_PLIO, LW_TILE_HCOMPRESS };
enum lw_tile_dither { LW_DITHER_NONE, LW_DITHER_1, LW_DITHER_2 };

enum { LW_TILING_MOST_AXES = 6 };

/* Pixels of one tile at most: it is decoded as a whole. */
#define LW_TILE_MOST_PIXELS ((int64_t)1 << 24)

/* Where a column lies in a row; -1: there is none. */
struct lw_tile_column {
    int64_t offset;
    bool is_wide;               /* its descriptors are of 64-bit numbers */
    int element_bytes;          /* of what its descriptors count */
};

struct lw_fits_tiling {
    int bitpix, n_axes;
    int64_t axes[LW_TILING_MOST_AXES], tile[LW_TILING_MOST_AXES], n_tiles[LW_TILING_MOST_AXES];    /* NAXIS1's first */
    int64_t tile_pixels;
    enum lw_tile_code code;
    char code_text[16];
    int rice_bytes;             /* of a pixel, as coded */
    int64_t rice_block;
    bool is_quantized;          /* floats as scaled integers; tiles of `plain` and `exact` are not */
    enum lw_tile_dither dither;
    int64_t dither_seed;
    int64_t blank;              /* of quantized ones */
    double scale, zero;         /* of quantized ones without columns for them */
    struct lw_tile_column data, exact, plain, scales, zeros, blanks;
    int64_t table_offset, row_bytes, heap_offset, heap_bytes;
};

/** LW_EDATA: damaged, or compressed in a way that is not known here. @param file  for messages */
int lw_fits_find_tiling(const struct lw_fits_unit *unit, const char *file, struct lw_fits_tiling *out, struct lw_error *err);
