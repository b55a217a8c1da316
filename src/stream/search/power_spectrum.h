/* power_spectrum.h - the power spectrum of the input, measured in a pass of its own before the rounds, for filters that it is to
 * whiten.
 *
 * Segments of design/welch.h are taken in blocks of consecutive ones, about LW_SPECTRUM_BLOCK samples long; all blocks, or, where
 * that would be more than LW_SPECTRUM_VALUES numbers, so many of them, evenly spaced. Segments with samples that are not finite, or
 * that the mask names, do not count. Each rank reads its share of the blocks once, but for the halves of segments at their ends.
 * The median does not depend on ranks, threads, rounds or memory. */
#pragma once

#include "setup/setup.h"

#define LW_SPECTRUM_BLOCK ((int64_t)1 << 18)
#define LW_SPECTRUM_VALUES ((int64_t)1 << 25)

/** Host bytes per rank of the taps, which are there from then on, and those that measuring takes for a while; 0 where nothing is
 * measured. */
int64_t lw_spectrum_taps_bytes(const struct lw_job *job);
int64_t lw_spectrum_bytes(const struct lw_job *job, const struct lw_engine *engine, const struct lw_reader *reader, int n_ranks);

/** Where the job's filters wait for it, measure the spectrum and make the taps, on every rank. Selects another view of the reader.
 * LW_EDATA if no segment counts. Collective. */
int lw_spectrum_whiten(struct lw_setup *setup, struct lw_error *err);
