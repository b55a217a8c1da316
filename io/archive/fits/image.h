/* image.h - find and decode the image in a unit of a FITS file. The image may be compressed in tiles, that is, in boxes of pixels
 * (FITS Standard 4.0, section 10). Its unit then has a table and a heap:
 *
 *     table     a row for each tile with the place of the tile's code in the heap; tiles along NAXIS1 are neighbours
 *     heap      the codes: the compressed bytes of each tile */
#pragma once

#include "io/archive/fits/header.h"
#include "io/archive/flat.h"

/* Keyword in the primary header of lapwing's results: F until the result is complete, then T. */
#define LW_FITS_COMPLETE "LAPWDONE"

enum lw_tile_code { LW_TILE_RICE, LW_TILE_GZIP_1, LW_TILE_GZIP_2, LW_TILE_PLAIN, LW_TILE_PLIO, LW_TILE_HCOMPRESS };
enum lw_tile_dither { LW_DITHER_NONE, LW_DITHER_1, LW_DITHER_2 };

enum { LW_TILING_MOST_AXES = 6 };

/* A column of the table. offset: first byte in a row; -1: the table lacks the column. */
struct lw_tile_column {
    int64_t offset;
    bool is_wide;               /* places in the heap are pairs of 64-bit numbers; else 32-bit */
    int element_bytes;          /* bytes of an element in the heap */
};

/* How an image is compressed. */
struct lw_fits_tiling {
    int bitpix, n_axes;
    int64_t axes[LW_TILING_MOST_AXES], tile[LW_TILING_MOST_AXES], n_tiles[LW_TILING_MOST_AXES];    /* NAXIS1 first */
    int64_t tile_pixels;        /* pixels of a whole tile */
    enum lw_tile_code code;
    char code_text[16];
    int rice_bytes;             /* RICE_1: bytes of a coded pixel */
    int64_t rice_block;         /* RICE_1: pixels of a block */
    bool is_quantized;          /* floats are coded as scaled integers, except in tiles in `plain` or `exact` */
    enum lw_tile_dither dither;
    int64_t dither_seed;        /* ZDITHER0, 1 to 10000 */
    int64_t blank;              /* integer that stands for not a number */
    double scale, zero;         /* float = zero + scale x integer; for tiles without `scales`, `zeros` */
    struct lw_tile_column data, exact, plain, scales, zeros, blanks;        /* exact: gzipped floats; plain: as stored */
    int64_t table_offset, row_bytes, heap_offset, heap_bytes;       /* offsets: bytes of the file */
};

/* An image. Dimensions are in C's order, NAXIS1 last. If they are more than LW_MAX_DIMS, the slowest of length 1 are left out. */
struct lw_fits_image {
    int unit;
    bool is_tiled;                      /* the image is compressed in tiles: flat.offset is unused */
    struct lw_flat flat;
    struct lw_fits_tiling tiling;
};

/** Return whether a unit holds an image: an array that is not empty, or tiles. */
bool lw_fits_has_image(const struct lw_fits_unit *unit);

/** Describe the image of the walk's unit. LW_EDATA: the image is damaged, has too many axes, or an unsupported compression. */
int lw_fits_find_image(const struct lw_fits_walk *walk, struct lw_fits_image *out, struct lw_error *err);

/** Write the path of a unit: "/SCI", or "/2" if the unit has no name. */
void lw_fits_path(const struct lw_fits_unit *unit, char *path, size_t size);

/** Go to the unit that a path names ("/2", "/SCI", "/SCI,2" in upper or lower case; "/": the primary), or without a path to the
 * first image. LW_EDATA: the unit does not exist (the message lists the units), or holds no image. */
int lw_fits_seek(struct lw_fits_walk *walk, const char *path, struct lw_error *err);

/* Reader of a tiled image. Any number of threads read boxes: the reader finds the box's tiles, decodes them and copies samples.
 * Several threads decode small tiles at a time. Large tiles are decoded one at a time; the last one is kept for the next box. */
struct lw_fits_tiles;

/** Open a tiled image. Samples have the type lw_values_type(&image->flat.values). LW_ESYSTEM: no memory.
 * @param fd  the open file; lw_fits_tiles_close, or a failure here, closes it */
int lw_fits_tiles_open(int fd, const struct lw_fits_image *image, struct lw_fits_tiles **out, struct lw_error *err);

/** Read a box: lw_format.read. Any thread may call. LW_EDATA: a tile is damaged; LW_EIO. */
int lw_fits_tiles_read(struct lw_fits_tiles *tiles, const struct lw_box *box, struct lw_error *err);
void lw_fits_tiles_close(struct lw_fits_tiles *tiles);      /* NULL is legal */

/* ---- tile_codes.c: decode tiles (section 10.4). Pure functions.
 *
 *     RICE_1       the first pixel; then differences of neighbours, folded to numbers from 0 on, in blocks with one `fs` each:
 *                  the lower fs bits of a number are stored as they are, the upper bits as that many zeros and a 1
 *     PLIO_1       IRAF's line lists, for masks: runs of equal unsigned 24-bit values, in big-endian 16-bit words
 *     HCOMPRESS_1  the H-transform of R. White (1992). Each quadrant of its coefficients is stored as bit planes, each a quadtree:
 *
 *       | magic DD 99 | rows, columns, scale: int32 | sum of all: int64 | numbers of planes: 3 bytes | quadtrees | signs |
 *
 * Images to be smoothed after decoding (SMOOTH) are not supported. */

/** Decode n pixels of RICE_1. Returns false if the code ends too early, or has an fs or a number too large for a pixel.
 * @param pixel_bytes  bytes of a coded pixel: 1 (unsigned), 2 or 4 (signed)
 * @param block        pixels of a block, which has one fs */
bool lw_rice_decode(const unsigned char *code, int64_t bytes, int pixel_bytes, int64_t block, int64_t n, int32_t *pixels);

/** Decode n pixels of PLIO_1; pixels after the last run are 0. Returns false if the code is damaged. */
bool lw_plio_decode(const unsigned char *code, int64_t bytes, int64_t n, int32_t *pixels);

/** Decode n pixels of HCOMPRESS_1. Returns false if the code is damaged, has not n pixels, or a pixel exceeds 32 bits.
 * @param work  scratch for n numbers @param scratch  8 n bytes more */
bool lw_hcompress_decode(const unsigned char *code, int64_t bytes, int64_t n, int64_t *work, void *scratch, int32_t *pixels);
