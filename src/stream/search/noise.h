/* noise.h - sigma, the noise in the outputs of each filter, measured in the data: a pass over part of the input before the rounds.
 *
 * --noise measured: each channel and filter has a sigma, measured over the outputs that count (counted.h); signal/spread.h makes
 * sigma insensitive to signals. A device counts its outputs itself, which then do not leave it. The pass uses blocks of the axis:
 *
 *     length   LW_NOISE_LENGTH outputs, up to four times as many for longer filters; for images 64 rows, or four times the
 *              kernel's longer side; rounded up to grid units
 *     number   all blocks of the axis, if they have at most LW_NOISE_OUTPUTS outputs; else evenly spaced ones with about
 *              LW_NOISE_OUTPUTS outputs, but at least LW_NOISE_BLOCKS blocks
 *     bound    at most 1/LW_NOISE_BOUND of the axis, or LW_NOISE_VALUES outputs of all channels and filters; the larger one
 *
 * Each sigma thus rests on all outputs of its channel and filter, or on at least 2^18; on fewer only if thousands of channels and
 * filters have fewer than 2^21 outputs each. If the noise varies along the axis, sigma is close to that of the quietest part. So
 * each piece (a block, or a square of an image) has a sigma, too: their median replaces a sigma that differs by over a tenth.
 *
 * --noise every=TIME: each stretch of the axis (signal/search.h) has its own sigma, measured over all of its outputs or over
 * LW_NOISE_OF_STRETCH outputs in evenly spaced blocks.
 *
 * --noise rms: sigma is the median of root mean squares, see noise_rms.c.
 *
 * Sigma is 0 if no output counts, or if more than half of the outputs that count are 0. Then no peak is found, and a warning is
 * logged. Sigma does not depend on ranks, rounds or memory. */
#pragma once

#include "setup/setup.h"
#include "stream/plan.h"

#define LW_NOISE_LENGTH (1 << 14)
#define LW_NOISE_OUTPUTS (1 << 20)
#define LW_NOISE_OF_STRETCH (1 << 18)
#define LW_NOISE_BLOCKS 16
#define LW_NOISE_BOUND 8
#define LW_NOISE_VALUES ((int64_t)1 << 29)

bool lw_noise_is_measured(const struct lw_job *job);

/** Return the host bytes of the sigmas with --noise every=TIME, which the job keeps for the whole run; else 0. */
int64_t lw_noise_kept_bytes(const struct lw_job *job);

/** Return the least bytes of a measurement, which are freed before the run's buffers are allocated. */
struct lw_bytes lw_noise_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan);

/** Measure the noise, and set job->noise on every rank. `plan` is the run's. Selects another view of the reader. Collective. */
int lw_noise_measure(struct lw_setup *setup, const struct lw_plan *plan, struct lw_error *err);
