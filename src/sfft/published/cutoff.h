/* cutoff.h - the largest of many numbers, by k-selection. Pure arithmetic. */
#pragma once

#include <stdint.h>

/** The places of the `most` largest of values[0 .. count-1], none negative, in ascending order; of equal ones those of the
 * lower places.
 * @param places  [most]
 * @return        how many: `most`, or `count` if that is less */
int64_t lw_published_cut(const double *values, int64_t count, int64_t most, int64_t *places);
