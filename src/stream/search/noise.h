/* noise.h - the noise behind each filter, measured in the data: a pass over part of the input before the rounds.
 *
 * --noise measured: sigma of each channel behind each filter, over the outputs that count (counted.h); signal/spread.h makes
 * sigma insensitive to signals. The pass uses blocks of the axis:
 *
 *     length   LW_NOISE_LENGTH outputs, up to four times as many for longer filters; for images 64 rows or four kernels; rounded up
 *              to grid units
 *     number   all blocks, if these have at most LW_NOISE_OUTPUTS outputs; else evenly spaced blocks with about that many outputs,
 *              at least LW_NOISE_BLOCKS blocks
 *     cost     at most an eighth of the run's own outputs, or LW_NOISE_VALUES of all channels and filters, whichever is more
 *
 * Sigma thus rests on at least 2^18 outputs of each channel and filter, or on all; on less only if thousands of channels and
 * filters have fewer than 2^21 outputs. If the noise varies, the sigma of all outputs is near the quietest part's. Then the
 * median of the sigmas of pieces (blocks, or squares of an image) replaces it, if they differ by more than a tenth.
 *
 * --noise every=TIME: each stretch of the axis (signal/search.h) is measured separately, over all of its outputs or
 * LW_NOISE_OF_STRETCH outputs in evenly spaced blocks.
 *
 * --noise rms: the median of root mean squares, see noise_rms.c.
 *
 * The noise is 0 if no output counts or more than half of them are 0; then nothing is found, and a warning is logged. The noise
 * does not depend on ranks, rounds or memory. */
#pragma once

#include "setup/setup.h"
#include "stream/plan.h"

#define LW_NOISE_LENGTH (1 << 14)
#define LW_NOISE_OUTPUTS (1 << 20)
#define LW_NOISE_OF_STRETCH (1 << 18)
#define LW_NOISE_BLOCKS 16
#define LW_NOISE_BOUND 8
#define LW_NOISE_VALUES ((int64_t)1 << 29)

/** Return whether the job measures the noise. */
bool lw_noise_is_measured(const struct lw_job *job);

/** Return the bytes that the noise of a job with --noise every=TIME takes for the whole run. */
int64_t lw_noise_kept_bytes(const struct lw_job *job);

/** Return the least bytes of a measurement; they are free again before the run's buffers are allocated. */
struct lw_bytes lw_noise_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan);

/** Measure the noise into job->noise, on every rank, for the plan of the run. Selects another view of the reader. Collective. */
int lw_noise_measure(struct lw_setup *setup, const struct lw_plan *plan, struct lw_error *err);
