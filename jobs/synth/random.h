/* random.h - random numbers of synthetic data, and how it is stored in each type. Pure arithmetic.
 *
 * Every number is a function of a seed and a place alone: any part of the data can be made anywhere. */
#pragma once

#include "base/type.h"

#include <stdint.h>

/** 64 random bits, number `counter` of the sequence that `seed` begins. */
uint64_t lw_noise_bits(uint64_t seed, uint64_t counter);

/** Two independent normal deviates. @param second  NULL: only the first is wanted */
void lw_noise_normals(uint64_t seed, uint64_t index, double *first, double *second);

/** Standard deviation of the noise (of each part, if complex) and mean of the stored samples: integers use part of their
 * range, unsigned ones around its middle. */
double lw_synth_sigma(enum lw_scalar scalar);
double lw_synth_mean(enum lw_scalar scalar);

/** into[index] = value; integers are rounded to nearest, ties to even, and kept in their range. */
void lw_synth_store(enum lw_scalar scalar, void *into, int64_t index, double value);
