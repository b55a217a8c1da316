/* hcompress.h - the code HCOMPRESS_1 of tiles (FITS Standard 4.0, section 10.4.4): the H-transform of R. White (1992), whose
 * coefficients are stored as quadtrees, one for each bit of each quadrant. Pure.
 *
 *     | magic DD 99 | rows, columns, scale: int32 | sum of all: int64 | planes of the quadrants: 3 bytes | quadtrees | signs |
 *
 * Images that were to be smoothed after decoding (SMOOTH) are not read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Decode n pixels. False: the code is damaged, or of another number of pixels, or a pixel takes more than 32 bits.
 * @param work     room for n numbers of 64 bits
 * @param scratch  the same */
bool lw_hcompress_decode(const unsigned char *code, int64_t bytes, int64_t n, int64_t *work, void *scratch, int32_t *pixels);
