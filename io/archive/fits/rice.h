/* rice.h - Rice's code as FITS has it (FITS Standard 4.0, section 10.4.1): the first pixel as it is; then, in blocks, differences
 * of neighbours, folded to positive numbers, whose lower `fs` bits stand as they are and whose upper ones are counted in zeros.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Decode n pixels. False: the code ends before them, or counts more bits than a pixel has.
 * @param pixel_bytes  1 (unsigned), 2 or 4 (signed): as they were coded
 * @param block        pixels of one fs */
bool lw_rice_decode(const unsigned char *code, int64_t bytes, int pixel_bytes, int64_t block, int64_t n, int32_t *pixels);
