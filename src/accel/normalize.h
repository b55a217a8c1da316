/* normalize.h - the level of the noise along a spectrum, which divides its powers.
 *
 * The spectrum is cut into blocks that grow with frequency. The median of n powers of noise of mean L is
 * L (1/n + 1/(n-1) + .. + 1/(n/2)) on average, L log 2 for large n: the median divided by this sum is the level of a block.
 * Neighbouring blocks whose levels differ by no more than chance get their common level, since the scatter of narrow blocks' levels
 * would make false candidates many times more frequent.
 *
 * A level is an estimate. A median of n powers has the relative variance 1 / (n (log 2)^2), the mean level of N bins of several
 * blocks 1 / (N (log 2)^2): twice that of a mean of powers. Which blocks agree is chosen by the same medians, though: those that
 * chance has driven apart stay apart. So levels have half as much again, with which the tails of white noise are right
 * (tests/bench/results/accel/cpu.md). A wide signal raises the level of its own blocks, which then agree with no others. Since
 * noise does not grow with frequency, P / level is no more often large than P over a lower level to the left: the variance is at
 * most that of the nearest such. The level of a sum S of harmonics, of which S[g] lie in run g of variance v[g], has the variance
 * v = sum of v[g] (S[g] / S)^2, with which signal/significance.h is to be asked. (Running medians: Ransom, Eikenberry and
 * Middleditch 2002, section 4.) */
#pragma once

#include "accel/accel.h"

#define LW_ACCEL_WIDEST_BLOCK 6144          /* most bins of a block: the last one may be half again as wide as others */

/** Return the number of blocks of a spectrum, and their edges: block i has bins [edges[i], edges[i + 1]).
 * @param edges  [blocks + 1]; NULL: only count */
int64_t lw_accel_blocks(int64_t n_bins, int64_t *edges);

/** Return the block that has a bin. */
int64_t lw_accel_block_at(int64_t n_blocks, int64_t bin);

/** Return the mean of the median of n powers of noise whose mean is 1. For even n the median is the lower of the two in the
 * middle. */
double lw_accel_median_mean(int64_t n);

/** Turn medians of the blocks' powers into the factors that the amplitudes of their bins get, 1 / sqrt(level). A block without
 * power or without counted bins gets 0.
 * @param counted    [blocks] powers of each median; @param medians  in; @param factors  out, [blocks], may be `medians`
 * @param variances  out, [blocks] relative variance of each level; 0 where there is none */
void lw_accel_factors(int64_t n_blocks, const int64_t *counted, const float *medians, float *factors, float *variances);

/** Return the relative variance of the level of a sum of harmonics k r, k = 1 .. H. Harmonics that follow each other and whose
 * levels have the same variance count as of one run.
 * @param powers  [H] of the harmonics; NULL: they are equal */
double lw_accel_variance(int64_t n_blocks, const float *variances, double r, int H, const double *powers);
