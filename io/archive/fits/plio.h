/* plio.h - the code PLIO_1 of tiles (FITS Standard 4.0, section 10.4.3): IRAF's line lists, of masks: runs of equal values in words
 * of 16 bits, big-endian. Values are not negative and have 24 bits at most. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Decode n pixels; those behind the last run are 0. False: the code is damaged. */
bool lw_plio_decode(const unsigned char *code, int64_t bytes, int64_t n, int32_t *pixels);
