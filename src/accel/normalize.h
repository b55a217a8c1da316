/* normalize.h - the level of the noise along a spectrum, which divides its powers.
 *
 * The spectrum is cut into blocks that grow with frequency. The median of n powers of noise of mean L is
 * L (1/n + 1/(n-1) + .. + 1/(n/2)) on average, L log 2 for large n: the median divided by this sum is the level of a block.
 * Neighbouring blocks whose levels differ by no more than chance get their common level, since the scatter of narrow blocks' levels
 * would make false candidates many times more frequent. (Running medians: Ransom, Eikenberry and Middleditch 2002, section 4.) */
#pragma once

#include "accel/accel.h"

#define LW_ACCEL_WIDEST_BLOCK 6144          /* most bins of a block: the last one may be half again as wide as others */

/** Return the number of blocks of a spectrum, and their edges: block i has bins [edges[i], edges[i + 1]).
 * @param edges  [blocks + 1]; NULL: only count */
int64_t lw_accel_blocks(int64_t n_bins, int64_t *edges);

/** Return the mean of the median of n powers of noise whose mean is 1. For even n the median is the lower of the two in the
 * middle. */
double lw_accel_median_mean(int64_t n);

/** Turn medians of the blocks' powers into the factors that the amplitudes of their bins get, 1 / sqrt(level). A block without
 * power or without counted bins gets 0.
 * @param counted  [blocks] powers of each median; @param medians  in; @param factors  out, [blocks], may be `medians` */
void lw_accel_factors(int64_t n_blocks, const int64_t *counted, const float *medians, float *factors);
