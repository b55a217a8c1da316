/* image.h - find and decode the image in a unit of a FITS file, which may be compressed in tiles (FITS Standard 4.0, section 10).
 *
 *     table     a row for each tile, with the place of its code in the heap; tiles along the fastest axis follow each other
 *     heap      the codes */
#pragma once

#include "io/archive/fits/header.h"
#include "io/archive/flat.h"

#include <stdbool.h>
#include <stdint.h>

/* Keyword in the primary header of lapwing's results: F until the result is complete. */
#define LW_FITS_COMPLETE "LAPWDONE"

enum lw_tile_code { LW_TILE_RICE, LW_TILE_GZIP_1, LW_TILE_GZIP_2, LW_TILE_PLAIN, LW_TILE_PLIO, LW_TILE_HCOMPRESS };
enum lw_tile_dither { LW_DITHER_NONE, LW_DITHER_1, LW_DITHER_2 };

enum { LW_TILING_MOST_AXES = 6 };

/* Place of a column in the table's rows; offset -1: there is no such column. */
struct lw_tile_column {
    int64_t offset;
    bool is_wide;               /* descriptors have 64-bit numbers */
    int element_bytes;          /* size of an element in the heap */
};

/* How an image is compressed. */
struct lw_fits_tiling {
    int bitpix, n_axes;
    int64_t axes[LW_TILING_MOST_AXES], tile[LW_TILING_MOST_AXES], n_tiles[LW_TILING_MOST_AXES];    /* NAXIS1 comes first */
    int64_t tile_pixels;
    enum lw_tile_code code;
    char code_text[16];
    int rice_bytes;             /* bytes of a coded pixel */
    int64_t rice_block;
    bool is_quantized;          /* floats are stored as scaled integers, except in tiles of columns `plain` and `exact` */
    enum lw_tile_dither dither;
    int64_t dither_seed;
    int64_t blank;              /* the integer that stands for not a number */
    double scale, zero;         /* scale and zero of all tiles, unless columns have them */
    struct lw_tile_column data, exact, plain, scales, zeros, blanks;
    int64_t table_offset, row_bytes, heap_offset, heap_bytes;
};

/* An image. Its dimensions are in C's order: NAXIS1 is the last. Of more than LW_MAX_DIMS, the slowest of length 1 are left out. */
struct lw_fits_image {
    int unit;
    bool is_tiled;                      /* compressed in tiles; offset and byte order of `flat` then have no meaning */
    struct lw_flat flat;
    struct lw_fits_tiling tiling;
};

/** Return whether a unit holds an image: an array with data, or tiles. */
bool lw_fits_has_image(const struct lw_fits_unit *unit);

/** Describe the image of the walk's unit. LW_EDATA: damaged, compressed by an unsupported method, or with too many dimensions. */
int lw_fits_find_image(const struct lw_fits_walk *walk, struct lw_fits_image *out, struct lw_error *err);

/** Write the path of a unit: "/SCI", or "/2" if the unit has no name. */
void lw_fits_path(const struct lw_fits_unit *unit, char *path, size_t size);

/** Go to the unit that a path names ("/2", "/SCI", "/SCI,2"; upper or lower case), or without a path to the first image. LW_EDATA:
 * there is no such unit, with the names of all units; or it holds no image. */
int lw_fits_seek(struct lw_fits_walk *walk, const char *path, struct lw_error *err);

/* Reader of a tiled image. Any number of threads read boxes: the reader finds the tiles, decodes them and copies their samples.
 * Small tiles are decoded by several threads at a time, large tiles one at a time; the last large one is kept for the next box. */
struct lw_fits_tiles;

/** Open a tiled image for reading samples of the type that lw_values_type gives. LW_ESYSTEM.
 * @param fd  the file, closed by lw_fits_tiles_close or on failure */
int lw_fits_tiles_open(int fd, const struct lw_fits_image *image, struct lw_fits_tiles **out, struct lw_error *err);

/** Read a box: lw_format.read. Any thread may call. LW_EDATA: a tile is damaged; LW_EIO. */
int lw_fits_tiles_read(struct lw_fits_tiles *tiles, const struct lw_box *box, struct lw_error *err);
void lw_fits_tiles_close(struct lw_fits_tiles *tiles);      /* NULL is legal */

/* ---- tile_codes.c: decode tiles (section 10.4). Pure.
 *
 *     RICE_1       the first pixel as it is; then blocks of differences of neighbours, folded to non-negative numbers: the lower
 *                  `fs` bits of each are stored as they are, the value of the upper bits as a count of zeros
 *     PLIO_1       IRAF's line lists, for masks: runs of equal values in 16-bit words, big-endian. Values have 24 bits, no sign
 *     HCOMPRESS_1  the H-transform of R. White (1992). Its coefficients are stored as quadtrees, one for each bit of each quadrant:
 *
 *       | magic DD 99 | rows, columns, scale: int32 | sum of all: int64 | planes of the quadrants: 3 bytes | quadtrees | signs |
 *
 * Images to be smoothed after decoding (SMOOTH) are not supported. */

/** Decode n pixels. Returns false if the code ends too early, or counts more bits than a pixel has.
 * @param pixel_bytes  bytes of a coded pixel: 1 (unsigned), 2 or 4 (signed)
 * @param block        pixels that have the same fs */
bool lw_rice_decode(const unsigned char *code, int64_t bytes, int pixel_bytes, int64_t block, int64_t n, int32_t *pixels);

/** Decode n pixels; pixels after the last run are 0. Returns false if the code is damaged. */
bool lw_plio_decode(const unsigned char *code, int64_t bytes, int64_t n, int32_t *pixels);

/** Decode n pixels. Returns false if the code is damaged, has another number of pixels, or has a pixel of more than 32 bits.
 * @param work     room for n numbers of 64 bits
 * @param scratch  more room of the same size */
bool lw_hcompress_decode(const unsigned char *code, int64_t bytes, int64_t n, int64_t *work, void *scratch, int32_t *pixels);
