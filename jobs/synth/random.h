/* random.h - random numbers for synthetic data, and the scale of such data in each stored type. Pure arithmetic.
 *
 * A number depends on a seed and a place only, so that any rank can make any part of the data. */
#pragma once

#include "base/type.h"

/** Return 64 random bits: number `counter` of the sequence of `seed`. */
uint64_t lw_noise_bits(uint64_t seed, uint64_t counter);

/** Draw two independent normal deviates. @param second  NULL: only the first is wanted */
void lw_noise_normals(uint64_t seed, uint64_t index, double *first, double *second);

/** Return the standard deviation of the noise (of each part, if complex) and the mean of the stored samples. Integers use part of
 * their range; unsigned integers use it around its middle. */
double lw_synth_sigma(enum lw_scalar scalar);
double lw_synth_mean(enum lw_scalar scalar);
