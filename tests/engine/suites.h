/* suites.h - suites of tests that every engine must pass. tests/engine/main.c runs one of them on the engine of its arguments.
 *
 * A suite returns the exit code of the test: 0 (passed), 1 (failed), or 77 if the engine cannot run here.
 * @param divisor divides the number of random trials; at least one trial is made */
#pragma once

#include "engine/registry.h"

/** Test overlap-save filtering against sums in double: types, layouts, modes, boundaries, cuts, samples that are not finite. */
int suite_ols(const struct lw_engine_type *type, int divisor);

/** Test the search of a filtered series against the definitions of signal/search.h: crossings, peaks, the best filter, blocks. */
int suite_search(const struct lw_engine_type *type, int divisor);

/** Test the guaranteed error of overlap-save filtering (trial_bound.c) over random configurations. */
int suite_accuracy(const struct lw_engine_type *type, int divisor);

/** Test beams of arrays of channels against beams that were summed before. */
int suite_beams(const struct lw_engine_type *type, int divisor);

/** Test filters per channel, normalized outputs and stacks against their definition in signal/array.h. */
int suite_array(const struct lw_engine_type *type, int divisor);

/** Test 2-D convolution against sums in double. */
int suite_conv2d(const struct lw_engine_type *type, int divisor);

/** Test the sparse transform against signals whose spectrum is known. */
int suite_sfft(const struct lw_engine_type *type, int divisor);

/** Test the published transform with flat windows and voting. The suite checks lines and their errors over many seeds, and
 * signals that are not sparse. All ways to compute must give the same bits, and all engines the same lines. */
int suite_published(const struct lw_engine_type *type, int divisor);

/** Test searches for drifting signals against their definition in accel/accel.h. */
int suite_accel(const struct lw_engine_type *type, int divisor);
