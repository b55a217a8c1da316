/* power_spectrum.h - the power spectrum of the input, which whitens filters: measured in a separate pass before the rounds.
 *
 * The segments of design/welch.h are read in blocks of consecutive ones, about LW_SPECTRUM_BLOCK samples long. All blocks are
 * used or, if these had more than LW_SPECTRUM_VALUES numbers, evenly spaced ones. A segment with samples that are not finite or
 * masked does not count. Each rank reads its blocks once, except half-segments at block ends. The median does not depend on
 * ranks, threads, rounds or memory. */
#pragma once

#include "setup/setup.h"

#define LW_SPECTRUM_BLOCK ((int64_t)1 << 18)
#define LW_SPECTRUM_VALUES ((int64_t)1 << 25)

/** Return the host bytes per rank of the taps, which remain, and of the measurement, which are temporary; 0 without whitening. */
int64_t lw_spectrum_taps_bytes(const struct lw_job *job);
int64_t lw_spectrum_bytes(const struct lw_job *job, const struct lw_engine *engine, const struct lw_reader *reader, int n_ranks);

/** Measure the spectrum and compute the taps on every rank, if the job's filters need it. Selects another view of the reader.
 * LW_EDATA: no segment counts. Collective. */
int lw_spectrum_whiten(struct lw_setup *setup, struct lw_error *err);
