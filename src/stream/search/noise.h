/* noise.h - the noise behind each filter, measured in the data: a pass over part of the input before the rounds.
 *
 * --noise measured: sigma by signal/spread.h of a channel behind a filter, which signals do not raise, over the outputs that count
 * (counted.h). Blocks of the axis are looked at: LW_NOISE_LENGTH outputs, up to four times as many behind longer filters, or 64
 * rows of an image or four kernels, rounded up to grid units. All of them are, while they have no more than LW_NOISE_OUTPUTS
 * outputs; of more, evenly spaced ones with so many outputs, and no fewer than LW_NOISE_BLOCKS. What that takes is bounded: an
 * eighth of the run's own outputs, or LW_NOISE_VALUES of all channels and filters, whichever is more. So it is at least 2^18
 * outputs of each channel and filter, or all, but where thousands of channels and filters have fewer than 2^21. Where noise varies,
 * sigma of all together is near that of the quietest part. So the median of the sigmas of pieces, blocks or squares of an image,
 * takes its place where it differs by more than a tenth.
 *
 * --noise every=TIME: each stretch of the axis (signal/search.h) is measured by itself: all of its outputs, or those in evenly
 * spaced blocks, LW_NOISE_OF_STRETCH of them.
 *
 * --noise rms: the median of root mean squares, see noise_rms.c.
 *
 * Where no output counts, or where more than half of them are 0, the noise is 0: nothing is found, and a warning says so. The noise
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

/** Whether the job asks for it. */
bool lw_noise_is_measured(const struct lw_job *job);

/** What the noise of a job with --noise every=TIME takes as long as it runs. */
int64_t lw_noise_kept_bytes(const struct lw_job *job);

/** What measuring takes at least while it goes on; all of it is over when the run's buffers are allocated. */
struct lw_bytes lw_noise_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan);

/** Fill job->noise on every rank; the plan is that of the run. Selects another view of the reader. Collective. */
int lw_noise_measure(struct lw_setup *setup, const struct lw_plan *plan, struct lw_error *err);
