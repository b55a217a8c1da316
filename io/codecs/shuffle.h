/* shuffle.h - bytes put back in order: HDF5's shuffle puts the first bytes of all elements first, then the second ones, and so on.
 * What is left over behind the last whole element stays where it is. */
#pragma once

#include <stdint.h>

/** @param size  of an element, > 0 */
void lw_shuffle_restore(const char *restrict from, int64_t bytes, char *restrict to, int64_t size);
