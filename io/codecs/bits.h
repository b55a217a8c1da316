/* bits.h - bits and bytes put back in order.
 *
 * HDF5's shuffle puts the first bytes of all elements first, then the second ones, and so on. What is left over behind the last
 * whole element stays where it is.
 *
 * Bitshuffle (Masui et al. 2015, Astronomy and Computing 12, 181) stores a block of n elements of s bytes, n a multiple of 8, as
 * 8 s rows of n / 8 bytes: row 8 k + b holds bit b of byte k of all elements, eight elements to a byte, the first one lowest. */
#pragma once

#include <stdint.h>

/** Undo shuffle. @param size  of an element, > 0 */
void lw_shuffle_restore(const char *restrict from, int64_t bytes, char *restrict to, int64_t size);

/** One block of bitshuffle. @param n  elements, a multiple of 8 @param size  of an element, > 0 */
void lw_bits_restore(const char *restrict from, int64_t n, int64_t size, char *restrict to);

/** Block after block; the last one ends with the last whole eight elements, and what is behind it stays as it is.
 * @param block_bytes  eight elements, or a multiple of that */
void lw_bits_restore_blocks(const char *restrict from, int64_t bytes, int64_t size, int64_t block_bytes, char *restrict to);

/** Elements of a block where nobody says: of about 8 KiB, and at least 128. */
int64_t lw_bits_default_block(int64_t size);
