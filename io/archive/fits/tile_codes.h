/* tile_codes.h - codes of tiles of compressed images (FITS Standard 4.0, section 10.4). Pure.
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
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
