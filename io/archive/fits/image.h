/* image.h - what a unit of a FITS file says of the image in it, which may be compressed by tiles (FITS Standard 4.0, section 10).
 * Pure, but for finding the unit.
 *
 *     table     a row for each tile, the tiles of the fastest axis first; in a row, where its code is in the heap
 *     heap      the codes */
#pragma once

#include "io/archive/fits/header.h"
#include "io/archive/flat.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a result that is not complete, F. */
#define LW_FITS_COMPLETE "LAPWDONE"

enum lw_tile_code { LW_TILE_RICE, LW_TILE_GZIP_1, LW_TILE_GZIP_2, LW_TILE_PLAIN, LW_TILE_PLIO, LW_TILE_HCOMPRESS };
enum lw_tile_dither { LW_DITHER_NONE, LW_DITHER_1, LW_DITHER_2 };

enum { LW_TILING_MOST_AXES = 6 };

/* Where a column lies in a row; -1: there is none. */
struct lw_tile_column {
    int64_t offset;
    bool is_wide;               /* its descriptors are of 64-bit numbers */
    int element_bytes;          /* of what its descriptors count */
};

/* How an image is compressed. */
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

/* Dimensions are in C's order: NAXIS1 is the last one. Where FITS has more than LW_MAX_DIMS, the slowest of length 1 are left
 * out. */
struct lw_fits_image {
    int unit;
    bool is_tiled;                      /* compressed, in a table: offset and byte order of `flat` say nothing */
    struct lw_flat flat;
    struct lw_fits_tiling tiling;
};

/** Whether a unit holds an image: an array with data, or tiles. */
bool lw_fits_has_image(const struct lw_fits_unit *unit);

/** The image in the unit that the walk is at, which holds one. LW_EDATA: damaged, compressed in a way that is not known here, or
 * more dimensions than can be told. */
int lw_fits_find_image(const struct lw_fits_walk *walk, struct lw_fits_image *out, struct lw_error *err);

/** "/SCI", or "/2" where the unit has no name. */
void lw_fits_path(const struct lw_fits_unit *unit, char *path, size_t size);

/** Go to the unit that a path names ("/2", "/SCI", "/SCI,2", case does not count), or without one to the first that holds an image.
 * LW_EDATA: there is none (says which there are), or it holds no image. */
int lw_fits_seek(struct lw_fits_walk *walk, const char *path, struct lw_error *err);

/* Samples of images that are compressed: tiles are found, decoded and put to their places, by any number of threads. Those of few
 * bytes are decoded side by side; large ones one at a time, and the last one is kept, since the pieces that threads read may be
 * smaller. */
struct lw_fits_tiles;

/** Open an image for reading samples in the type that lw_values_type gives. LW_ESYSTEM.
 * @param fd  of the file, closed with the tiles or on failure */
int lw_fits_tiles_open(int fd, const struct lw_fits_image *image, struct lw_fits_tiles **out, struct lw_error *err);

/** lw_format.read. Any thread may call. LW_EDATA: a tile is damaged; LW_EIO. */
int lw_fits_tiles_read(struct lw_fits_tiles *tiles, const struct lw_box *box, struct lw_error *err);
void lw_fits_tiles_close(struct lw_fits_tiles *tiles);      /* NULL is legal */

/* ---- tile_codes.c: codes of tiles (section 10.4). Pure.
 *
 *     RICE_1       the first pixel as it is; then, in blocks, differences of neighbours, folded to positive numbers, whose lower
 *                  `fs` bits stand as they are and whose upper ones are counted in zeros
 *     PLIO_1       IRAF's line lists, of masks: runs of equal values in words of 16 bits, big-endian. Values are not negative and
 *                  have 24 bits at most
 *     HCOMPRESS_1  the H-transform of R. White (1992), whose coefficients are stored as quadtrees, one for each bit of each
 *                  quadrant:
 *
 *       | magic DD 99 | rows, columns, scale: int32 | sum of all: int64 | planes of the quadrants: 3 bytes | quadtrees | signs |
 *
 * Images that were to be smoothed after decoding (SMOOTH) are not read. */

/** Decode n pixels. False: the code ends before them, or counts more bits than a pixel has.
 * @param pixel_bytes  1 (unsigned), 2 or 4 (signed): as they were coded
 * @param block        pixels of one fs */
bool lw_rice_decode(const unsigned char *code, int64_t bytes, int pixel_bytes, int64_t block, int64_t n, int32_t *pixels);

/** Decode n pixels; those behind the last run are 0. False: the code is damaged. */
bool lw_plio_decode(const unsigned char *code, int64_t bytes, int64_t n, int32_t *pixels);

/** Decode n pixels. False: the code is damaged, or of another number of pixels, or a pixel takes more than 32 bits.
 * @param work     room for n numbers of 64 bits
 * @param scratch  the same */
bool lw_hcompress_decode(const unsigned char *code, int64_t bytes, int64_t n, int64_t *work, void *scratch, int32_t *pixels);
