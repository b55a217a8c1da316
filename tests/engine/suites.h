/* suites.h - what every engine must do alike, in suites that tests/engine/main.c runs on the engine that it is told.
 *
 * A suite returns the exit code of the test: 0, 1, or 77 where the engine cannot run here.
 * @param divisor  the number of random trials is divided by this; there is at least one */
#pragma once

#include "engine/registry.h"

/** Overlap-save filtering against sums in double: types, layouts, modes, boundaries, cuts, samples that are not finite. */
int suite_ols(const struct lw_engine_type *type, int divisor);

/** What is found in a filtered series, by the definitions of signal/search.h: crossings and peaks, the best filter, blocks. */
int suite_search(const struct lw_engine_type *type, int divisor);

/** The promised error of overlap-save filtering (trial_bound.c) over random configurations. */
int suite_accuracy(const struct lw_engine_type *type, int divisor);

/** 2-D convolution likewise. */
int suite_conv2d(const struct lw_engine_type *type, int divisor);

/** The sparse transform against signals whose spectrum is known. */
int suite_sfft(const struct lw_engine_type *type, int divisor);

/** The published transform with flat windows and voting: lines found and their errors over many seeds, the same bits in all
 * ways to compute it, the same lines as the cpu engine's, and signals that are not sparse. */
int suite_published(const struct lw_engine_type *type, int divisor);
